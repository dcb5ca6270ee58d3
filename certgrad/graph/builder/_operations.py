"""The operations of the graph language: each with its meaning in JAX (an op of certgrad if there is one) and in numpy.

Called without its first argument, an operation is a layer: `softmax(x)` is a term, `softmax(axis=0)` and `linear(W, b)`
are layers.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from certgrad import ops
from certgrad.graph.builder import _numpy as own
from certgrad.graph.builder._term import Function, Operation, Term, apply, as_it_runs

Static = Any


def _pointwise(name: str, in_jax: Function, in_numpy: Function) -> Operation:
    return Operation(name, ("x",), in_jax, in_numpy)


# --- elementwise

abs = _pointwise("abs", ops.abs, np.abs)
sqrt = _pointwise("sqrt", ops.sqrt, own.sqrt)
inv = _pointwise("inv", ops.inv, np.reciprocal)
square = _pointwise("square", ops.square, np.square)
exp = _pointwise("exp", ops.exp, np.exp)
log = _pointwise("log", ops.log, np.log)
sin = _pointwise("sin", ops.sin, np.sin)
cos = _pointwise("cos", ops.cos, np.cos)
tanh = _pointwise("tanh", ops.tanh, np.tanh)
sigmoid = _pointwise("sigmoid", ops.sigmoid, own.sigmoid)
relu = _pointwise("relu", ops.relu, own.relu)
detach = _pointwise("detach", jax.lax.stop_gradient, np.asarray)
"""The value, without its derivative: a graph that uses it says that it is a surrogate."""
maximum = Operation("maximum", ("x", "y"), ops.max, np.maximum)
minimum = Operation("minimum", ("x", "y"), ops.min, np.minimum)
where = Operation("where", ("mask", "x", "y"), ops.where, np.where)

# --- sums and means

sum = Operation("sum", ("x",), ops.reduce_sum, np.sum)
"""`sum(x, axis=None, keepdims=False)`: over one axis, several or all."""
mean = Operation("mean", ("x",), ops.mean, np.mean)

# --- products

matmul = Operation("matmul", ("x", "y"), jnp.matmul, np.matmul)
linear = Operation("linear", ("x", "weight", "bias"), ops.linear, own.linear)
"""x Wᵀ + b over the last axis, with W (out, in), as Equinox and PyTorch have it."""


def _conv2d(x: Any, kernel: Any, stride: Static = 1, padding: Static = 0) -> Any:
    return ops.conv2d(x, kernel, stride=stride, padding=padding)


conv2d = Operation("conv2d", ("x", "kernel"), _conv2d, own.conv2d)
"""x (batch, channels, h, w) with a kernel (out, channels, kh, kw); stride and padding are integers."""

# --- pooling


def _max_pool2d(x: Any, window: Static, strides: Static = None, padding: Static = 0) -> Any:
    return ops.max_pool2d(x, window, strides=strides, padding=padding)


def _avg_pool2d(x: Any, window: Static, strides: Static = None, padding: Static = 0) -> Any:
    return ops.avg_pool2d(x, window, strides=strides, padding=padding)


max_pool2d = Operation("max_pool2d", ("x",), _max_pool2d, own.max_pool2d)
"""The greatest entry of each window of the last two axes: `max_pool2d(window=2, strides=2, padding=0)`."""
avg_pool2d = Operation("avg_pool2d", ("x",), _avg_pool2d, own.avg_pool2d)
"""The mean of each window of the last two axes; padding counts as 0."""

# --- softmax, normalization, losses

softmax = Operation("softmax", ("x",), ops.softmax, own.softmax)
log_softmax = Operation("log_softmax", ("x",), ops.log_softmax, own.log_softmax)
standardize = Operation("standardize", ("x",), ops.standardize, own.standardize)
"""(x − mean) / √(variance + ε) along one axis: layer normalization without scale and shift."""
layer_norm = Operation("layer_norm", ("x", "gamma", "beta"), ops.layer_norm, own.layer_norm)
mse = Operation("mse", ("x", "target"), ops.mse, own.mse)

# --- shapes

broadcast_to = Operation("broadcast_to", ("x",), jnp.broadcast_to, np.broadcast_to, shapes=("shape",))
"""`broadcast_to(b, shape="n d")`, by numpy's rules."""


def _reshape(x: Any, shape: tuple[Any, ...]) -> Any:
    if math.prod(shape) != x.size:  # JAX leaves it open where sizes are symbols
        raise ValueError(f"{x.size} entries are not those of the shape ({', '.join(map(str, shape))})")
    return jnp.reshape(x, shape)


reshape = Operation("reshape", ("x",), _reshape, np.reshape, shapes=("shape",))
"""`reshape(x, shape="n h*d")`, row by row."""
flatten = _pointwise("flatten", jnp.ravel, np.ravel)
permute = Operation("permute", ("x",), jnp.transpose, np.transpose)
"""`permute(x, axes=(1, 0, 2))`."""
swap_first_two = _pointwise("swap_first_two", lambda x: jnp.swapaxes(x, 0, 1), lambda x: np.swapaxes(x, 0, 1))
transpose_last_two = _pointwise("transpose_last_two", jnp.matrix_transpose, lambda x: np.swapaxes(x, -1, -2))

_CONCATENATE = Operation("concatenate", (), lambda *parts, axis: jnp.concatenate(parts, axis), own.concatenate)


def concatenate(*parts: Any, axis: int = 0) -> Term:
    """Return the parts joined along an axis."""
    return apply(_CONCATENATE, parts, {"axis": axis})


# --- random numbers: JAX's own, from a seed


def _uniform(seed: int, shape: Any) -> Any:
    return jax.random.uniform(jax.random.key(seed), shape)


def _bernoulli(seed: int, shape: Any, p: float) -> Any:
    return jax.random.bernoulli(jax.random.key(seed), p, shape)


_UNIFORM = Operation("uniform", (), _uniform, as_it_runs(_uniform), shapes=("shape",))
_BERNOULLI = Operation("bernoulli", (), _bernoulli, as_it_runs(_bernoulli), shapes=("shape",))


def uniform(shape: Any, *, seed: int) -> Term:
    """Return random numbers in [0, 1), the same for a seed and a shape: `uniform("n d", seed=0)`."""
    return apply(_UNIFORM, (), {"seed": seed, "shape": shape})


def bernoulli(shape: Any, *, seed: int, p: float = 0.5) -> Term:
    """Return a random mask, each entry true with probability p; the same for a seed and a shape."""
    return apply(_BERNOULLI, (), {"seed": seed, "shape": shape, "p": p})
