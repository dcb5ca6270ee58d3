"""JAX's own linear solvers, determinants and sign bit, recognised by their programs; solvers that users marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.numpy import linalg as _dense

from certgrad.jaxpr.programs import is_literal, jaxpr_of
from certgrad.obligations.terms.polynomials import Poly
from certgrad.process.threads import Kept

from ._programs import Program, program_of
from ._text import serialised
from ._tracing import wide_floats
from ._values import shape_polys

_UNWRAPPED = {f: getattr(f, "__wrapped__") for f in (_dense.slogdet, _dense.det)}  # noqa: B009 (without their `jit`)


_SLOGDETS: dict[str, Any] = {
    "slogdet": _UNWRAPPED[_dense.slogdet],
    "_slogdet_qr": partial(_UNWRAPPED[_dense.slogdet], method="qr"),
}
"""Each way in which JAX computes sign and log|det|. Its trace is one call of a custom rule, and nothing besides."""
_library_texts = Kept()


def is_slogdet(eqn: Any) -> bool:
    """Return whether an equation is JAX's `slogdet`: it calls the program that JAX makes of that.

    JAX computes it by elimination with pivots, or by a QR factorisation with reflections. Each reflection of LAPACK's
    (where τ ≠ 0) has determinant −1, so that the sign of det A is the product of these and of the signs on the diagonal
    of R.
    """
    if eqn.primitive.name != "custom_jvp_call" or not _of_a_matrix(eqn, 2):
        return False
    aval, closed = eqn.invars[0].aval, eqn.params["call_jaxpr"]
    return any(_is_library(name, function, aval, closed) for name, function in _SLOGDETS.items())


def is_det(eqn: Any) -> bool:
    """Return whether an equation is JAX's `det`: it calls the program that JAX makes of that."""
    if eqn.primitive.name != "jit" or not _of_a_matrix(eqn, 1):
        return False
    return _is_library("det", _UNWRAPPED[_dense.det], eqn.invars[0].aval, eqn.params["jaxpr"])


def _of_a_matrix(eqn: Any, outputs: int) -> bool:
    """Return whether an equation has one operand, of square matrices, and so many outputs, each a number a matrix."""
    if len(eqn.invars) != 1 or len(eqn.outvars) != outputs:
        return False
    aval = eqn.invars[0].aval
    shape: Any = getattr(aval, "shape", ())
    square = len(shape) >= 2 and shape[-1] == shape[-2] and aval.dtype in (np.float32, np.float64)
    return square and all(tuple(v.aval.shape) == tuple(shape[:-2]) for v in eqn.outvars)


def _is_library(name: str, function: Any, aval: Any, closed: Any) -> bool:
    """Return whether a program is JAX's trace of a library function, without its `jit` and, if one of `_SLOGDETS`, its
    only custom rule.
    """
    key = (name, str(aval))
    if key not in _library_texts.table:
        with wide_floats(aval.dtype == np.float64):
            traced: Any = jax.make_jaxpr(function)(jax.ShapeDtypeStruct(aval.shape, aval.dtype))
        equations = jaxpr_of(traced).eqns
        if name in _SLOGDETS:
            traced = equations[0].params["call_jaxpr"] if len(equations) == 1 else None
        _library_texts.table[key] = serialised(program_of(traced)) if traced is not None else ""
    return bool(_library_texts.table[key]) and serialised(program_of(closed)) == _library_texts.table[key]


@dataclass(frozen=True)
class MarkedSolver:
    """A call of a solver that a user marked by `certgrad.solves`, with the residual that is 0 at the solution.

    Of the operands the first `counts[0]` are the solver's alone, the next `counts[1]` the residual's alone, and all
    others both take. `shape` is that of the solution.
    """

    name: str
    solver: Program
    residual: Program
    counts: tuple[int, int]
    shape: tuple[Poly, ...]

    def of_solver(self, operands: Sequence[Any]) -> list[Any]:
        """Return the operands that the solver takes."""
        first, second = self.counts
        return [*operands[:first], *operands[first + second :]]

    def of_residual(self, operands: Sequence[Any], unknown: Any) -> list[Any]:
        """Return the operands of the residual: a value of the unknown, then those of the call that it takes."""
        return [unknown, *operands[self.counts[0] :]]


def marked_solver(eqn: Any) -> MarkedSolver:
    """Return a `certgrad_solution` equation as a `MarkedSolver`."""
    p = eqn.params
    shape = shape_polys(eqn.outvars[0].aval)
    return MarkedSolver(p["called"], program_of(p["solver"]), program_of(p["residual"]), p["counts"], shape)


_sign_bits = Kept()


def is_sign_bit(eqn: Any) -> bool:
    """Return whether an equation calls the program that JAX makes of `signbit`, on its first operand.

    Further operands, as the tangent where JAX differentiates the call, must not be used.
    """
    if eqn.primitive.name != "jit" or eqn.params.get("name") != "signbit" or not eqn.invars:
        return False
    aval = eqn.invars[0].aval
    if aval.dtype not in (np.float32, np.float64):
        return False
    key = str(aval)
    if key not in _sign_bits.table:
        with wide_floats(aval.dtype == np.float64):
            closed: Any = jax.make_jaxpr(jnp.signbit)(jax.ShapeDtypeStruct(aval.shape, aval.dtype))
        (call,) = closed.eqns
        _sign_bits.table[key] = serialised(program_of(call.params["jaxpr"]))
    program = program_of(eqn.params["jaxpr"])
    first, *further_inputs = program.jaxpr.invars
    jaxpr = SimpleNamespace(
        invars=[first], constvars=program.jaxpr.constvars, eqns=program.jaxpr.eqns, outvars=program.jaxpr.outvars
    )
    unused = not any(v in further_inputs for e in jaxpr.eqns for v in e.invars if not is_literal(v))
    return unused and serialised(Program(jaxpr, program.consts)) == _sign_bits.table[key]
