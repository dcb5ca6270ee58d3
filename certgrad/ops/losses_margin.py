"""Losses with a margin. `reduction` is "none", "mean" or "sum" over elements or rows; targets are -1 or 1, say."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import case, op
from certgrad.ops._magnitudes import Magnitudes
from certgrad.ops._reduction import ELEMENTS, LABELS, reduce, spread, spread_rows


@op(
    *ELEMENTS,
    domain="target * x != 1",
    convention={"x = 1 / target": "0, 0"},
    source="Cortes and Vapnik 1995; 0 at the margin",
)
def hinge(x, target, *, reduction="mean"):
    """max(0, 1 - target * x)."""
    return reduce(jnp.maximum(1 - target * x, 0), reduction)


@hinge.jvp
def _(x, target, dx, dtarget, *, reduction):
    return reduce(jnp.where(target * x < 1, -target * dx - dtarget * x, 0), reduction)


@hinge.vjp
def _(x, target, seed, *, reduction):
    ct = jnp.where(target * x < 1, -spread(seed, x, reduction), 0)
    return target * ct, x * ct


@op(*ELEMENTS, source="The square of the hinge: continuously differentiable at the margin")
def squared_hinge(x, target, *, reduction="mean"):
    """max(0, 1 - target * x)²."""
    return reduce(jnp.where(target * x < 1, jnp.square(1 - target * x), 0), reduction)


@squared_hinge.jvp
def _(x, target, dx, dtarget, *, reduction):
    return reduce(-2 * jnp.maximum(1 - target * x, 0) * (target * dx + dtarget * x), reduction)


@squared_hinge.vjp
def _(x, target, seed, *, reduction):
    ct = -2 * jnp.maximum(1 - target * x, 0) * spread(seed, x, reduction)
    return target * ct, x * ct


@op(*ELEMENTS, torch="torch.nn.functional.soft_margin_loss", source="The derivative of softplus is the sigmoid")
def soft_margin(x, target, *, reduction="mean"):
    """log(1 + exp(-target * x)), without overflow."""
    z = -target * x
    return reduce(jnp.maximum(z, 0) + jnp.log1p(jnp.exp(-jnp.abs(z))), reduction)


@soft_margin.jvp
def _(x, target, dx, dtarget, *, reduction):
    return reduce(-lax.logistic(-target * x) * (target * dx + dtarget * x), reduction)


@soft_margin.vjp
def _(x, target, seed, *, reduction):
    ct = -lax.logistic(-target * x) * spread(seed, x, reduction)
    return target * ct, x * ct


_THREE = tuple(case(f"*s, *s, *s -> {'*s' if r == 'none' else ''}", reduction=r) for r in ("none", "mean", "sum"))


@op(
    *_THREE,
    domain="margin - target * (x1 - x2) != 0",
    params={"margin": None},
    torch="torch.nn.functional.margin_ranking_loss",
    source="Linear beyond the margin; 0 at it",
)
def margin_ranking(x1, x2, target, *, margin=0.0, reduction="mean"):
    """max(0, margin - target * (x1 - x2)): small where x1 is ranked above x2 (target 1) or below it (target -1)."""
    return reduce(jnp.maximum(margin - target * (x1 - x2), 0), reduction)


@margin_ranking.jvp
def _(x1, x2, target, dx1, dx2, dtarget, *, margin, reduction):
    missed = margin - target * (x1 - x2) > 0
    return reduce(jnp.where(missed, -target * (dx1 - dx2) - dtarget * (x1 - x2), 0), reduction)


@margin_ranking.vjp
def _(x1, x2, target, seed, *, margin, reduction):
    ct = jnp.where(margin - target * (x1 - x2) > 0, -spread(seed, x1, reduction), 0)
    return target * ct, -target * ct, (x1 - x2) * ct


@op(
    *LABELS,
    params={"margin": "margin > 0"},
    torch="torch.nn.functional.multi_margin_loss",
    source="Crammer and Singer 2001, with p = 1; 0 at the margin",
)
def multi_margin(x, labels, *, margin=1.0, reduction="mean"):
    """The mean over the n classes of max(0, margin - x[label] + x), without the label's own; labels are 0 to n - 1."""
    short = jnp.maximum(margin + x - _of_label(x, labels), 0)
    return reduce(jnp.mean(jnp.where(_is_label(x, labels), 0, short), axis=-1), reduction)


