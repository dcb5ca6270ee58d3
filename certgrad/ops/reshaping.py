"""The same entries in row-major order under other axes."""

import operator
from math import prod

import jax.numpy as jnp

from certgrad.ops._declare import case, op, size_of

_NAMES = ("n", "m", "k", "l", "p", "q")


def _to_one_axis(rank):
    merged = "*".join(_NAMES[:rank]) or "1"
    return case(f"{' '.join(_NAMES[:rank])} -> {merged}", shape=(size_of(merged) if rank else 1,))


def _from_one_axis(rank):
    sizes = tuple(map(size_of, _NAMES[:rank]))
    return case(f"{'*'.join(_NAMES[:rank]) or '1'} -> {' '.join(_NAMES[:rank])}", shape=sizes)


@op(
    *(_to_one_axis(rank) for rank in (0, 2, 3, 4, 5, 6)),
    *(_from_one_axis(rank) for rank in (0, 1, 2, 3, 4, 5, 6)),
    integers=True,
    like="jax.numpy.reshape",
    torch="torch.reshape",
    source="Linear: the transpose reshapes back",
)
def reshape(x, *, shape):
    """The entries in row-major order in another shape of up to six axes, by way of one axis; one size may be -1."""
    return jnp.reshape(x, shape)


@reshape.jvp
def _(x, dx, *, shape):
    return jnp.reshape(dx, shape)


@reshape.vjp
def _(x, seed, *, shape):
    return jnp.reshape(seed, x.shape)


@reshape.several
def _(x, shape):
    x = jnp.asarray(x)
    sizes = [operator.index(n) for n in (shape if isinstance(shape, tuple | list) else (shape,))]
    if sizes.count(-1) == 1:
        product = prod(n for n in sizes if n != -1)
        sizes[sizes.index(-1)] = x.size // product if product else 0
    if any(n < 0 for n in sizes) or prod(sizes) != x.size:
        raise ValueError(f"reshape: the shape {tuple(x.shape)} has {x.size} entries, which do not fill {shape}.")
    if tuple(sizes) == x.shape:
        return x
    flat = x if x.ndim == 1 else reshape.call_case(x, shape=(x.size,))
    return flat if len(sizes) == 1 else reshape.call_case(flat, shape=tuple(sizes))


@op(
    *(case(f"{' '.join(_NAMES[:rank])} -> {'*'.join(_NAMES[:rank]) or '1'}") for rank in range(7)),
    integers=True,
    like="jax.numpy.ravel",
    torch="torch.ravel",
    source="Linear: the transpose reshapes back",
)
def ravel(x):
    """The entries along one axis, in row-major order; of up to six axes."""
    return jnp.ravel(x)


@ravel.jvp
def _(x, dx):
    return jnp.ravel(dx)


@ravel.vjp
def _(x, seed):
    return jnp.reshape(seed, x.shape)
