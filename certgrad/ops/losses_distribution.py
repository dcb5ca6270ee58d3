"""Losses of probabilities and of the parameters of distributions. `reduction` is "none", "mean" or "sum"."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import case, op
from certgrad.ops._magnitudes import Magnitudes
from certgrad.ops._reduction import ELEMENTS, LABELS, ROWS, reduce, spread, spread_rows

_EPS = "0 < eps < 0.5"


def _clamped(x, eps):
    return jnp.where(_is_unclamped(x, eps), x, jnp.where(x > eps, 1 - eps, eps))


def _is_unclamped(x, eps):
    return (x > eps) & (x < 1 - eps)


@op(
    *ROWS,
    domain=("x != eps", "x != 1 - eps"),
    params={"eps": _EPS},
    source="Shannon 1948; the derivative in x is 0 where the clamp is flat",
)
def cross_entropy(x, target, *, eps=1e-6, reduction="mean"):
    """-sum(target * log(x)) over the last axis, for probabilities x, kept between eps and 1 - eps."""
    return reduce(-jnp.sum(target * jnp.log(_clamped(x, eps)), axis=-1), reduction)


@cross_entropy.jvp
def _(x, target, dx, dtarget, *, eps, reduction):
    c = _clamped(x, eps)
    return reduce(
        -jnp.sum(jnp.where(_is_unclamped(x, eps), target * dx / c, 0) + dtarget * jnp.log(c), axis=-1), reduction
    )


@cross_entropy.vjp
def _(x, target, seed, *, eps, reduction):
    c, ct = _clamped(x, eps), spread_rows(seed, x, reduction)
    return jnp.where(_is_unclamped(x, eps), -target * ct / c, 0), -jnp.log(c) * ct


@op(
    *ELEMENTS,
    domain=("x != eps", "x != 1 - eps"),
    params={"eps": _EPS},
    torch="torch.nn.functional.binary_cross_entropy",
    source="Shannon 1948; the derivative in x is 0 where the clamp is flat; PyTorch bounds the logarithm by -100",
)
def binary_cross_entropy(x, target, *, eps=1e-6, reduction="mean"):
    """-target * log(x) - (1 - target) * log(1 - x), for probabilities x, kept between eps and 1 - eps."""
    c = _clamped(x, eps)
    return reduce(-target * jnp.log(c) - (1 - target) * jnp.log1p(-c), reduction)


@binary_cross_entropy.jvp
def _(x, target, dx, dtarget, *, eps, reduction):
    c = _clamped(x, eps)
    slope = jnp.where(_is_unclamped(x, eps), (1 - target) / (1 - c) - target / c, 0)
    return reduce(slope * dx + (jnp.log1p(-c) - jnp.log(c)) * dtarget, reduction)


@binary_cross_entropy.vjp
def _(x, target, seed, *, eps, reduction):
    c, ct = _clamped(x, eps), spread(seed, x, reduction)
    slope = jnp.where(_is_unclamped(x, eps), (1 - target) / (1 - c) - target / c, 0)
    return slope * ct, (jnp.log1p(-c) - jnp.log(c)) * ct


def _mine(x, labels):
    """Return booleans like `x`: true at the label of each row, and nowhere in a row with a negative label."""
    return jnp.arange(x.shape[-1]) == jnp.expand_dims(labels, -1)


def _of_labelled(losses, labels, reduction):
    """Return the reduced losses of rows, that of a negative label being 0; the mean is over the other rows."""
    losses = jnp.where(labels >= 0, losses, 0)
    if reduction == "none":
        return losses
    total = jnp.sum(losses)
    return total / _count(labels, losses) if reduction == "mean" else total


def _count(labels, like):
    return jnp.maximum(jnp.sum(labels >= 0, dtype=like.dtype), 1)


def _to_labelled(seed, labels, reduction):
    """Return the transpose of `_of_labelled` at `seed`, with an axis of size 1 in the place of a row's entries."""
    ct = seed / _count(labels, seed) if reduction == "mean" else seed
    return jnp.expand_dims(jnp.where(labels >= 0, ct, 0), -1)


