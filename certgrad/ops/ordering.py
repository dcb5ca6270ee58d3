"""Entries in order of size."""

import jax
import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import axis_of, case, op, size_of


def _put_back(places, seed, like, axis):
    """Return the transpose at `seed` of taking entries at these places along an axis, of an array like `like`."""
    return jax.vjp(lambda y: jnp.take_along_axis(y, places, axis=axis), like)[1](seed)[0]


@op(
    case("*a n *c -> *a n *c", axis=axis_of("n")),
    integers=True,
    like="jax.numpy.sort",
    torch="torch.sort",
    source="Entries move by a permutation that is constant where they differ",
)
def sort(x, *, axis=-1):
    """The entries along one axis in rising order."""
    return jnp.sort(x, axis=axis)


@sort.fwd
def _(x, *, axis):
    order = jnp.argsort(x, axis=axis)
    return jnp.take_along_axis(x, order, axis=axis), order


@sort.jvp
def _(order, dx, *, axis):
    return jnp.take_along_axis(dx, order, axis=axis)


@sort.vjp
def _(order, seed, *, axis):
    return _put_back(order, seed, seed, axis)


@op(
    case("*b n+k-1 -> *b k", k=size_of("k")),
    integers=True,
    like="jax.lax.top_k",
    torch="torch.topk",
    source="Entries move by a map that is constant where they differ",
)
def top_k(x, *, k):
    """The k greatest entries of each row, in falling order."""
    return lax.top_k(x, k)[0]


@top_k.fwd
def _(x, *, k):
    values, places = lax.top_k(x, k)
    return values, (places, x)


@top_k.jvp
def _(residuals, dx):
    return jnp.take_along_axis(dx, residuals[0], axis=-1)


@top_k.vjp
def _(residuals, seed):
    places, x = residuals
    return _put_back(places, seed, x, -1)
