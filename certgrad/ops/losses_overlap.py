"""Losses of the overlap of two masks, whose entries are probabilities. `reduction` is over rows."""

import jax.numpy as jnp

from certgrad.ops._declare import op
from certgrad.ops._magnitudes import Magnitudes
from certgrad.ops._reduction import ROWS, reduce, spread_rows

_EPS = {"eps": "eps > 0"}


def _sum(x):
    return jnp.sum(x, axis=-1, keepdims=True)


@op(*ROWS, params=_EPS, source="Milletari et al. 2016, without squares")
def dice(x, target, *, eps=1.0, reduction="mean"):
    """1 - (2 * sum(x * target) + eps) / (sum(x) + sum(target) + eps) over the last axis."""
    share, _ = _dice(x, target, eps)
    return reduce(1 - jnp.squeeze(share, -1), reduction)


def _dice(x, target, eps):
    """Return (2 Σ x·target + eps) / whole, and whole = Σ x + Σ target + eps; it divides first, against overflow."""
    whole = _sum(x) + _sum(target) + eps
    return 2 * _sum(x * (target / whole)) + eps / whole, whole


@dice.jvp
def _(x, target, dx, dtarget, *, eps, reduction):
    share, whole = _dice(x, target, eps)
    change = share * (_sum(dx + dtarget) / whole) - 2 * _sum(x * (dtarget / whole) + dx * (target / whole))
    return reduce(jnp.squeeze(change, -1), reduction)


@dice.vjp
def _(x, target, seed, *, eps, reduction):
    share, whole = _dice(x, target, eps)
    ct = spread_rows(seed, x, reduction)
    return ct * (share / whole - 2 * (target / whole)), ct * (share / whole - 2 * (x / whole))


@op(
    *ROWS,
    params=_EPS,
    source="Rahman and Wang 2016: the intersection over the union, of probabilities",
    magnitudes=Magnitudes(most=1 / 4),
)
def jaccard(x, target, *, eps=1.0, reduction="mean"):
    """1 - (sum(x * target) + eps) / (sum(x) + sum(target) - sum(x * target) + eps) over the last axis."""
    both, union = _jaccard(x, target, eps)
    return reduce(1 - jnp.squeeze(both / union, -1), reduction)


def _jaccard(x, target, eps):
    both = _sum(x * target)
    return both + eps, _sum(x) + _sum(target) - both + eps


@jaccard.jvp
def _(x, target, dx, dtarget, *, eps, reduction):
    both, union = _jaccard(x, target, eps)
    dboth = _sum(dx * target + x * dtarget)
    change = both / (union * union) * (_sum(dx + dtarget) - dboth) - dboth / union
    return reduce(jnp.squeeze(change, -1), reduction)


@jaccard.vjp
def _(x, target, seed, *, eps, reduction):
    both, union = _jaccard(x, target, eps)
    ct = spread_rows(seed, x, reduction)
    shared = both / (union * union)
    own = shared + 1 / union
    return ct * (shared - own * target), ct * (shared - own * x)


@op(
    *ROWS,
    params=_EPS | {"alpha": None, "beta": None},
    source="Salehi et al. 2017; alpha = beta = 1/2 is the Dice loss",
    magnitudes=Magnitudes(most=1 / 4),
)
def tversky(x, target, *, alpha=0.5, beta=0.5, eps=1.0, reduction="mean"):
    """1 - (both + eps) / (both + alpha * only x + beta * only target + eps) over the last axis.

    both is sum(x * target), only x is sum(x * (1 - target)), only target is sum((1 - x) * target).
    """
    both, whole = _tversky(x, target, alpha, beta, eps)
    return reduce(1 - jnp.squeeze(both / whole, -1), reduction)


def _tversky(x, target, alpha, beta, eps):
    both = _sum(x * target)
    return both + eps, (1 - alpha - beta) * both + alpha * _sum(x) + beta * _sum(target) + eps


@tversky.jvp
def _(x, target, dx, dtarget, *, alpha, beta, eps, reduction):
    both, whole = _tversky(x, target, alpha, beta, eps)
    dboth = _sum(dx * target + x * dtarget)
    dwhole = (1 - alpha - beta) * dboth + alpha * _sum(dx) + beta * _sum(dtarget)
    return reduce(jnp.squeeze(both / (whole * whole) * dwhole - dboth / whole, -1), reduction)


@tversky.vjp
def _(x, target, seed, *, alpha, beta, eps, reduction):
    both, whole = _tversky(x, target, alpha, beta, eps)
    ct = spread_rows(seed, x, reduction)
    shared = both / (whole * whole)
    own = shared * (1 - alpha - beta) - 1 / whole
    return ct * (shared * alpha + own * target), ct * (shared * beta + own * x)
