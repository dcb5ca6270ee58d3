"""Everything here that touches JAX's internals: tracing at symbolic dimensions, and reading jaxprs.

Supports jax 0.10 (ClosedJaxpr) and 0.11 (one Jaxpr class). The rest of the kernel sees only `Program`, `Equation` and
dimensions as polynomials.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import numpy as np
from jax import export
from jax._src.export import shape_poly as _shape_poly
from jax.extend import core as jex

from ._terms import ONE, ZERO, Poly, dimension, number

DimExpr: Any = _shape_poly._DimExpr
_JAX_FOLDER = os.path.dirname(jax.__file__)
CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "checkpoint": "jaxpr",
    "remat": "jaxpr",
    "remat2": "jaxpr",
    "custom_lin": "call_jaxpr",
}
"""Primitives that run an inner program on their operands, and the parameter that holds it."""


@dataclass
class Program:
    """A traced program: a jaxpr with its constants, and the decisions on dimensions that tracing took unproved."""

    jaxpr: Any
    consts: Sequence[Any]
    out_tree: Any = None
    decisions: tuple[tuple[Poly, bool], ...] = ()
    """Differences of dimensions that tracing took to be nonzero, so or not, and whether JAX's own code asked."""


@contextmanager
def recorded_decisions() -> Iterator[list[tuple[Any, Any, bool]]]:
    """Record each comparison of dimensions that JAX answers "different"; some of those answers are unproved.

    Only `==` answers without proof: JAX raises on an undecided order comparison or truth test. The third entry says
    whether JAX's own code asked.
    """
    record: list[tuple[Any, Any, bool]] = []
    original, hashed = DimExpr.__eq__, DimExpr.__hash__

    def eq(self: Any, other: Any) -> Any:
        answer = original(self, other)
        if answer is False and (isinstance(other, int) or (type(other) is DimExpr and other.scope is self.scope)):
            record.append((self, other, sys._getframe(1).f_code.co_filename.startswith(_JAX_FOLDER)))
        return answer

    try:
        DimExpr.__eq__, DimExpr.__hash__ = eq, hashed
        yield record
    finally:
        DimExpr.__eq__, DimExpr.__hash__ = original, hashed


def symbols(names: Sequence[str], constraints: Sequence[str] = ()) -> dict[str, Any]:
    """Dimension variables of one scope. A dimension is at least 1."""
    if not names:
        return {}
    return dict(zip(names, export.symbolic_shape(", ".join(names), constraints=constraints), strict=True))


@contextmanager
def wide_floats(on: bool = True) -> Iterator[None]:
    """Trace with 64-bit numbers, whatever the caller's configuration."""
    with jax.enable_x64(on):
        yield


def trace(fn: Callable, specs: Sequence[Any]) -> Program:
    """The jaxpr of `fn` at abstract arguments, without running it."""
    with recorded_decisions() as record:
        closed, out = jax.make_jaxpr(fn, return_shape=True)(*specs)
    tree = jax.tree_util.tree_structure(out)
    pairs = {(str(a), str(b), by_jax): (a, b) for a, b, by_jax in record}
    differences = {(dim_poly(a) - dim_poly(b), by_jax): None for (_, _, by_jax), (a, b) in pairs.items()}
    return Program(jaxpr_of(closed), closed.consts, tree, tuple(differences))


def jaxpr_of(closed: Any) -> Any:
    """The open jaxpr of a closed one (the same object where JAX has one class for both)."""
    return getattr(closed, "jaxpr", closed)


def inner_program(eqn: Any) -> Program | None:
    """The program that a call-like equation runs."""
    key = CALLS.get(eqn.primitive.name)
    if key is None or key not in eqn.params:
        return None
    closed = eqn.params[key]
    return Program(jaxpr_of(closed), getattr(closed, "consts", ()))


def is_literal(atom: Any) -> bool:
    return isinstance(atom, jex.Literal)


def is_dropped(var: Any) -> bool:
    return type(var).__name__ == "DropVar"


def live_equations(jaxpr: Any, needed: Sequence[bool]) -> list[tuple[Any, list[bool]]]:
    """The equations that the needed outputs depend on, in order, each with which of its outputs are needed."""
    wanted = {v for v, n in zip(jaxpr.outvars, needed, strict=True) if n and not is_literal(v)}
    kept: list[tuple[Any, list[bool]]] = []
    for eqn in reversed(jaxpr.eqns):
        use = [not is_dropped(v) and v in wanted for v in eqn.outvars]
        if not any(use):
            continue
        kept.append((eqn, use))
        inputs = list(eqn.invars)
        inner = inner_program(eqn)
        if inner is not None and len(inner.jaxpr.invars) == len(inputs):
            used = live_inputs(inner.jaxpr, use)
            inputs = [v for v, u in zip(inputs, used, strict=True) if u]
        wanted.update(v for v in inputs if not is_literal(v))
    return kept[::-1]


def live_inputs(jaxpr: Any, needed: Sequence[bool]) -> list[bool]:
    """Which inputs the needed outputs depend on."""
    used = {v for v, n in zip(jaxpr.outvars, needed, strict=True) if n and not is_literal(v)}
    for eqn, use in live_equations(jaxpr, needed):
        inputs = list(eqn.invars)
        inner = inner_program(eqn)
        if inner is not None and len(inner.jaxpr.invars) == len(inputs):
            inputs = [v for v, u in zip(inputs, live_inputs(inner.jaxpr, use), strict=True) if u]
        used.update(v for v in inputs if not is_literal(v))
    return [v in used for v in jaxpr.invars]


