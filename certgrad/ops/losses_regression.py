"""Losses of the difference d = x - target. `reduction` is "none", "mean" or "sum" over the elements."""

import jax.numpy as jnp

from certgrad.ops._declare import op
from certgrad.ops._reduction import ELEMENTS, reduce, spread


@op(
    *ELEMENTS,
    torch="torch.nn.functional.mse_loss",
    source="The derivative of d² is 2 d, divided by the number of entries for the mean",
)
def mse(x, target, *, reduction="mean"):
    """Squared error d²."""
    d = x - target
    return reduce(d * d, reduction)


@mse.jvp
def _(x, target, dx, dtarget, *, reduction):
    return reduce(2 * (x - target) * (dx - dtarget), reduction)


@mse.vjp
def _(x, target, seed, *, reduction):
    ct = 2 * (x - target) * spread(seed, x, reduction)
    return ct, -ct


@op(
    *ELEMENTS,
    domain="x != target",
    torch="torch.nn.functional.l1_loss",
    torch_at={"x = target": "0, 0"},
    convention={"x = target": "0, 0"},
    source="The derivative of |d| is its sign, 0 at 0, as PyTorch",
)
def mae(x, target, *, reduction="mean"):
    """Absolute error |d|."""
    return reduce(jnp.abs(x - target), reduction)


@mae.jvp
def _(x, target, dx, dtarget, *, reduction):
    return reduce(jnp.sign(x - target) * (dx - dtarget), reduction)


@mae.vjp
def _(x, target, seed, *, reduction):
    ct = jnp.sign(x - target) * spread(seed, x, reduction)
    return ct, -ct


@op(*ELEMENTS, params={"delta": "delta > 0"}, torch="torch.nn.functional.huber_loss", source="Huber 1964")
def huber(x, target, *, delta=1.0, reduction="mean"):
    """d² / 2 while |d| <= delta, and delta * (|d| - delta / 2) beyond."""
    d = x - target
    size = jnp.abs(d)
    return reduce(jnp.where(size <= delta, d * d / 2, delta * (size - delta / 2)), reduction)


@huber.jvp
def _(x, target, dx, dtarget, *, delta, reduction):
    return reduce(_clip_symmetric(x - target, delta) * (dx - dtarget), reduction)


@huber.vjp
def _(x, target, seed, *, delta, reduction):
    ct = _clip_symmetric(x - target, delta) * spread(seed, x, reduction)
    return ct, -ct


def _clip_symmetric(d, bound):
    return jnp.minimum(jnp.maximum(d, -bound), bound)


@op(*ELEMENTS, params={"beta": "beta > 0"}, torch="torch.nn.functional.smooth_l1_loss", source="Girshick 2015")
def smooth_l1(x, target, *, beta=1.0, reduction="mean"):
    """d² / (2 beta) while |d| < beta, and |d| - beta / 2 beyond: huber divided by its delta."""
    d = x - target
    size = jnp.abs(d)
    return reduce(jnp.where(size < beta, d * d / (2 * beta), size - beta / 2), reduction)


@smooth_l1.jvp
def _(x, target, dx, dtarget, *, beta, reduction):
    return reduce(_clip_symmetric((x - target) / beta, 1) * (dx - dtarget), reduction)


@smooth_l1.vjp
def _(x, target, seed, *, beta, reduction):
    ct = _clip_symmetric((x - target) / beta, 1) * spread(seed, x, reduction)
    return ct, -ct


@op(
    *ELEMENTS,
    source="The derivative of log(cosh(d)) is tanh(d)",
)
def log_cosh(x, target, *, reduction="mean"):
    """log(cosh(d)), without overflow."""
    d = x - target
    size = jnp.abs(d)
    return reduce(size + jnp.log1p(jnp.exp(-2 * size)) - jnp.log(2.0).astype(d.dtype), reduction)


@log_cosh.jvp
def _(x, target, dx, dtarget, *, reduction):
    return reduce(jnp.tanh(x - target) * (dx - dtarget), reduction)


@log_cosh.vjp
def _(x, target, seed, *, reduction):
    ct = jnp.tanh(x - target) * spread(seed, x, reduction)
    return ct, -ct


@op(
    *ELEMENTS,
    domain="x != target",
    params={"q": None},
    convention={"x = target": "1/2 - q, q - 1/2"},
    source="Koenker and Bassett 1978; the mean of both slopes at 0",
)
def quantile(x, target, *, q=0.5, reduction="mean"):
    """The pinball loss: -q * d where x is below the target and (1 - q) * d where it is above."""
    d = x - target
    return reduce(jnp.maximum(-q * d, (1 - q) * d), reduction)


def _pinball(d, q):
    return (jnp.sign(d) + 1) / 2 - q


@quantile.jvp
def _(x, target, dx, dtarget, *, q, reduction):
    return reduce(_pinball(x - target, q) * (dx - dtarget), reduction)


@quantile.vjp
def _(x, target, seed, *, q, reduction):
    ct = _pinball(x - target, q) * spread(seed, x, reduction)
    return ct, -ct


@op(
    *ELEMENTS,
    params={"eps": "eps > 0"},
    source="Charbonnier et al. 1994: a smooth form of the absolute error",
)
def charbonnier(x, target, *, eps=1e-3, reduction="mean"):
    """sqrt(d² + eps²)."""
    return reduce(jnp.sqrt(jnp.square(x - target) + eps * eps), reduction)


@charbonnier.jvp
def _(x, target, dx, dtarget, *, eps, reduction):
    d = x - target
    return reduce(d / jnp.sqrt(d * d + eps * eps) * (dx - dtarget), reduction)


@charbonnier.vjp
def _(x, target, seed, *, eps, reduction):
    d = x - target
    ct = d / jnp.sqrt(d * d + eps * eps) * spread(seed, x, reduction)
    return ct, -ct
