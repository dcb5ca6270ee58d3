"""Sparse arrays: which entries they hold is given by integers, how many by a size.

Arrays in row-major order also hold where each row starts. At integers that are no starts of rows JAX computes anything,
NaN too, and a domain cannot express yet which integers are: so the starts are constants here, with one empty row.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.experimental import sparse

from .._configuration import Configuration, configurations, forms

HELD = "k, k 2:int"
"""The entries of a matrix in coordinate form: values, and their rows and columns."""


STARTS = np.array([0, 2, 2, 5])


def _rows(data: Any, columns: Any, form: Any = sparse.CSR) -> Any:
    return form((data, columns, STARTS), shape=(3, 4))


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
    *configurations("todense", lambda d, i: sparse.todense(_matrix(d, i)), HELD, domain="i >= 0"),
    *configurations(
        "bcoo_sort_indices",
        lambda d, i: sparse.bcoo_sort_indices(_matrix(d, i)).todense(),
        "3, 3 2:int",
        domain="i >= 0",
    ),
    *configurations("bcsr_todense", lambda d, i: _rows(d, i, sparse.BCSR).todense(), "5, 5:int"),
    *configurations("bcsr_extract", lambda i, a: sparse.bcsr.bcsr_extract(i, STARTS, a), "5:int, 3 4"),
    *configurations("csr_todense", lambda d, i: _rows(d, i).todense(), "5, 5:int"),
    *configurations("csr_matvec", lambda d, i, v: _rows(d, i) @ v, "5, 5:int, 4"),
    *configurations("csr_matmat", lambda d, i, b: _rows(d, i) @ b, "5, 5:int, 4 n"),
    *configurations("coo_todense", lambda d, r, c: sparse.COO((d, r, c), shape=(4, 3)).todense(), "k, k:int, k:int"),
    *configurations("coo_matvec", lambda d, r, c, v: sparse.COO((d, r, c), shape=(4, 3)) @ v, "k, k:int, k:int, 3"),
    *configurations("coo_matmat", lambda d, r, c, b: sparse.COO((d, r, c), shape=(4, 3)) @ b, "k, k:int, k:int, 3 n"),
]
