"""Variances, weighted averages and standardisation."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import axis_of, case, op
from certgrad.ops._magnitudes import Magnitudes
from certgrad.ops._reduce import OVER_AXES, count, spread, takes_any_axes


def _centred(x, axis):
    return x - spread(jnp.mean(x, axis=axis), x, axis)


@takes_any_axes
@op(
    OVER_AXES,
    params={"correction": None},
    like="jax.numpy.var",
    torch="torch.var",
    source="Two passes; the derivative along dx is 2 sum(c dx) / (n - correction), where c = x - mean",
)
def var(x, *, axis=None, correction=0, keepdims=False):
    """Variance over one axis, several or all: sum((x - mean)²) / (n - correction)."""
    c = _centred(x, axis)
    return jnp.sum(c * c, axis=axis) / (count(x, axis) - correction)


@var.fwd
def _(x, *, axis, correction):
    c = _centred(x, axis)
    return jnp.sum(c * c, axis=axis) / (count(x, axis) - correction), c


@var.jvp
def _(c, dx, *, axis, correction):
    return 2 * jnp.sum(c * dx, axis=axis) / (count(c, axis) - correction)


@var.vjp
def _(c, seed, *, axis, correction):
    return 2 * c * spread(seed / (count(c, axis) - correction), c, axis)


@takes_any_axes
@op(
    OVER_AXES,
    params={"correction": None},
    like="jax.numpy.std",
    torch="torch.std",
    source="The root of var; where all entries are equal the rules return 0",
)
def std(x, *, axis=None, correction=0, keepdims=False):
    """Standard deviation over one axis, several or all: sqrt(sum((x - mean)²) / (n - correction))."""
    c = _centred(x, axis)
    return jnp.sqrt(jnp.sum(c * c, axis=axis)) / jnp.sqrt(count(x, axis) - correction)


@std.fwd
def _(x, *, axis, correction):
    c = _centred(x, axis)
    length = jnp.sqrt(jnp.sum(c * c, axis=axis))
    root = jnp.sqrt(count(x, axis) - correction)
    return length / root, c / spread(jnp.where(length > 0, length, 1) * root, x, axis)


@std.jvp
def _(slope, dx, *, axis):
    return jnp.sum(slope * dx, axis=axis)


@std.vjp
def _(slope, seed, *, axis):
    return slope * spread(seed, slope, axis)


@op(
    case("*a n *c, n -> *a *c", axis=axis_of("n")),
    case("*s, *s -> ", axis=None),
    like="jax.numpy.average",
    source="The quotient rule; the sum of the weights must not be 0",
    magnitudes=Magnitudes(most=1 / 4, least=1 / 4),
)
def average(x, weights, *, axis=None):
    """Weighted mean sum(weights * x) / sum(weights): along one axis with a vector of weights, or over all entries."""
    share = weights / jnp.sum(weights)  # first: the products of large numbers would overflow
    return jnp.sum(x * share) if axis is None else jnp.tensordot(x, share, axes=(axis, 0))


@average.jvp
def _(x, weights, dx, dweights, *, axis):
    y = average.forward(x, weights, axis=axis)
    along = average.forward(dx, weights, axis=axis)
    dshare = dweights / jnp.sum(weights)
    if axis is None:
        return along + jnp.sum((x - y) * dshare)
    return along + jnp.tensordot(x - jnp.expand_dims(y, axis), dshare, axes=(axis, 0))


@average.vjp
def _(x, weights, seed, *, axis):
    y = average.forward(x, weights, axis=axis)
    ct = seed / jnp.sum(weights)
    if axis is None:
        return weights * ct, (x - y) * ct
    rest = tuple(i for i in range(x.ndim) if i != axis)
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    centred = x - jnp.expand_dims(y, axis)
    return jnp.reshape(weights, shape) * jnp.expand_dims(ct, axis), jnp.sum(
        centred * jnp.expand_dims(ct, axis), axis=rest
    )


@op(
    case("*a n *c -> *a n *c", axis=axis_of("n")),
    params={"epsilon": "epsilon > 0"},
    like="jax.nn.standardize",
    source="Two passes, where JAX takes mean(x²) - mean(x)²; the derivative is layer_norm's",
)
def standardize(x, *, axis=-1, epsilon=1e-5):
    """(x - mean) / sqrt(var + epsilon) along one axis."""
    c = x - jnp.mean(x, axis=axis, keepdims=True)
    return c * lax.rsqrt(jnp.mean(c * c, axis=axis, keepdims=True) + epsilon)


@standardize.fwd
def _(x, *, axis, epsilon):
    c = x - jnp.mean(x, axis=axis, keepdims=True)
    rstd = lax.rsqrt(jnp.mean(c * c, axis=axis, keepdims=True) + epsilon)
    return c * rstd, (c * rstd, rstd)


@standardize.jvp
def _(residuals, dx, *, axis):
    return _project(residuals, dx, axis)


@standardize.vjp
def _(residuals, seed, *, axis):
    return _project(residuals, seed, axis)


def _project(residuals, t, axis):
    normal, rstd = residuals
    along = normal * jnp.mean(normal * t, axis=axis, keepdims=True)
    return rstd * (t - jnp.mean(t, axis=axis, keepdims=True) - along)