@op(*LABELS, torch="torch.nn.functional.nll_loss", source="Linear in x where the labels are fixed")
def nll(x, labels, *, reduction="mean"):
    """-x[label] for log-probabilities x; rows with a negative label are left out, as by PyTorch's ignore_index."""
    return _of_labelled(-jnp.sum(jnp.where(_mine(x, labels), x, 0), axis=-1), labels, reduction)


@nll.jvp
def _(x, labels, dx, *, reduction):
    return nll.forward(dx, labels, reduction=reduction)


@nll.vjp
def _(x, labels, seed, *, reduction):
    ct = _to_labelled(seed, labels, reduction)
    return jnp.where(_mine(x, labels), -ct, 0)


@op(
    *LABELS,
    params={"label_smoothing": "0 <= label_smoothing <= 1"},
    torch="torch.nn.functional.cross_entropy",
    source="Szegedy et al. 2016 for the smoothing; the derivative is softmax(x) minus the smoothed target",
)
def cross_entropy_labels(x, labels, *, label_smoothing=0.0, reduction="mean"):
    """-log_softmax(x)[label] over the last axis; rows with a negative label are left out, also of the mean.

    With label smoothing s the target is 1 - s on the label and s spread over all classes.
    """
    return _smoothed(_log_softmax(x), labels, label_smoothing, reduction)


def _log_softmax(x):
    shifted = x - lax.stop_gradient(jnp.max(x, axis=-1, keepdims=True))
    return shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis=-1, keepdims=True))


def _smoothed(y, labels, s, reduction):
    """Return the cross-entropy loss of log-probabilities y, with labels smoothed by s."""
    picked = jnp.sum(jnp.where(_mine(y, labels), y, 0), axis=-1)
    return _of_labelled((s - 1) * picked - s * jnp.mean(y, axis=-1), labels, reduction)


@cross_entropy_labels.fwd
def _(x, labels, *, label_smoothing, reduction):
    y = _log_softmax(x)
    return _smoothed(y, labels, label_smoothing, reduction), (y, labels)


@cross_entropy_labels.jvp
def _(residuals, dx, *, label_smoothing, reduction):
    y, labels = residuals
    dy = dx - jnp.sum(jnp.exp(y) * dx, axis=-1, keepdims=True)
    return _smoothed(dy, labels, label_smoothing, reduction)


@cross_entropy_labels.vjp
def _(residuals, seed, *, label_smoothing, reduction):
    y, labels = residuals
    ct = _to_labelled(seed, labels, reduction)
    target = jnp.where(_mine(y, labels), jnp.full_like(y, 1 - label_smoothing), 0) + label_smoothing / y.shape[-1]
    inside = jnp.sum(target, axis=-1, keepdims=True)  # 1, unless the label is none of the classes
    return (jnp.exp(y) * inside - target) * ct


@op(
    *ELEMENTS,
    domain="target > 0",
    torch="torch.nn.functional.kl_div",
    source="Kullback and Leibler 1951; 0 log 0 = 0",
)
def kl_div(x, target, *, reduction="mean"):
    """target * (log(target) - x) for log-probabilities x and probabilities target."""
    return reduce(_entropy(target) - target * x, reduction)


def _entropy(p):
    return jnp.where(p == 0, 0, p * jnp.log(jnp.where(p == 0, 1, p)))


@kl_div.jvp
def _(x, target, dx, dtarget, *, reduction):
    return reduce((jnp.log(target) + 1 - x) * dtarget - target * dx, reduction)


@kl_div.vjp
def _(x, target, seed, *, reduction):
    ct = spread(seed, x, reduction)
    return -target * ct, (jnp.log(target) + 1 - x) * ct


