"""What each figure and table of the page shows, and how its intervals were made."""

from __future__ import annotations

FIGURES = {
    "phase": (
        "Where runs end",
        "Fraction of the decided runs that end semantic. Over ω: bars are 95 % Wilson intervals, curves a "
        "logistic fit, vertical bands the 95 % profile-likelihood interval of the ω at which half of them end "
        "semantic. Over (ω, a): colours are the fractions, circles that ω with its interval for every a; grey "
        "where no run is decided. Black lines: the theoretical boundaries, for the loss of the runs and d → ∞.",
    ),
    "gain": (
        "Gain against sequence length",
        "Steps to weak recovery of the untied student over those of the other one, as a ratio of typical times "
        "exp(E log T), fitted by maximum likelihood of a lognormal law with censored runs. Bars: 95 % "
        "intervals. Open markers with an arrow: only a bound is known, because one student never recovered. "
        "Lines: fitted powers of L with 95 % intervals in the legend. Equal rates: both students have the same "
        "learning rate at every length. Dotted: the gain of the gradient flow at the same learning rates.",
    ),
    "scaling": (
        "Recovery time against dimension",
        "Median number of steps to weak recovery (Kaplan–Meier over recovered and censored runs) with 95 % "
        "intervals from the log(−log) limits of the survival curve. Lines: maximum likelihood of log T = c + α "
        "log d + σ(d) W with censored runs kept as such; bands and the intervals of the exponents: 95 %, from "
        "the robust (sandwich) covariance over runs. Open triangles: more than half of the runs had not "
        "recovered by the horizon, where the triangle stands. Dashed: the growth that theory predicts at these "
        "learning rates, through the middle of the fitted line.",
    ),
    "recovery": (
        "Recovery times",
        "Median number of steps to weak recovery (Kaplan–Meier) with 95 % intervals; an interval without an "
        "upper end is drawn up to the horizon. Open triangles: more than half of the runs had not recovered by "
        "the horizon, where the triangle stands.",
    ),
    "trajectories": (
        "Overlaps during training",
        "Median over replicas (line) and the middle 80 % of them (band) of the semantic overlap |m| and, with a"
        " positional encoding, the positional overlap |e|. Diverged runs are left out. A run frozen by its stop"
        " rule keeps its final value. Dashed: the gradient flow with its correction for the learning rate, d → ∞, from"
        " the start of the runs, or from a typical one where that is random or a fixed point.",
    ),
    "outcomes": (
        "Outcomes",
        "What became of the replicas, summed over all other axes: recovered, censored (followed to their end "
        "without reaching the threshold), diverged (a number was not finite), and, where there are any, missing"
        " and failed.",
    ),
}
"""Title and caption of every figure, in the order of the page."""

SUBSET = "Where the sweep has more points than fit, evenly spread ones are drawn; all of them are in the tables."

TABLES = {
    "transition": (
        "Transitions",
        "omega_half: half of the decided runs end semantic; width: from 90 % to 10 %.",
    ),
    "gain_fit": (
        "Gain exponents",
        "gain(L) = pivot_gain (L / pivot_length)^exponent; predicted_exponent: that of the gradient flow.",
    ),
    "gain": (
        "Gains",
        "Untied over the other student, at each length.",
    ),
    "scaling": (
        "Scaling exponents",
        "T(d) = pivot_time (d / pivot_d)^slope; at_step_0 counts runs left out of the fit. predicted_slope: what "
        "theory says at the learning rates of the sweep.",
    ),
    "phase": (
        "Ends of runs",
        "Fractions of the runs that did not diverge, with 95 % Wilson intervals.",
    ),
    "recovery": (
        "Recovery times",
        "Steps; median by Kaplan–Meier, mean where no run is censored.",
    ),
    "theory_boundaries": (
        "Boundaries by theory",
        "The ω at which, for every a, something changes; a dash where it does not.",
    ),
    "theory_points": (
        "Points by theory",
        "Whether a model can be learned, and the largest useful learning rate (noise_bound).",
    ),
}
"""Title and note of every table, in the order of the page."""

TABLES_NOTE = (
    "Times in steps of one fresh sample each. A dash stands for what is undefined, with the reason in the last column; "
    "∞ for an interval that the runs do not bound. Intervals are at 95 %."
)
