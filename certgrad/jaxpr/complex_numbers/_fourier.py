"""Discrete Fourier transforms, as JAX's `fft` primitive has them, as sums over roots of unity.

X[k] = Σ_j x[j]·exp(−2πi·j·k/n). The inverse has the other sign in the exponent, and 1/n before the sum. A transform of
real numbers (RFFT) returns only the k ≤ n/2, and its inverse (IRFFT) takes these as one half of a Hermitian array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.lax import FftType

from ._pi import pi

Parts = tuple[Any, Any]


def transform(re: Any, im: Any, kind: FftType, lengths: Sequence[Any]) -> Parts:
    """Return real and imaginary part of a transform over the last axes.

    `lengths` are the lengths of these axes, for IRFFT those of the result.
    """
    rank = len(re.shape)
    axes = range(rank - len(lengths), rank)
    inverse = kind in (FftType.IFFT, FftType.IRFFT)
    parts = (re, im)
    if kind == FftType.RFFT:
        parts = _dft_along_axis(parts, rank - 1, lengths[-1], inverse, half=True)
    for axis, n in zip(axes, lengths, strict=True):
        if axis < rank - 1 or kind in (FftType.FFT, FftType.IFFT):
            parts = _dft_along_axis(parts, axis, n, inverse)
    return _from_half(parts, rank - 1, lengths[-1]) if kind == FftType.IRFFT else parts


def _angles(rows: Any, columns: Any, n: Any, dtype: Any) -> Any:
    """Return the matrix 2π·j·k/n for j < rows and k < columns."""
    j, k = lax.iota(dtype, rows), lax.iota(dtype, columns)
    return 2 * pi(dtype) * j[:, None] * k[None, :] / n


def _times(x: Any, matrix: Any, axis: int) -> Any:
    """Return Σ_j x[…, j, …]·matrix[j, k], where j runs along an axis of x and k along that axis of the result."""
    return jnp.moveaxis(jnp.matmul(jnp.moveaxis(x, axis, -1), matrix, precision=lax.Precision.HIGHEST), -1, axis)


def _dft_along_axis(parts: Parts, axis: int, n: Any, inverse: bool, half: bool = False) -> Parts:
    """Return the transform, or its inverse, along one axis of length n; with `half`, only at k ≤ n/2."""
    re, im = parts
    angles = _angles(n, n // 2 + 1 if half else n, n, re.dtype)
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    if inverse:
        sin = -sin
    out = (_times(re, cos, axis) + _times(im, sin, axis), _times(im, cos, axis) - _times(re, sin, axis))
    return (out[0] / n, out[1] / n) if inverse else out


def _from_half(parts: Parts, axis: int, n: Any) -> Parts:
    """Return the inverse transform of X, given at k ≤ n/2: Σ_k w[k]·Re(X[k]·exp(2πi·j·k/n))/n.

    The weight w[k] is 2 where k stands for n − k too, and 1 where these are the same place: k = 0 and k = n/2.
    """
    re, im = parts
    m = re.shape[axis]
    angles = _angles(m, n, n, re.dtype)
    k = lax.iota(np.int32, m)
    weight = jnp.where((k == 0) | (2 * k == n), 1, 2).astype(re.dtype)[:, None]
    out = _times(re, weight * jnp.cos(angles), axis) - _times(im, weight * jnp.sin(angles), axis)
    return out / n, jnp.zeros_like(out)