def dim_poly(dim: Any) -> Poly:
    """A dimension, symbolic or not, as a polynomial."""
    if not isinstance(dim, DimExpr):
        return number(int(dim))
    total = ZERO
    for term, count in dim._sorted_terms:
        product = ONE
        for factor, power in term._factors:
            if factor.var is not None:
                atom = dimension(factor.var)
            else:
                atom = dimension(str(factor), positive=_lower_bound(factor, dim) >= 1)
            product = product * atom**power
        total = total + product.scale(count)
    return total


def _lower_bound(factor: Any, dim: Any) -> float:
    expr = DimExpr._from_term(_shape_poly._DimTerm.from_factor(factor, 1), 1, dim.scope)
    return _shape_poly._bounds_decision(expr, _shape_poly.BoundsPrecision.BEST)[0]


def shape_polys(aval: Any) -> tuple[Poly, ...]:
    return tuple(dim_poly(d) for d in aval.shape)


def literal_value(value: Any) -> Fraction | None:
    """A number as it was meant: the shortest decimal that rounds to it. None for infinities and NaN."""
    array = np.asarray(value)
    if array.dtype.kind in "biu":
        return Fraction(int(array))
    if array.dtype.kind == "c":
        raise TypeError("complex")
    if not np.isfinite(array):
        return None
    text = repr(float(array)) if array.dtype == np.float64 else str(array[()])
    return Fraction(text)


def kind_of(dtype: Any) -> str:
    """`f`, `i`, `b`, `c` for float, integer, boolean, complex; `0` for JAX's float0; `k` for random keys."""
    if dtype == jax.dtypes.float0:
        return "0"
    if jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
        return "k"
    if jax.dtypes.issubdtype(dtype, np.floating):
        return "f"
    kind = np.dtype(dtype).kind
    return {"b": "b", "i": "i", "u": "i", "c": "c"}.get(kind, "f")


# --- serialisation: the identity of a program ----------------------------------------------------------------------


def serialised(program: Program, dims: Callable[[Any], str] = str, erase_dtypes: bool = False) -> str:
    """A canonical text of a program, nested programs and constants included; variables are numbered in order.

    `dims` renders dimensions. With `erase_dtypes`, dtypes and the digits of float literals are left out.
    """
    return Serialiser(dims, erase_dtypes).program(program)


class Serialiser:
    """Writes programs as text; subclasses choose how dimensions and parameters are written."""

    IGNORED = frozenset(
        "name sharding out_sharding weak_type inline keep_unused donated_invars ctx_mesh jvp_jaxpr_fun fwd bwd".split()
    )

    def __init__(self, dims: Callable[[Any], str], erase: bool) -> None:
        self.render, self.erase = dims, erase
        self.rendered: dict[int, tuple[Any, str]] = {}

    def dims(self, dim: Any) -> str:
        """One dimension as text (remembered by object: rendering symbolic ones is slow)."""
        found = self.rendered.get(id(dim))
        if found is None:
            found = self.rendered[id(dim)] = dim, self.render(dim)
        return found[1]

    def program(self, program: Program) -> str:
        names: dict[Any, str] = {}

        def name(v: Any) -> str:
            if is_literal(v):
                return f"lit({self.value(v.val)}:{self.aval(v.aval)})"
            return names.setdefault(v, f"v{len(names)}")

        jaxpr = program.jaxpr
        lines = ["in " + " ".join(f"{name(v)}:{self.aval(v.aval)}" for v in jaxpr.invars)]
        for v, c in zip(jaxpr.constvars, program.consts, strict=False):
            lines.append(f"const {name(v)}={self.value(c)}")
        for eqn in jaxpr.eqns:
            params = self.params(eqn)
            out = " ".join(f"{name(v)}:{self.aval(v.aval)}" for v in eqn.outvars)
            lines.append(f"{out} = {eqn.primitive.name}[{params}] {' '.join(name(v) for v in eqn.invars)}")
        lines.append("out " + " ".join(name(v) for v in jaxpr.outvars))
        return "\n".join(lines)

    def params(self, eqn: Any) -> str:
        return ",".join(f"{k}={self.param(v)}" for k, v in sorted(eqn.params.items()) if k not in self.IGNORED)

    def aval(self, aval: Any) -> str:
        shape = ",".join(self.dims(d) for d in getattr(aval, "shape", ()))
        dtype = getattr(aval, "dtype", "?")
        return f"{kind_of(dtype) if self.erase and dtype != '?' else dtype}[{shape}]"

    def value(self, value: Any) -> str:
        array = np.asarray(value) if not isinstance(value, np.ndarray) else value
        if self.erase and array.dtype.kind == "f":
            return f"float{array.shape}"
        if array.ndim == 0:
            return repr(array[()].item()) if array.dtype.kind in "biuf" else repr(value)
        return f"{array.dtype}{array.shape}{array.tobytes().hex()}"

    def param(self, value: Any) -> str:
        if isinstance(value, DimExpr) or (isinstance(value, int) and not isinstance(value, bool)):
            return self.dims(value)
        if hasattr(value, "eqns") or hasattr(value, "jaxpr"):
            return "{" + self.program(Program(jaxpr_of(value), getattr(value, "consts", ()))) + "}"
        if isinstance(value, (tuple, list)):
            return "(" + ",".join(self.param(v) for v in value) + ")"
        if isinstance(value, (np.dtype, type)) or hasattr(value, "itemsize"):
            try:
                return kind_of(np.dtype(value)) if self.erase else str(np.dtype(value))
            except TypeError:
                return str(value)
        if callable(value):
            return "callable"
        return str(value)


def versions() -> dict[str, str]:
    import flint
    import islpy
    import sympy

    return {
        "flint": flint.__version__,
        "isl": str(islpy.version.VERSION_TEXT),
        "jax": jax.__version__,
        "sympy": sympy.__version__,
    }

