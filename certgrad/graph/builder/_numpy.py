"""Operations on numpy's arrays, where numpy has no function of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

Array = np.ndarray[Any, Any]


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def sqrt(x: Array) -> Array:
    """Return the square root, and 0 for a negative number, as `certgrad.ops.sqrt` does."""
    return np.sqrt(np.maximum(x, 0))


def softmax(x: Array, axis: int = -1) -> Array:
    shifted = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return shifted / np.sum(shifted, axis=axis, keepdims=True)


def log_softmax(x: Array, axis: int = -1) -> Array:
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def standardize(x: Array, axis: int = -1, epsilon: float = 1e-5) -> Array:
    centred = x - np.mean(x, axis=axis, keepdims=True)
    return centred / np.sqrt(np.mean(centred**2, axis=axis, keepdims=True) + epsilon)


def layer_norm(x: Array, gamma: Array, beta: Array, eps: float = 1e-5) -> Array:
    return standardize(x, -1, eps) * gamma + beta


def linear(x: Array, weight: Array, bias: Array) -> Array:
    return x @ weight.T + bias


def mse(x: Array, target: Array) -> Array:
    return np.mean((x - target) ** 2)


def conv2d(x: Array, kernel: Array, stride: int = 1, padding: int = 0) -> Array:
    """Return the convolution of x (batch, channels, h, w) with kernel (out, channels, kh, kw)."""
    padded = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    windows = sliding_window_view(padded, kernel.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    return np.einsum("bchwij,ocij->bohw", windows, kernel)


def max_pool2d(x: Array, window: int, strides: int | None = None, padding: int = 0) -> Array:
    return np.max(_windows(x, window, strides, padding, -np.inf), axis=(-2, -1))


def avg_pool2d(x: Array, window: int, strides: int | None = None, padding: int = 0) -> Array:
    return np.mean(_windows(x, window, strides, padding, 0.0), axis=(-2, -1))


def _windows(x: Array, window: int, strides: int | None, padding: int, fill: float) -> Array:
    edges = [(0, 0)] * (x.ndim - 2) + [(padding, padding)] * 2
    padded = np.pad(x, edges, constant_values=fill)
    step = window if strides is None else strides
    return sliding_window_view(padded, (window, window), (-2, -1))[..., ::step, ::step, :, :]


def concatenate(*parts: Array, axis: int = 0) -> Array:
    return np.concatenate(parts, axis)
