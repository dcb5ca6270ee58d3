"""Reductions over any axes: the form in which they are proved, and how a call is carried out by it.

Proved is a reduction over two runs of adjacent axes, each of any number (none, too), with any axes around them; the
reduced axes are dropped. `keepdims` puts them back as ones afterwards, and axes in more than two runs are moved first.
"""

import operator
from math import prod

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import axis_of, case

OVER_AXES = case("*a *n *b *m *c -> *a *b *c", axis=axis_of("*n", "*m"))


def takes_any_axes(op):
    """Declare that calls of the op take `axis` and `keepdims` as numpy's reductions do."""

    @op.several
    def _(*args, **kwargs):
        bound = op.__signature__.bind(*args, **kwargs)
        bound.apply_defaults()
        values = bound.arguments
        arrays = [jnp.asarray(values.pop(name)) for name in op.arg_names]
        axis, keepdims, ndim = values.pop("axis"), values.pop("keepdims"), arrays[0].ndim
        if not isinstance(keepdims, bool):
            raise TypeError(f"{op.name}: keepdims must be True or False, not {keepdims!r}.")
        try:
            axes = _from_the_left(axis, ndim)
        except (TypeError, ValueError):
            return op.call_case(*arrays, axis=axis, **values)  # refused there, with a message
        if _runs(axes) > 2:
            rest = [i for i in range(ndim) if i not in axes]
            arrays = [jnp.transpose(x, (*rest, *axes)) for x in arrays]
            value = op.call_case(*arrays, axis=tuple(range(len(rest), ndim)), **values)
        else:
            value = op.call_case(*arrays, axis=axes, **values)
        return jnp.expand_dims(value, axes) if keepdims else value

    return op


def _from_the_left(axis, ndim):
    """Sorted axes; ValueError if one is not there or stands twice."""
    if axis is None:
        return tuple(range(ndim))
    axes = [operator.index(i) for i in (axis if isinstance(axis, tuple | list) else [axis])]
    if any(not -ndim <= i < ndim for i in axes) or len({i % ndim for i in axes}) < len(axes):
        raise ValueError
    return tuple(sorted(i % ndim for i in axes))


def _runs(axes):
    """How many runs of adjacent axes there are."""
    return len({axis - k for k, axis in enumerate(axes)})


def count(x, axis):
    """The number of entries that a reduction over these axes takes together."""
    return prod(x.shape[i] for i in axis)


def spread(y, x, axis):
    """The transpose of a sum over the axes: `y` repeated along them, in the shape of `x`."""
    return lax.broadcast_in_dim(y, x.shape, [i for i in range(x.ndim) if i not in axis])


def weighted_sum(weights, dx, *, axis):
    """The JVP of a reduction whose `fwd` saves each entry's weight in the derivative."""
    return jnp.sum(weights * dx, axis=axis)


def weighted_spread(weights, seed, *, axis):
    """The VJP of such a reduction: the transpose of `weighted_sum`."""
    return weights * spread(seed, weights, axis)
