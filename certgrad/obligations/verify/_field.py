"""Rational programs in a prime field: an identity that fails over it fails at almost every point (Schwartz-Zippel).

Both sides of a claim are rational functions of the inputs, tangents and cotangents. If their difference is not 0 modulo
the prime, its numerator has a degree, and vanishes at a uniformly drawn point with probability at most degree / prime.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
from flint import fmpq

from certgrad.obligations.balls import _jaxpr
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._errors import BallError
from certgrad.obligations.balls._scalars import ZERO
from certgrad.obligations.balls._values import Array, is_float
from certgrad.obligations.verify._agreement import CLAIMS, At, Disagreement
from certgrad.obligations.verify._points import Point, Space
from certgrad.obligations.verify._programs import Programs

PRIME = 2**127 - 1
_EXACT = 64
"""Residues are exact: any precision will do."""

RATIONAL = frozenset(
    "add add_any sub mul neg div square integer_pow one_minus_square dot_general conv_general_dilated reduce_sum "
    "reduce_prod cumsum cumprod reduce_window_sum broadcast_in_dim reshape squeeze expand_dims transpose rev tile "
    "slice split concatenate pad gather scatter-add dynamic_slice dynamic_update_slice copy iota stop_gradient jit "
    "pjit closed_call custom_jvp_call custom_vjp_call remat checkpoint convert_element_type select_n zeros_like "
    "triangular_solve scan".split()
)
"""Primitives that compute rational functions, and take no decision on floats."""


class Residue(s.Foreign):
    """A residue modulo the prime, with bounds on the degrees of the numerator and denominator it stands for."""

    __slots__ = ("bottom", "top", "value")

    def __init__(self, value: int, top: int = 0, bottom: int = 0) -> None:
        self.value, self.top, self.bottom = value % PRIME, top, bottom

    def embed(self, q: fmpq) -> Residue:
        return Residue(int(q.p) * pow(int(q.q), -1, PRIME))

    def __add__(self, other: Residue) -> Residue:
        top = max(self.top + other.bottom, other.top + self.bottom)
        return Residue(self.value + other.value, top, self.bottom + other.bottom)

    def __mul__(self, other: Residue) -> Residue:
        return Residue(self.value * other.value, self.top + other.top, self.bottom + other.bottom)

    def __truediv__(self, other: Residue) -> Any:
        if other.value == 0:
            return s.UNKNOWN
        inverse = pow(other.value, -1, PRIME)
        return Residue(self.value * inverse, self.top + other.bottom, self.bottom + other.top)

    def __neg__(self) -> Residue:
        return Residue(-self.value, self.top, self.bottom)


def rational(program: Any) -> bool:
    """Whether every equation, nested ones included, computes rational functions."""
    inner, _ = _jaxpr.parts(program)
    return all(_rational(eqn) for eqn in inner.eqns)


def _rational(eqn: Any) -> bool:
    floats = [is_float(v.aval.dtype) for v in (*eqn.invars, *eqn.outvars) if hasattr(v.aval, "dtype")]
    if not all(map(rational, _jaxpr.programs_in(eqn))):
        return False
    if not any(floats):
        return True
    if eqn.primitive.name == "convert_element_type" and not is_float(eqn.outvars[0].aval.dtype):
        return False
    return eqn.primitive.name in RATIONAL


def field_check(programs: Programs, space: Space, moving: Sequence[int], rng: Random, point: Point) -> int | None:
    """All claims at one uniform point of the prime field; the bound on the degree, or None if undefined there.

    `point` gives the integer and boolean arguments.

    Raises:
        Disagreement: the two sides of a claim differ.
    """

    def residues(shape: tuple[int, ...]) -> Array:
        out = np.empty(shape, dtype=object)
        for at in np.ndindex(shape):
            out[at] = Residue(rng.randrange(PRIME), top=1)
        return out

    inputs = [residues(x.shape) if kind == "float" else x for x, kind in zip(point.inputs, space.kinds, strict=True)]
    tangents, seeds = [residues(x.shape) for x in point.tangents], [residues(x.shape) for x in point.seeds]
    at = At(programs, Point(inputs, tangents, seeds), moving, _EXACT, {})
    try:
        pairs = _sides(at)
    except BallError:
        return None
    degree = 0
    for claim, left, right in pairs:
        if not all(isinstance(x, Residue | fmpq) for x in (left, right)):
            return None
        gap = s.sub(left, right)
        if isinstance(gap, fmpq):
            gap = Residue(0).embed(gap)
        if gap.value:
            raise Disagreement(f"{claim}: the two sides differ modulo 2^127 - 1")
        degree = max(degree, gap.top)
    return degree


def _sides(at: At) -> list[tuple[str, Any, Any]]:
    derivative, adjoint, primal, plain = CLAIMS
    slopes = [np.where([d is None for d in t.flat], ZERO, t.ravel()).reshape(t.shape) for t in at.forward.tangents]
    moved = slopes if at.programs.jvp is None else at.jvp
    pairs = [(derivative, a, b) for x, y in zip(moved, slopes, strict=True) for a, b in _entries(x, y)]
    left, right = _dot(moved, at.point.seeds), _dot(at.vjp, at.point.tangents)
    pairs.append((adjoint, left, right))
    others = [(primal, at.primal)] if at.programs.primal is not None else []
    others += [(plain, at.reference)] if at.programs.reference is not None else []
    for claim, values in others:
        pairs += [(claim, a, b) for x, y in zip(values, at.forward.values, strict=True) for a, b in _entries(x, y)]
    return pairs


def _entries(x: Array, y: Array) -> zip[tuple[Any, Any]]:
    return zip(x.flat, y.flat, strict=True)


def _dot(left: Sequence[Array], right: Sequence[Array]) -> Any:
    total: Any = ZERO
    for x, y in zip(left, right, strict=True):
        for a, b in _entries(x, y):
            total = s.add(total, s.mul(a, b))
    return total
