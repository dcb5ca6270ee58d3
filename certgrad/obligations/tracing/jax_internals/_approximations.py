"""Functions that JAX computes by approximation, recognised by their programs, and what they approximate.

A function with a custom rule, or under `jit`, is a call with a program inside. The equations of other functions stand
in the program of the caller, one after the other (`inlined`).

The rules of such functions are the derivatives of the ideal functions, and not of what is computed. The two differ as
much as the approximation differs from the ideal function, which is by some rounding units.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, frexp, log10
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
from flint import arb
from jax import numpy as jnp
from jax._src.numpy import ufuncs as _ufuncs
from jax._src.scipy import special as _special

from certgrad import special
from certgrad.jaxpr.complex_numbers import pi
from certgrad.jaxpr.programs import is_literal
from certgrad.process.threads import Kept, precision

from ._programs import Program, inner_program, program_of
from ._text import serialised
from ._tracing import wide_floats


@dataclass(frozen=True)
class Approximation:
    """A function of JAX's, of arrays entry by entry, with the ideal function that it approximates."""

    name: str
    function: Callable[..., Any]
    """JAX's function, with its custom rule if it has one."""
    ideal: Callable[..., Any]
    """The ideal function, in primitives that the calculus knows; it returns a tuple if there are several outputs."""
    exact: Callable[..., Any]
    """The ideal function in ball arithmetic, by which the distance is measured."""
    text: str
    points: tuple[float, float, int]
    """Where the distance is measured, in each argument: the first point, the last, and how many."""
    arity: int = 1
    outputs: int = 1
    called: str = ""
    """JAX's name for the program of a call: only programs of this name are compared; any, where it is ""."""

    def program(self, aval: Any) -> Program:
        """Return the ideal function as a program of arrays of this type."""
        return _traced(self.ideal, self.arity, aval)

    def idealisation(self, dtype: Any) -> str:
        """Return the certificate's words for reading the function as the ideal one."""
        low, high, count = self.points
        return (
            f"{self.name} is read as {self.text}, which it approximates: at {count**self.arity} points "
            f"from {low:g} to {high:g} "
            f"the two differ by less than {_distance(self, np.dtype(dtype)):g} in "
            f"{np.dtype(dtype).name} (of their value, where that is above 1)"
        )


def _distance(one: Approximation, dtype: np.dtype) -> float:
    """Return the largest measured distance of an approximation from its ideal function, rounded up to a power of 10.

    It is relative where values are above 1, and measured once for each dtype.
    """
    key = one.name, dtype.name
    if key not in _distances.table:
        low, high, count = one.points
        with wide_floats(dtype == np.float64):
            axis = np.linspace(low, high, count, dtype=dtype)
            points = [np.ravel(x) for x in np.meshgrid(*[axis] * one.arity)]
            computed = [np.asarray(x) for x in jax.tree.leaves(one.function(*map(jnp.asarray, points)))]
        with precision(BITS):
            balls = [_several(one.exact(*(arb(float(v)) for v in point))) for point in zip(*points, strict=True)]
        values = zip(computed, zip(*balls, strict=True), strict=True)
        pairs = [(float(a), float(b.mid())) for xs, exact in values for a, b in zip(xs, exact, strict=True)]
        largest = max(abs(a - b) / max(abs(b), 1) for a, b in pairs)
        _distances.table[key] = 10.0 ** ceil(log10(largest)) if largest else 0.0
    return float(_distances.table[key])


def _several(values: Any) -> tuple[arb, ...]:
    return values if isinstance(values, tuple) else (values,)


BITS = 256
_distances = Kept()
_programs = Kept()


def _frexp(x: Any) -> Any:
    """Return JAX's `frexp` of an array: a function with a rule; from JAX 0.12 on a primitive declared by a class."""
    functions: Any = _ufuncs  # either name is unknown to the other version
    return functions._frexp(x) if hasattr(functions, "_frexp") else functions.Frexp(jax.typeof(x))(x)


def _mantissa_and_exponent(x: Any) -> tuple[Any, Any]:
    """Return mantissa and exponent of a nonzero number, exactly, as JAX's operations on a float's bits do."""
    exponent = jnp.floor(jnp.log(jnp.abs(x)) / jnp.log(jnp.asarray(2.0, x.dtype))) + 1
    return x * jnp.exp2(-exponent), exponent.astype(jnp.int32)


