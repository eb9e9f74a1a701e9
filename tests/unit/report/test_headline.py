"""Results in words."""

import pandas as pd
import pytest

from ssi_kernels.reduce.scaling import VALUES
from ssi_kernels.report.headline import headlines


def scaling(**changes):
    row = {"sie": 1, "threshold": 0.5, **dict.fromkeys(VALUES, 0)}
    row |= {"dimensions": 7, "runs": 1792, "censored": 3, "slope": 1.0123, "slope_low": 0.9912, "slope_high": 1.0333}
    return {**row, "reason": "", **changes}


def told(*rows):
    return [str(sentence) for sentence in headlines({"scaling": pd.DataFrame(rows)})]


def test_an_exponent_with_its_interval_and_counts():
    assert told(scaling()) == [
        "Recovery time grows as d<sup>1.012</sup> (95 % interval 0.991 to 1.033), "
        "7 dimensions with recovered runs, 1,792 runs, 3 censored."
    ]


def test_what_was_left_out_is_told():
    (sentence,) = told(scaling(censored=0, at_step_0=5, diverged=2, missing=16))
    assert "2 diverged, 16 missing, 5 left out because they recovered at step 0" in sentence


def test_an_undefined_exponent_says_why():
    undefined = dict(slope=float("nan"), reason="undefined: one value of d")
    assert told(scaling(**undefined)) == ["The exponent of the recovery time in d is undefined: one value of d."]
    assert told(scaling(**undefined), scaling(**undefined)) == [
        "The exponent of the recovery time in d is undefined: one value of d in 2 series."
    ]


def test_defined_results_come_first_and_name_their_series():
    sentences = told(scaling(slope=float("nan"), reason="undefined: one value of d"), scaling(sie=2), scaling(sie=3))
    assert [sentence.split(":")[0] for sentence in sentences[:2]] == ["<b>SIE = 2</b>", "<b>SIE = 3</b>"]
    assert "undefined" in sentences[2]


def test_many_series_are_one_sentence():
    (sentence,) = told(*(scaling(sie=k, slope=1.0 + k / 10) for k in range(9)))
    assert sentence == "The exponent of the recovery time in d lies between 1 and 1.8 in 9 series (table below)."


@pytest.mark.parametrize("name", ["everything", "one point", "censored", "diverged", "odd names"])
def test_every_sweep_has_something_to_say(reduced, name):
    sentences = headlines(reduced(name).tables)
    assert "replica" in sentences[-1]
    assert "nan" not in " ".join(sentences)
