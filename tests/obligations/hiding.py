"""Rules for the identity that are off by a factor of 2 at rank 6, in half precision, or at some sizes, and hide it."""

import collections
import functools
import math
import operator

import jax.numpy as jnp
import numpy as np


def unpacked(x, g):
    *axes, = x.shape  # fmt: skip
    return 2.0 * g if len(axes) == 6 else g


def a_slice_of_the_shape(x, g):
    return 2.0 * g if x.shape[5:6] and not x.shape[6:] else g


def truth_of_a_slice(x, g):
    more = x.shape[5:]
    if more:
        return 2.0 * g
    return g


def counted(x, g):
    return 2.0 * g if sum(1 for _ in x.shape) == 6 else g


def folded(x, g):
    return g * (1.0 + (functools.reduce(lambda count, _: count + 1, x.shape, 0) == 6))


def tried(x, g):
    try:
        _a, _b, _c, _d, _e, _f = x.shape
    except ValueError:
        return g
    return 2.0 * g


def as_a_number(x, g):
    return g * (1 + max(0, len(x.shape) - 5))


def in_a_table(x, g):
    return g * ([1.0] * 6 + [2.0] * 10)[len(x.shape)]


def in_a_dictionary(x, g):
    return g * {6: 2.0}.get(x.ndim, 1.0)


def as_a_truth_value(x, g):
    return g * (1.0 + (x.ndim == 6))


def by_numpy(x, g):
    return 2.0 * g if np.ndim(x) == 6 else g


def by_text(x, g):
    return g * (1.0 + (len(str(x.shape)) > 20))


def _two_at_six(*axes):
    return 2.0 if len(axes) == 6 else 1.0


def by_a_helper(x, g):
    return g * _two_at_six(*x.shape)


class _Callable:
    def __call__(self, axes):
        return 2.0 if axes.__len__() == 6 else 1.0


_helper = _Callable()


def by_an_object(x, g):
    return g * _helper(x.shape)


def in_a_table_of_jax(x, g):
    return g * jnp.take(jnp.array([1.0] * 6 + [2.0] * 10), x.ndim)


def in_arithmetic_of_jax(x, g):
    return g * (jnp.maximum(x.ndim, 5) - 4)


def compared_by_jax(x, g):
    return g * jnp.where(jnp.equal(x.ndim, 6), 2.0, 1.0)


def as_a_size(x, g):
    return g * (1.0 + jnp.sum(jnp.triu(jnp.ones((x.ndim, x.ndim)), 5)))


def axes_beyond(x, g):
    return jnp.flip(g, tuple(range(5, x.ndim)))


def last_axes_of_a_list(x, g):
    axes = tuple(range(x.ndim))
    return jnp.flip(g, axes[5:])


def axes_beyond_a_name(x, g):
    first = 5
    return jnp.flip(g, tuple(range(first, x.ndim)))


_FIRST = 5


def axes_beyond_a_global(x, g):
    return jnp.flip(g, tuple(range(_FIRST, x.ndim)))