APPROXIMATIONS: Sequence[Approximation] = (
    Approximation(
        "log_ndtr",
        _special.log_ndtr,
        lambda x: jnp.log(jax.lax.erfc(-x / jnp.sqrt(jnp.asarray(2.0, x.dtype))) / 2),
        lambda x: ((-x / arb(2).sqrt()).erfc() / 2).log(),
        "log(erfc(−x/√2)/2)",
        (-40.0, 12.0, 105),
    ),
    Approximation(
        "dawsn",
        _special._dawsn,
        lambda x: jnp.sqrt(pi(x.dtype)) / 2 * jnp.exp(-x * x) * special.erfi(x),
        lambda x: arb.pi().sqrt() / 2 * (-x * x).exp() * x.erfi(),
        "√π/2·exp(−x²)·erfi(x)",
        (-20.0, 20.0, 82),
        called="_dawsn",
    ),
    Approximation(
        "erfcx",
        _special._erfcx,
        lambda x: jnp.exp(x * x) * jax.lax.erfc(x),
        lambda x: (x * x).exp() * x.erfc(),
        "exp(x²)·erfc(x)",
        (-5.0, 30.0, 106),
        called="_erfcx",
    ),
    Approximation("expi", _special.expi, special.expi, lambda x: x.ei(), "Ei(x)", (-20.0, 20.0, 82), called="expi"),
    Approximation(
        "sici",
        _special.sici,
        special.sici,
        lambda x: (x.si(), abs(x).ci()),
        "(Si(x), Ci(|x|))",
        (-30.0, 30.0, 122),
        outputs=2,
        called="sici",
    ),
    Approximation(
        "frexp",
        _frexp,
        _mantissa_and_exponent,
        lambda x: tuple(map(arb, frexp(float(x)))),
        "x·2^(−e) and e, the integer part of 1 + log₂|x|",
        (-20.0, 20.0, 82),
        outputs=2,
        called="_frexp" if hasattr(_ufuncs, "_frexp") else "Frexp",
    ),
)


def _log_beta(a: Any, b: Any) -> Any:
    """Return log B(a, b) for a, b > 0. Elsewhere the program is another function, and this one is undefined."""
    positive = 0 * (jnp.log(a) + jnp.log(b))
    return jax.lax.lgamma(a) + jax.lax.lgamma(b) - jax.lax.lgamma(a + b) + positive


INLINED: Sequence[Approximation] = (
    Approximation(
        "betaln",
        _special.betaln,
        _log_beta,
        lambda a, b: a.lgamma() + b.lgamma() - (a + b).lgamma(),
        "lgamma(a) + lgamma(b) − lgamma(a + b) for a, b > 0",
        (0.25, 30.25, 25),
        arity=2,
    ),
)
"""Approximations whose equations stand in the programs of their callers. They have no constant arrays, as a caller may
make these elsewhere."""


def approximation(program: Program, constants: Sequence[Any] = ()) -> Approximation | None:
    """Return the approximation whose program, as JAX makes it, is this one; None if there is none.

    JAX hands a program its tables as operands, before the others: `constants` are the values of the first operands.
    """
    program = _with_constants(program, constants)
    jaxpr = program.jaxpr
    aval = jaxpr.invars[0].aval if jaxpr.invars else None
    if aval is None or getattr(aval, "dtype", None) not in (np.float32, np.float64):
        return None
    name = getattr(getattr(jaxpr, "debug_info", None), "func_name", "")
    for candidate in APPROXIMATIONS:
        if (len(jaxpr.invars), len(jaxpr.outvars)) != (candidate.arity, candidate.outputs) or candidate.called not in (
            "",
            name,
        ):
            continue
        # At a scalar the program has the fewest equations, as nothing is broadcast: one trace for a first test.
        if len(jaxpr.eqns) < len(_program(candidate, aval.update(shape=())).jaxpr.eqns):
            continue
        expected = _program(candidate, aval)
        if len(jaxpr.eqns) == len(expected.jaxpr.eqns) and serialised(program) == serialised(expected):
            return candidate
    return None


def _program(one: Approximation, aval: Any) -> Program:
    """Return the program of an approximation, as JAX makes it for arrays of this type; it is kept."""
    key = one.name, str(aval)
    if key not in _programs.table:
        program = _traced(one.function, one.arity, aval)
        _programs.table[key] = program if one in INLINED else _called_program(program)
    return _programs.table[key]


def _called_program(program: Program) -> Program:
    """Return the program that the only equation of a program calls, with the constants among its operands put in."""
    (eqn,) = program.jaxpr.eqns
    values = dict(zip(program.jaxpr.constvars, program.consts, strict=True))
    constants = [values[v] for v in eqn.invars if not is_literal(v) and v in values]
    inner = inner_program(eqn)
    assert inner is not None  # it is called by name
    return _with_constants(inner, constants)


