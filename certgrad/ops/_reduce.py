"""Reductions over any axes: the form in which they are proved, and how a call is carried out by it.

The proof is about a reduction over two runs of adjacent axes, each of any number of axes (or none), with any axes
around them; the reduced axes are dropped. Every call is brought to this form: `keepdims` puts the axes back with size 1
afterwards, and axes in more than two runs are moved to the end first.
"""

import operator
from math import prod

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import axis_of, case

OVER_AXES = case("*a *n *b *m *c -> *a *b *c", axis=axis_of("*n", "*m"))


def takes_any_axes(op):
    """Declare that calls of the op take `axis` and `keepdims` as numpy's reductions do; return the op."""

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
            return op.call_case(*arrays, axis=axis, **values)  # it refuses these axes, with a message
        if _runs(axes) > 2:
            rest = [i for i in range(ndim) if i not in axes]
            arrays = [jnp.transpose(x, (*rest, *axes)) for x in arrays]
            value = op.call_case(*arrays, axis=tuple(range(len(rest), ndim)), **values)
        else:
            value = op.call_case(*arrays, axis=axes, **values)
        return jnp.expand_dims(value, axes) if keepdims else value

    return op


def _from_the_left(axis, ndim):
    """Return the axes sorted and counted from the left; all axes for None.

    Raises TypeError for anything but integers, ValueError for an axis out of range or twice.
    """
    if axis is None:
        return tuple(range(ndim))
    axes = [operator.index(i) for i in (axis if isinstance(axis, tuple | list) else [axis])]
    if any(not -ndim <= i < ndim for i in axes) or len({i % ndim for i in axes}) < len(axes):
        raise ValueError
    return tuple(sorted(i % ndim for i in axes))


def _runs(axes):
    """Return how many runs of adjacent axes there are among sorted axes: 2 in (0, 1, 4)."""
    return len({axis - k for k, axis in enumerate(axes)})


def count(x, axis):
    """Return the number of entries that one output of a reduction over these axes reads."""
    return prod(x.shape[i] for i in axis)


def spread(y, x, axis):
    """Return the transpose of a sum over the axes at `y`: it is repeated along them, to the shape of `x`."""
    return lax.broadcast_in_dim(y, x.shape, [i for i in range(x.ndim) if i not in axis])


def weighted_sum(weights, dx, *, axis):
    """The JVP of a reduction whose `fwd` saves the derivative of the output by each entry as `weights`."""
    return jnp.sum(weights * dx, axis=axis)


def weighted_spread(weights, seed, *, axis):
    """The VJP of a reduction whose JVP is `weighted_sum`: its transpose."""
    return weights * spread(seed, weights, axis)