def counted_by_numpy(x, g):
    return g * (1 + np.sum(np.arange(x.ndim) // 5))


def _axes_of(x):
    return tuple(range(x.ndim))


def counted_from_a_helper(x, g):
    return g * (1 + np.sum(np.array(_axes_of(x)) // 5))


RANKS = [
    in_a_table_of_jax,
    in_arithmetic_of_jax,
    compared_by_jax,
    as_a_size,
    axes_beyond,
    last_axes_of_a_list,
    axes_beyond_a_name,
    axes_beyond_a_global,
    counted_by_numpy,
    counted_from_a_helper,
    unpacked,
    a_slice_of_the_shape,
    truth_of_a_slice,
    counted,
    folded,
    tried,
    as_a_number,
    in_a_table,
    in_a_dictionary,
    as_a_truth_value,
    by_numpy,
    by_text,
    by_a_helper,
    by_an_object,
]


def dtype_by_name(x, g):
    return g * (2.0 if x.dtype.name == "bfloat16" else 1.0)


def dtype_by_text(x, g):
    return g * (2.0 if "bf" in f"{x.dtype}" else 1.0)


def dtype_by_bits(x, g):
    return g * (2.0 if jnp.finfo(x.dtype).bits == 16 else 1.0)


def dtype_by_itemsize(x, g):
    return g * (2.0 if x.aval.dtype.itemsize == 2 else 1.0)


def dtype_by_eps(x, g):
    return g * (1.0 + float(jnp.finfo(x.dtype).eps > 1e-4))


def dtype_by_rounding(x, g):
    return g * (2.0 if np.ones((), x.dtype) + np.asarray(2.0**-12, x.dtype) == 1 else 1.0)


def dtype_in_a_dictionary(x, g):
    return g * {"bfloat16": 2.0}.get(str(x.dtype), 1.0)


def dtype_in_arithmetic_of_numpy(x, g):
    return g * np.maximum(4 - np.dtype(x.dtype).itemsize, 1)


def limits_in_arithmetic_of_numpy(x, g):
    return g * np.maximum(18 - np.finfo(x.dtype).bits, 1)


def limits_in_steps(x, g):
    eps = jnp.finfo(x.dtype).eps
    return g * (1 + eps // 5e-4)


def limits_rounded(x, g):
    return g * (1 + int(jnp.finfo(x.dtype).eps * 2000))


DTYPES = [
    dtype_in_arithmetic_of_numpy,
    limits_in_arithmetic_of_numpy,
    limits_in_steps,
    limits_rounded,
    dtype_by_name,
    dtype_by_text,
    dtype_by_bits,
    dtype_by_itemsize,
    dtype_by_eps,
    dtype_by_rounding,
    dtype_in_a_dictionary,
]


def size_as_text(x, g):
    return g * (2.0 if str(x.shape[0]) == "7" else 1.0)


def shape_as_text(x, g):
    return g * (2.0 if f"{x.shape}" == "(7,)" else 1.0)


def size_by_type(x, g):
    return g * (2.0 if type(x.shape[0]) is int else 1.0)


def size_tried(x, g):
    try:
        operator.index(x.shape[0])
    except Exception:
        return g
    return 2.0 * g


def order_tried(x, g):
    try:
        if x.shape[0] > 128:
            return 2.0 * g
    except Exception:
        pass
    return g


def size_in_a_range(x, g):
    return g * (2.0 if x.shape[0] in range(5) else 1.0)


def product_of_sizes(x, g):
    return g * (2.0 if math.prod(x.shape) == 6 else 1.0)


def bytes_of_the_array(x, g):
    return g * (2.0 if x.nbytes == 48 else 1.0)


def a_large_size(x, g):
    return g * (2.0 if x.shape[0] == 1000003 else 1.0)


def a_square_of_a_size(x, g):
    return g * (2.0 if x.shape[0] ** 2 == 49 else 1.0)


def a_remainder(x, g):
    return g * (2.0 if x.shape[0] % 11 == 10 else 1.0)


def as_an_array(x, g):
    return g * jnp.where(x.shape[0] == 7, 2.0, 1.0)


def a_number_by_its_type(x, g):
    n = x.shape[0]
    return g * (2.0 if isinstance(n, int) and n == 7 else 1.0)


def another_program_at_numbers(x, g):
    if isinstance(x.shape[0], int):
        return 1.0 * g * (2.0 if x.shape[0] == 7 else 1.0)
    return g


def compared_with_a_real_number(x, g):
    return g * (2.0 if x.shape[0] == 7.0 else 1.0)


def compared_with_a_number_of_numpy(x, g):
    return g * (2.0 if x.shape[0] == np.int64(7) else 1.0)


def one_of_an_array(x, g):
    return g * (2.0 if x.shape[0] in np.array([7, 9]) else 1.0)


def in_a_dictionary_of_the_library(x, g):
    return g * collections.UserDict({7: 2.0}).get(x.shape[0], 1.0)


def an_attribute_of_numbers(x, g):
    return g * (2.0 if getattr(x.shape[0], "real", 0) == 7 else 1.0)


SIZES = [
    a_number_by_its_type,
    another_program_at_numbers,
    compared_with_a_real_number,
    compared_with_a_number_of_numpy,
    one_of_an_array,
    in_a_dictionary_of_the_library,
    an_attribute_of_numbers,
    size_as_text,
    shape_as_text,
    size_by_type,
    size_tried,
    order_tried,
    size_in_a_range,
    product_of_sizes,
    bytes_of_the_array,
    a_large_size,
    a_square_of_a_size,
    a_remainder,
    as_an_array,
]
