"""Models that between them use every student, reduction, encoding and kind of target; with their lengths."""

from __future__ import annotations

from jax import numpy as jnp

from ssi_kernels.model import Model, encodings, students, targets


def bump(z):
    """A smooth callable of one field."""
    return jnp.exp(-(z[0] ** 2) / 4) * z[0]


def affinity(z):
    """A matrix whose rows do not sum to 1."""
    return jnp.tanh(z)[:, None] * jnp.ones(z.shape[0])[None, :] + 0.1


_T, _S, _E = targets, students, encodings
_text = targets.expression
MODELS = {
    "attention identity": (Model(_T.positional_semantic(0.4, 0.9), _S.attention(), _E.opposite_pair()), 2),
    "mixed logit": (Model(_T.mixed_logit(0.6, 0.8), _S.attention(), _E.opposite_pair()), 2),
    "matrix callable": (Model(_T.from_callable(affinity), _S.attention(), _E.alternating()), 2),
    "attention trace": (Model(_text("4/3 + He4(z1) + 2*He4(z2)"), _S.attention("trace"), _E.opposite_pair()), 2),
    "attention odd": (Model(_text("sum(He3(z))"), _S.attention("trace"), _E.injected([0.5, 0.3])), 2),
    "projection": (
        Model(_text("z1*z2"), _S.attention("projection", [1, 0], [0.5, -1]), _E.pattern([[1, 0.2], [0, 1]])),
        2,
    ),
    "kinked label": (Model(_text("relu(z1) - abs(z2)/2"), _S.attention("trace")), 2),
    "linear trace": (Model(_text("He2(z1) + z2"), _S.linear_attention("trace"), _E.injected([0.3, -0.2])), 2),
    "linear identity": (Model(_T.positional_semantic(0.2, 0.5), _S.linear_attention(), _E.opposite_pair()), 2),
    "tied relu": (Model(_T.hermite(2), _S.tied("relu")), 2),
    "tied relu shifted": (
        Model(_text("z1*z2 + z1"), _S.tied("relu"), _E.pattern([[1], [0.4]]) + _E.injected([0.2, 0])),
        2,
    ),
    "tied tanh": (Model(_text("sum(He2(z))/sqrt(2)"), _S.tied("tanh"), _E.injected([0.4, 0.1])), 2),
    "tied smooth label": (Model(_T.from_callable(bump), _S.tied("sigmoid")), 1),
    "tied kinked label": (Model(_text("relu(z1)"), _S.tied("relu")), 1),
    "tied h3": (Model(_text("z1*z2*z3 + z1"), _S.tied("h3")), 3),
    "untied relu": (Model(_text("z1 - z2 + z1*z2"), _S.untied("relu")), 2),
    "untied row": (Model(_text("(z1**2 - z2**2)/sqrt(2)"), _S.untied("sigmoid", "row")), 2),
    "untied square": (Model(_text("z1 + z1*z2 + z1*z2*z3"), _S.untied("square")), 3),
}
