"""Targets that are Python functions."""

import json
import pickle

import numpy as np
import pytest
from jax import numpy as jnp

from ssi_kernels.model import Model, encodings, students, targets

from . import functions
from .helpers import by_sample, fields, refused

HERE = functions.__name__
NONE = encodings.none()


def target_of(name, version=None):
    return targets.from_callable(f"{HERE}:{name}", version)


def labels(target, z):
    return np.asarray(target.labeller(len(z), NONE, {})(z))


@pytest.mark.parametrize(
    "name, reference",
    [
        ("product", np.prod),
        ("compiled", np.max),
        ("double", lambda z: 2 * np.sum(z)),
        ("Holder.first", lambda z: z[0]),
        ("hard_attention", lambda z: 1.0 * (np.outer(z, z) == np.outer(z, z).max(axis=1, keepdims=True))),
    ],
)
def test_labels(name, reference, x64):
    target, z = target_of(name), fields(3, 6)
    target.check(3, NONE)
    np.testing.assert_allclose(labels(target, z), by_sample(reference, z), rtol=1e-12)
    assert target.is_matrix(3) == (name == "hard_attention") and target.family == "callable"


def test_trailing_axes_are_lanes(x64):
    for name, shape in (("product", ()), ("hard_attention", (2, 2))):
        target, z = target_of(name), fields(2, 3, 4)
        whole = labels(target, z)
        assert whole.shape == (*shape, 3, 4)
        np.testing.assert_allclose(whole[..., 1, :], labels(target, z[:, 1]), rtol=1e-13)
        np.testing.assert_allclose(whole[..., 1, 2], labels(target, z[:, 1, 2]), rtol=1e-13)


def test_labels_have_the_precision_of_the_fields():
    z = fields(2, 3).astype(np.float32)
    assert labels(targets.from_callable(lambda z: (z[0] > 0).astype(int)), z).dtype == np.float32


@pytest.mark.parametrize(
    "reference, words",
    [
        ("no_such_module:f", ["cannot be imported", "No module named", "PYTHONPATH"]),
        (f"{HERE}:no_such_function", ["cannot be imported", "no_such_function"]),
        ("..relative:f", ["cannot be imported"]),
        (f"{HERE}:number", ["is not a function"]),
        (f"{HERE}:", ["must look like", "mymodule:myfunction"]),
        (":product", ["must look like"]),
        ("product", ["must look like"]),
        ("", ["must look like"]),
        (3, ["must be a function or text"]),
        (None, ["must be a function or text"]),
    ],
)
def test_what_cannot_be_found(reference, words):
    refused(lambda: targets.from_callable(reference), "target.callable", reference, *words)


def test_a_module_that_fails_when_imported(tmp_path, monkeypatch):
    (tmp_path / "broken_module.py").write_text("raise RuntimeError('one\\ntwo')")
    monkeypatch.syspath_prepend(tmp_path)
    line = refused(lambda: targets.from_callable("broken_module:f"), "target.callable", "broken_module:f")
    assert "RuntimeError: one two" in line


@pytest.mark.parametrize(
    "name, words",
    [
        ("several", ["returns tuple", "shape (2, 2)"]),
        ("fields_themselves", ["float32 of shape (2,)", "shape ()"]),
        ("complex_number", ["complex64", "real number"]),
        ("raises", ["cannot be traced by JAX at length 2", "RuntimeError: first line second line"]),
        ("branches", ["cannot be traced by JAX", "TracerBoolConversionError"]),
    ],
)
def test_what_is_no_label(name, words):
    target = target_of(name)
    refused(lambda: target.check(2, NONE), "target.callable", f"{HERE}:{name}", *words)
    refused(lambda: Model(target, students.tied()).check(16, 2), "target.callable", f"{HERE}:{name}", *words)


def test_a_function_that_needs_more_positions():
    target = targets.from_callable(lambda z: z[0] * jnp.ones(3) @ z)
    target.check(3, NONE)
    refused(lambda: target.check(2, NONE), "target.callable", None, "at length 2")


@pytest.mark.parametrize(
    "name, words",
    [
        ("partly", ["has no source text", "`version`"]),
        ("unknown", ["factor", "`version`"]),
    ],
)
def test_what_has_no_identity_needs_a_version(name, words):
    refused(lambda: target_of(name), "target.callable", f"{HERE}:{name}", *words)
    first, second = target_of(name, "1"), target_of(name, 2)
    assert first.canonical(2, NONE) != second.canonical(2, NONE) == target_of(name, "2").canonical(2, NONE)


def test_an_object_without_a_name_has_a_repeatable_identity():
    target = targets.from_callable(functions.partly, "1")
    assert "0x" not in json.dumps(target.canonical(2, NONE))
    refused(lambda: targets.from_callable(len), "target.callable", "builtins:len", "`version`")


def test_identities():
    named, given = target_of("product"), targets.from_callable(functions.product)
    assert named == given and named.canonical(2, NONE) == given.canonical(2, NONE)
    different = [target_of(name) for name in ("product", "compiled", "double", "triple", "by_vector", "one", "other")]
    different.append(target_of("product", "2"))
    assert len({json.dumps(t.canonical(2, NONE)) for t in different}) == len(set(different)) == 8


def test_functions_of_one_source_text_differ_in_what_they_carry():
    defaults = [lambda z, k=k: z[0] * k for k in (1, 2)]
    objects = [functions.double, functions.triple, functions.by_vector, functions.one, functions.other, *defaults]
    found = [targets.from_callable(function) for function in objects]
    assert len({json.dumps(t.canonical(2, NONE)) for t in found}) == len(set(found)) == len(objects)
    assert targets.from_callable(functions.scaled_by(2.0)) == found[0]


def test_the_source_is_part_of_the_identity(tmp_path, monkeypatch):
    import importlib
    import linecache

    monkeypatch.syspath_prepend(tmp_path)
    canonical = []
    for body in ("z[0]", "z[0] + 0", "z[0]"):
        (tmp_path / "edited_module.py").write_text(f"def f(z):\n    return {body}\n")
        importlib.invalidate_caches()
        linecache.clearcache()
        monkeypatch.delitem(__import__("sys").modules, "edited_module", raising=False)
        canonical.append(json.dumps(targets.from_callable("edited_module:f").canonical(2, NONE)))
    assert canonical[0] == canonical[2] != canonical[1]


def test_only_the_reference_travels():
    target = target_of("product")
    assert pickle.loads(pickle.dumps(target)) == target and target.source.function is None
    assert pickle.loads(pickle.dumps(target)).source.load() is functions.product