@op(
    *ELEMENTS,
    torch="torch.nn.functional.poisson_nll_loss",
    source="The negative log-likelihood of a Poisson distribution with rate exp(x), without the constant",
)
def poisson(x, target, *, reduction="mean"):
    """exp(x) - target * x for the logarithm x of the rate."""
    return reduce(jnp.exp(x) - target * x, reduction)


@poisson.jvp
def _(x, target, dx, dtarget, *, reduction):
    return reduce((jnp.exp(x) - target) * dx - x * dtarget, reduction)


@poisson.vjp
def _(x, target, seed, *, reduction):
    ct = spread(seed, x, reduction)
    return (jnp.exp(x) - target) * ct, -x * ct


@op(
    *(case(f"*s, *s, *s -> {'*s' if r == 'none' else ''}", reduction=r) for r in ("none", "mean", "sum")),
    domain="var != eps",
    params={"eps": "eps > 0"},
    torch="torch.nn.functional.gaussian_nll_loss",
    source="Nix and Weigend 1994; the derivative in var is 0 where the bound is flat, PyTorch's is that of var = eps",
)
def gaussian_nll(x, target, var, *, eps=1e-6, reduction="mean"):
    """(log(v) + (x - target)² / v) / 2 with v = max(var, eps), without the constant."""
    v = jnp.maximum(var, eps)
    return reduce((jnp.log(v) + jnp.square(x - target) / v) / 2, reduction)


@gaussian_nll.jvp
def _(x, target, var, dx, dtarget, dvar, *, eps, reduction):
    v, d = jnp.maximum(var, eps), x - target
    slope = jnp.where(var > eps, (1 - d * (d / v)) / v / 2, 0)
    return reduce(d / v * (dx - dtarget) + slope * dvar, reduction)


@gaussian_nll.vjp
def _(x, target, var, seed, *, eps, reduction):
    v, d, ct = jnp.maximum(var, eps), x - target, spread(seed, x, reduction)
    slope = jnp.where(var > eps, (1 - d * (d / v)) / v / 2, 0)
    return d / v * ct, -d / v * ct, slope * ct


@op(
    *(case(str(one.signature), gamma=2, **one.statics) for one in ELEMENTS),
    params={"alpha": None},
    torch="torchvision.ops.sigmoid_focal_loss",
    source="Lin et al. 2017, with weight alpha for target 1 and 1 - alpha for target 0, and their exponent 2",
    magnitudes=Magnitudes(most=1 / 8),
)
def focal(x, target, *, alpha=0.25, gamma=2, reduction="mean"):
    """Binary cross-entropy of logits x times (1 - p)^gamma, p being the probability of the target; gamma is 2."""
    return reduce(_focal(x, target, alpha, gamma)[0], reduction)


def _focal(x, target, alpha, gamma):
    """Return the focal loss of logits x, and its derivatives in x and in the target."""
    p, rest = lax.logistic(x), lax.logistic(-x)
    loss = jnp.maximum(x, 0) - x * target + jnp.log1p(jnp.exp(-jnp.abs(x)))
    missed = p * (1 - target) + rest * target
    weight = alpha * target + (1 - alpha) * (1 - target)
    power, below = missed**gamma, gamma * missed ** (gamma - 1)
    in_x = weight * (power * (p - target) + below * p * rest * (1 - 2 * target) * loss)
    in_target = (2 * alpha - 1) * power * loss + weight * (below * (rest - p) * loss - power * x)
    return weight * power * loss, in_x, in_target


@focal.jvp
def _(x, target, dx, dtarget, *, alpha, gamma, reduction):
    _, in_x, in_target = _focal(x, target, alpha, gamma)
    return reduce(in_x * dx + in_target * dtarget, reduction)


@focal.vjp
def _(x, target, seed, *, alpha, gamma, reduction):
    _, in_x, in_target = _focal(x, target, alpha, gamma)
    ct = spread(seed, x, reduction)
    return in_x * ct, in_target * ct
