"""Sparse arrays: which entries they hold is given by integers, how many by a size.

Those in row-major order hold where each row starts. At numbers that are no such starts JAX computes what comes of it,
NaN among others, and a domain cannot say yet which numbers are: they are not here.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax.experimental import sparse

from .._configuration import Configuration, configurations, forms

HELD = "k, k 2:int"
"""The entries of a matrix in coordinate form: values, and their rows and columns."""


def _matrix(data: Any, indices: Any, rows: int = 4, columns: int = 3) -> Any:
    return sparse.BCOO((data, indices), shape=(rows, columns))


def _extracted(i: Any, a: Any) -> Any:
    ones = jnp.ones_like(i[:, 0], dtype=a.dtype)
    return sparse.bcoo_extract(_matrix(ones, i), a, assume_unique=True).data


SPARSE: list[Configuration] = [
    *configurations("bcoo_todense", lambda d, i: _matrix(d, i).todense(), HELD, domain="i >= 0"),
    *configurations("bcoo_extract", _extracted, "k 2:int, 4 3", domain="i >= 0"),
    *configurations("bcoo_transpose", lambda d, i: _matrix(d, i).T.todense(), HELD, domain="i >= 0"),
    *forms(
        "bcoo_dot_general",
        ("by a vector", f"{HELD}, 3", lambda d, i, v: _matrix(d, i) @ v),
        ("by a matrix", f"{HELD}, 3 n", lambda d, i, b: _matrix(d, i) @ b),
        domain="i >= 0",
    ),
    *configurations(
        "bcoo_dot_general_sampled",
        lambda a, b, i: sparse.bcoo_dot_general_sampled(a, b, i, dimension_numbers=(((1,), (0,)), ((), ()))),
        "4 n, n 3, k 2:int",
        domain="i >= 0",
    ),
    *configurations("coo_todense", lambda d, r, c: sparse.COO((d, r, c), shape=(4, 3)).todense(), "k, k:int, k:int"),
    *configurations("coo_matvec", lambda d, r, c, v: sparse.COO((d, r, c), shape=(4, 3)) @ v, "k, k:int, k:int, 3"),
    *configurations("coo_matmat", lambda d, r, c, b: sparse.COO((d, r, c), shape=(4, 3)) @ b, "k, k:int, k:int, 3 n"),
]