def _is_label(x, labels):
    """Return booleans like `x`: whether a class is the label of its row."""
    return lax.broadcasted_iota(int, x.shape, x.ndim - 1) == jnp.expand_dims(labels, -1)


def _of_label(x, labels):
    """Return the entry of each row at its label, with an axis of size 1."""
    # Not `jnp.take_along_axis`: some versions of JAX count negative labels from the end, and others do not.
    rows = tuple(range(labels.ndim))
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(labels.ndim,),
        collapsed_slice_dims=(),
        start_index_map=(labels.ndim,),
        operand_batching_dims=rows,
        start_indices_batching_dims=rows,
    )
    return lax.gather(x, jnp.expand_dims(labels, -1), numbers, (1,) * x.ndim, mode="promise_in_bounds")


def _missed(x, labels, margin):
    """Return whether a class other than the label has a score above that of the label less the margin."""
    return (margin + x - _of_label(x, labels) > 0) & ~_is_label(x, labels)


@multi_margin.jvp
def _(x, labels, dx, *, margin, reduction):
    change = jnp.where(_missed(x, labels, margin), dx - _of_label(dx, labels), 0)
    return reduce(jnp.mean(change, axis=-1), reduction)


@multi_margin.vjp
def _(x, labels, seed, *, margin, reduction):
    ct = jnp.where(_missed(x, labels, margin), spread_rows(seed, x, reduction) / x.shape[-1], 0)
    return ct - jnp.where(_is_label(x, labels), jnp.sum(ct, axis=-1, keepdims=True), 0)


@op(
    case("*b n, *b n, *b n -> *b", reduction="none"),
    case("*b n, *b n, *b n -> ", reduction="mean"),
    case("*b n, *b n, *b n -> ", reduction="sum"),
    params={"margin": None, "eps": "eps > 0"},
    torch="torch.nn.functional.triplet_margin_loss",
    source="Balntas et al. 2016; eps under the root keeps the distance differentiable at 0",
    magnitudes=Magnitudes(most=1 / 4),
)
def triplet_margin(anchor, positive, negative, *, margin=1.0, eps=1e-6, reduction="mean"):
    """max(0, margin + d(anchor, positive) - d(anchor, negative)), with d = sqrt(sum of squares + eps²) over rows."""
    near, far = _distance(anchor, positive, eps), _distance(anchor, negative, eps)
    return reduce(jnp.squeeze(jnp.maximum(margin + near - far, 0), -1), reduction)


def _distance(a, b, eps):
    return jnp.sqrt(jnp.sum(jnp.square(a - b), axis=-1, keepdims=True) + eps * eps)


@triplet_margin.jvp
def _(anchor, positive, negative, danchor, dpositive, dnegative, *, margin, eps, reduction):
    near, far = _distance(anchor, positive, eps), _distance(anchor, negative, eps)
    change = (anchor - positive) * (danchor - dpositive) / near - (anchor - negative) * (danchor - dnegative) / far
    missed = jnp.squeeze(margin + near - far > 0, -1)
    return reduce(jnp.where(missed, jnp.sum(change, axis=-1), 0), reduction)


@triplet_margin.vjp
def _(anchor, positive, negative, seed, *, margin, eps, reduction):
    near, far = _distance(anchor, positive, eps), _distance(anchor, negative, eps)
    ct = jnp.where(margin + near - far > 0, spread_rows(seed, anchor, reduction), 0)
    to_positive, to_negative = ct * (anchor - positive) / near, ct * (anchor - negative) / far
    return to_positive - to_negative, -to_positive, to_negative
