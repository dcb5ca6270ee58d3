"""Each row of PyTorch's table: what the emitted code computes is what JAX computes."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from certgrad.exports._flat import flatten
from certgrad.exports._torch._code import Code
from certgrad.exports._torch._export import assembled
from certgrad.exports._torch._table import TABLE
from certgrad.obligations.tracing.jax_internals import program_of

from .cases import CASES, POSITIVE, UNIT, UNREACHED, X, Y, gradient

torch = pytest.importorskip("torch")
SQUARE = np.asarray(X @ X.T + 3 * np.eye(3), np.float32)
MORE: dict[str, Any] = {
    "atan2": [(lax.atan2, (X, Y))],
    "bessel_i0e": [(lax.bessel_i0e, (X,))],
    "bessel_i1e": [(lax.bessel_i1e, (X,))],
    "cholesky": [(jnp.linalg.cholesky, (SQUARE,))],
    "cumlogsumexp": [(lambda x: lax.cumlogsumexp(x, 1, reverse=True), (X,))],
    "cummax": [(lambda x: lax.cummax(x, 0), (X,))],
    "cummin": [(lambda x: lax.cummin(x, 1, reverse=True), (X,))],
    "cumprod": [(lambda x: jnp.cumprod(x, 0), (X,))],
    "digamma": [(lax.digamma, (POSITIVE,))],
    "erf_inv": [(lax.erf_inv, (UNIT,))],
    "igamma": [(lax.igamma, (POSITIVE, abs(Y)))],
    "igammac": [(lax.igammac, (POSITIVE, abs(Y)))],
    "lgamma": [(lax.lgamma, (POSITIVE,))],
    "sort": [(lambda x: lax.sort((jnp.round(x), x), num_keys=2), (X,))],
    "scatter": [(lambda x, i: x.at[i].set(-1.0), (X, np.array([2, -1, 9], np.int32)))],
    "triangular_solve": [
        (lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True), (SQUARE, Y)),
        (lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True, trans=1), (SQUARE, Y)),
        gradient(lambda a, b: jax.scipy.linalg.solve_triangular(a, b), SQUARE, Y),
    ],
}
ALL = {name: [*CASES.get(name, []), *MORE.get(name, [])] for name in dict.fromkeys([*CASES, *MORE])}


def outcomes(fn: Any, args: Any) -> tuple[list[Any], list[Any], set[str]]:
    closed = jax.make_jaxpr(fn)(*args)
    flat = flatten(program_of(closed))
    names = [f"x{k}" for k in range(len(flat.inputs))]
    code = Code(TABLE, lambda step: "here", {})
    code.names.update((id(v), n) for v, n in zip(flat.inputs, names, strict=True))
    code.lines.append(f"def run(device, {', '.join(names)}):")
    code.line(f"return [{', '.join(code.write(flat))}]")
    scope: dict[str, Any] = {}
    exec(assembled(code), scope)
    found = scope["run"](torch.device("cpu"), *(torch.tensor(x) for x in args))
    return [np.asarray(x) for x in found], jax.tree.leaves(jax.jit(fn)(*args)), {s.primitive for s in flat.steps}


@pytest.mark.parametrize("name", ALL)
def test_torch_computes_what_jax_computes(name: str) -> None:
    for k, (fn, args) in enumerate(ALL[name]):
        found, expected, primitives = outcomes(fn, args)
        assert name in primitives, (k, primitives)
        for x, y in zip(found, expected, strict=True):
            assert x.dtype == y.dtype, k
            np.testing.assert_allclose(x, y, rtol=5e-5, atol=2e-5, err_msg=f"case {k}")


def test_every_row_has_a_case() -> None:
    assert set(TABLE) - UNREACHED - set(ALL) == set()
    assert set(ALL) - set(TABLE) == set()
