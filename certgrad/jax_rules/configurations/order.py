"""Sorting and selection by rank."""

from __future__ import annotations

from jax import lax

from .._configuration import Configuration, configurations

ORDER: list[Configuration] = [
    *configurations("sort", lambda x, axis: lax.sort(x, dimension=axis), "n m", axis=[0, 1], kinks=[([[1.0], [1.0]],)]),
    *configurations("sort", lambda x, y: lax.sort((x, y), dimension=0, num_keys=1), "n, n", form="a second operand"),
    *configurations(
        "sort", lambda x, y, z: lax.sort((x, y, z), dimension=1, num_keys=2), "n m, n m, n m", form="two keys"
    ),
    *configurations("top_k", lambda x, k: lax.top_k(x, k)[0], "n m+3", k=[1, 2, 3]),
    *configurations("approx_top_k", lambda x: lax.approx_max_k(x, 1)[0], "n+1"),
]