def _with_constants(program: Program, constants: Sequence[Any]) -> Program:
    """Return the program with these constants for its first operands."""
    if not constants:
        return program
    jaxpr, first = program.jaxpr, len(constants)
    changed = SimpleNamespace(
        invars=jaxpr.invars[first:],
        constvars=[*jaxpr.invars[:first], *jaxpr.constvars],
        eqns=jaxpr.eqns,
        outvars=jaxpr.outvars,
        debug_info=getattr(jaxpr, "debug_info", None),
    )
    return Program(changed, [*constants, *program.consts])


def _traced(function: Callable[..., Any], arity: int, aval: Any) -> Program:
    with wide_floats(aval.dtype == np.float64):
        return program_of(jax.make_jaxpr(function)(*[jax.ShapeDtypeStruct(aval.shape, aval.dtype)] * arity))


@dataclass(frozen=True)
class Inlined:
    """The equations of a program, from number `first` up to `last` (excluded), that compute the approximation `one`."""

    one: Approximation
    first: int
    last: int
    operands: tuple[Any, ...]
    out: Any


def inlined(program: Program) -> list[Inlined]:
    """Return the approximations whose equations stand in a program, in order."""
    blocks: list[Inlined] = []
    k, equations = 0, program.jaxpr.eqns
    while k < len(equations):
        block = next((b for candidate in INLINED if (b := _inlined_at(candidate, program, k)) is not None), None)
        blocks += [block] if block else []
        k = block.last if block else k + 1
    return blocks


def _inlined_at(one: Approximation, program: Program, k: int) -> Inlined | None:
    """Return the equations from number k on that compute the approximation `one`; None if they do not.

    They are compared with the approximation's own program: by the number and names of the primitives first, then as
    text. Values between the first and the last equation must not be used later, as they are gone in the ideal program.
    """
    equations = program.jaxpr.eqns
    operands = tuple(v for v in equations[k].invars if not is_literal(v))
    if equations[k].primitive.name not in _FIRST[one.name] or len(operands) != one.arity:
        return None
    aval = operands[0].aval
    if getattr(aval, "dtype", None) not in (np.float32, np.float64) or len({str(v.aval) for v in operands}) > 1:
        return None
    expected = _program(one, aval.update(weak_type=False))
    block = equations[k : k + len(expected.jaxpr.eqns)]
    if [e.primitive.name for e in block] != [e.primitive.name for e in expected.jaxpr.eqns]:
        return None
    results = {v for e in block for v in e.outvars}
    out = block[-1].outvars[0]
    # The ideal program has no values between the first equation and the last, so that nothing may read them.
    read_later = [v for e in equations[k + len(block) :] for v in e.invars] + list(program.jaxpr.outvars)
    if any(not is_literal(v) and v is not out and v in results for v in read_later):
        return None
    used = {v for e in block for v in e.invars if not is_literal(v)}
    constants = [(v, c) for v, c in zip(program.jaxpr.constvars, program.consts, strict=True) if v in used]
    block_program = SimpleNamespace(
        invars=list(operands), constvars=[v for v, _ in constants], eqns=block, outvars=[out]
    )
    if serialised(Program(block_program, [c for _, c in constants])) != serialised(expected):
        return None
    return Inlined(one, k, k + len(block), operands, out)


_FIRST = {"betaln": ("min", "le")}
"""By approximation, the primitive of its first equation, in one version of JAX or another. The operands there are all
arguments, once and in order."""


def with_ideals(program: Program, found: Sequence[Inlined]) -> Program:
    """Return the program with calls of the ideal functions in place of the equations that approximate them."""
    equations: list[Any] = []
    start = 0
    for block in found:
        call = _traced(jax.jit(block.one.ideal), block.one.arity, block.operands[0].aval).jaxpr.eqns[0]
        equations += program.jaxpr.eqns[start : block.first]
        equations.append(call.replace(invars=list(block.operands), outvars=[block.out]))
        start = block.last
    jaxpr = program.jaxpr
    changed = SimpleNamespace(
        invars=jaxpr.invars,
        constvars=jaxpr.constvars,
        eqns=[*equations, *jaxpr.eqns[start:]],
        outvars=jaxpr.outvars,
        effects=getattr(jaxpr, "effects", ()),
    )
    return Program(changed, program.consts, program.out_tree, program.decisions)
