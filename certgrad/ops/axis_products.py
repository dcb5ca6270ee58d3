"""Products along axes, and of the entries up to each.

No rule divides by an entry, so that each is right where entries are 0.
"""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import axis_of, case, op
from certgrad.ops._shapes import expand


@op(
    case("*s -> ", axis=None, keepdims=False),
    case("*a n *c -> *a *c", axis=axis_of("n"), keepdims=False),
    case("*a n *c -> *a 1 *c", axis=axis_of("n"), keepdims=True),
    case("*a n *b m *c -> *a *b *c", axis=axis_of("n", "m"), keepdims=False),
    case("*a n *b m *c -> *a 1 *b 1 *c", axis=axis_of("n", "m"), keepdims=True),
    case("*a n *b m *c k *d -> *a *b *c *d", axis=axis_of("n", "m", "k"), keepdims=False),
    case("*a n *b m *c k *d -> *a 1 *b 1 *c 1 *d", axis=axis_of("n", "m", "k"), keepdims=True),
    integers=True,
    like="jax.numpy.prod",
    torch="torch.prod",
    source="Leibniz's rule: an entry's derivative is the product of the others, those before it times those after it",
)
def prod(x, *, axis=None, keepdims=False):
    """Product over one axis, up to three axes, or all."""
    return jnp.prod(x, axis=axis, keepdims=keepdims)


@prod.fwd
def _(x, *, axis, keepdims):
    return jnp.prod(x, axis=axis, keepdims=keepdims), _others(x, axis)


@prod.jvp
def _(others, dx, *, axis, keepdims):
    return jnp.sum(others * dx, axis=axis, keepdims=keepdims)


@prod.vjp
def _(others, seed, *, axis, keepdims):
    return others * expand(seed, axis, keepdims)


def _others(x, axis):
    """Return for each entry the product of all other entries along the axes, without a division: entries may be 0.

    The entries are taken together one axis at a time: the factors are the others along the first axis, then the
    products of other lines along the second axis, and so on.
    """
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis
    others = jnp.ones_like(x)
    for i in axes:
        others = others * _before(x, i) * _after(x, i)
        x = jnp.prod(x, axis=i, keepdims=True)
    return others


def _before(x, axis):
    """Return for each entry the product of the entries before it along the axis: 1 for the first."""
    one = jnp.ones_like(lax.slice_in_dim(x, 0, 1, axis=axis))
    return lax.cumprod(jnp.concatenate([one, lax.slice_in_dim(x, 0, -1, axis=axis)], axis), axis)


def _after(x, axis):
    """Return for each entry the product of the entries after it along the axis: 1 for the last."""
    one = jnp.ones_like(lax.slice_in_dim(x, 0, 1, axis=axis))
    rest = lax.slice_in_dim(x, 1, None, axis=axis)
    return lax.cumprod(jnp.concatenate([rest, one], axis), axis, reverse=True)


@op(
    case("*a n *c -> *a n *c", axis=axis_of("n")),
    integers=True,
    like="jax.numpy.cumprod",
    torch="torch.cumprod",
    source="With p the products before each entry: dout = x dout' + p dx for the dout' before; the adjoint runs back",
)
def cumprod(x, *, axis):
    """Products of the entries up to each along an axis."""
    return lax.cumprod(x, axis % x.ndim)


@cumprod.fwd
def _(x, *, axis):
    x = jnp.moveaxis(x, axis, 0)
    return jnp.moveaxis(lax.cumprod(x, 0), 0, axis), (x, _before(x, 0))


@cumprod.jvp
def _(residuals, dx, *, axis):
    x, before = residuals

    def step(dout, row):
        x, before, dx = row
        dout = x * dout + before * dx
        return dout, dout

    douts = lax.scan(step, jnp.zeros(x.shape[1:], x.dtype), (x, before, jnp.moveaxis(dx, axis, 0)))[1]
    return jnp.moveaxis(douts, 0, axis)


@cumprod.vjp
def _(residuals, seed, *, axis):
    x, before = residuals

    def step(later, row):
        x, before, seed = row
        total = seed + later
        return x * total, before * total

    cotangents = lax.scan(
        step, jnp.zeros(x.shape[1:], x.dtype), (x, before, jnp.moveaxis(seed, axis, 0)), reverse=True
    )[1]
    return jnp.moveaxis(cotangents, 0, axis)
