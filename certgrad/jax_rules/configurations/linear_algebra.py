"""Matrix equations and factorisations. A comparison of two sizes in JAX's rules is one configuration a case."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from .._configuration import Configuration, configurations

SIZES = {
    "left": {"fewer right-hand sides": "n+m n+m, n+m m", "as many": "n n, n n", "more": "n n, n n+m"},
    "right": {"fewer right-hand sides": "n+m n+m, m n+m", "as many": "n n, n n", "more": "n n, n+m n"},
}
FLAG = [False, True]


def _triangular(left: bool) -> Any:
    return lambda a, b, lower, transpose_a, unit_diagonal: lax.linalg.triangular_solve(
        a, b, left_side=left, lower=lower, transpose_a=transpose_a, unit_diagonal=unit_diagonal
    )


LINEAR_ALGEBRA: list[Configuration] = [
    *(
        c
        for side, sizes in SIZES.items()
        for form, signature in sizes.items()
        for c in configurations(
            "triangular_solve",
            _triangular(side == "left"),
            signature,
            form=f"from the {side}, {form}",
            lower=FLAG,
            transpose_a=FLAG,
            unit_diagonal=FLAG,
        )
    ),
    *configurations("cholesky", lambda a: lax.linalg.cholesky(a), "n n"),
    *configurations(
        "cholesky", lambda a: lax.linalg.cholesky(a, symmetrize_input=False), "n n", form="symmetrize_input=False"
    ),
    *configurations("custom_linear_solve", lambda a, b: jnp.linalg.solve(a, b), "n n, n m", form="jnp.linalg.solve"),
    *configurations("custom_linear_solve", lambda a, b: jnp.linalg.solve(a, b), "n n, n", form="of a vector"),
    *configurations("lu", lambda a: lax.linalg.lu(a)[0], "n n"),
    *configurations("qr", lambda a: lax.linalg.qr(a, full_matrices=False)[1], "n+m m"),
    *configurations("svd", lambda a: lax.linalg.svd(a, compute_uv=False), "n+m m"),
    *configurations("eigh", lambda a: lax.linalg.eigh(a)[1], "n n"),
    *configurations("eig", lambda a: jnp.linalg.eigvals(a).real, "n n"),
    *configurations(
        "tridiagonal_solve", lambda low, mid, high, b: lax.linalg.tridiagonal_solve(low, mid, high, b), "n, n, n, n m"
    ),
]
