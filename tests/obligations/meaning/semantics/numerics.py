"""A program's terms, evaluated at concrete sizes and entries, beside what JAX computes in double precision."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, fmpq

from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import NEG, POS, ZERO
from certgrad.obligations.assume.tensor import Tensor, argument
from certgrad.obligations.decide.evaluate import evaluate
from certgrad.obligations.differentiate.derivative import Differentiator
from certgrad.obligations.meaning.semantics import Context, interpret
from certgrad.obligations.prove.satisfiable import _relation_holds
from certgrad.obligations.terms.functions import UndecidedError
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.session import clear_caches
from certgrad.obligations.terms.variables import template
from certgrad.obligations.tracing.jax_internals import primitives_of, shape_polys, symbols, trace, wide_floats
from tests.obligations.meaning.semantics.example import DTYPES, Example

Entries = dict[tuple[str, tuple[int, ...]], fmpq]
TOLERANCE = 1e-9


@dataclass
class Meaning:
    """What an example's program means: its outputs as tensors of terms."""

    example: Example
    outputs: list[Tensor]
    run: Callable[..., Any]


def traced(example: Example, parameters: Mapping[str, Any], sizes: Mapping[str, int] | None = None) -> Any:
    """The program at symbolic dimensions, or at sizes."""
    dims: Mapping[str, Any] = symbols(example.dims) if sizes is None else sizes
    with wide_floats():
        specs = [jax.ShapeDtypeStruct(a.shape(dims), DTYPES[a.kind]) for a in example.arguments]
        return trace(lambda *xs: example.program(*xs, **parameters), specs), specs


def run_by(example: Example, parameters: Mapping[str, Any], specs: Sequence[Any]) -> set[str]:
    """The primitives of the program as JAX has it, before complex numbers are read as pairs."""
    with wide_floats():
        program = jax.make_jaxpr(lambda *xs: example.program(*xs, **parameters))(*specs)
    return primitives_of(program.jaxpr)


def interpreted(example: Example, program: Any, specs: Sequence[Any]) -> list[Tensor]:
    """The program's outputs as terms. Raises UnprovedError where the calculus declines."""
    inputs = [argument(a.name, shape_polys(s), a.kind) for a, s in zip(example.arguments, specs, strict=True)]
    out = interpret(Context(Facts()), program, inputs, [True] * len(program.jaxpr.outvars))
    return [t for t in out if t is not None]


def meaning(example: Example, parameters: Mapping[str, Any]) -> Meaning:
    """The program as terms, for all sizes."""
    clear_caches()
    program, specs = traced(example, parameters)
    return Meaning(example, interpreted(example, program, specs), lambda *xs: example.program(*xs, **parameters))


@dataclass
class Point:
    """Concrete sizes, entries and tangents."""

    example: Example
    sizes: dict[str, int]
    entries: Entries

    def value(self, tensor: str, index: tuple[int, ...]) -> fmpq:
        """An entry. One that is out of range stands in terms that cancel."""
        return self.entries.get((tensor, index), fmpq(5, 3))

    def arrays(self, kind: str = "", prefix: str = "") -> list[Any]:
        """The arguments (of one kind) as arrays of doubles, integers and booleans."""
        out = []
        for a in self.example.arguments:
            if kind and a.kind != kind:
                continue
            x = np.zeros(a.shape(self.sizes), DTYPES[a.kind])
            for index in np.ndindex(*x.shape):
                x[index] = float(Fraction(str(self.entries[prefix + a.name, index])))
            out.append(x)
        return out


def compare_values(meaning: Meaning, point: Point) -> int:
    """Check every entry of every output; how many were compared."""
    with jax.enable_x64(True), np.errstate(all="ignore"):
        found = jax.tree_util.tree_leaves(meaning.run(*map(jnp.asarray, point.arrays())))
    count = 0
    for tensor, numbers in zip(meaning.outputs, found, strict=True):
        array = np.asarray(numbers)
        assert [evaluate(n, point.sizes, point.value) for n in tensor.shape] == list(array.shape)
        for index in np.ndindex(*array.shape):
            count += _same_entry(tensor, index, float(array[index]), point)
    return count


def _same_entry(tensor: Tensor, index: tuple[int, ...], number: float, point: Point) -> bool:
    env = {template(k): i for k, i in enumerate(index)}
    defined = all(holds(c, point, env) for c in tensor.defined)
    if not np.isfinite(number):
        assert not defined, (tensor.body, index, "JAX gives no number where the term counts as defined")
        return True
    if not defined:
        return False  # JAX may return a number where the calculus claims nothing
    exact = known(tensor.body, point, env)
    if exact is None:
        return False
    assert close(exact, number), (tensor.body, index, exact, number)
    sign = POS if exact > 0 else NEG if exact < 0 else ZERO
    assert tensor.signs & sign, (tensor.body, tensor.signs, exact)
    return True


def close(exact: arb, number: float) -> bool:
    """Equal up to the rounding of doubles."""
    value = float(exact.mid())
    return bool(np.isfinite(value)) and abs(value - number) <= TOLERANCE * max(1.0, abs(number))


def known(poly: Poly, point: Point, env: dict) -> arb | None:
    """The term's value, where the precision decides it: not at an inexact boundary, such as ⌊9/4·(9/4)⁻¹⌋."""
    try:
        exact = evaluate(poly, point.sizes, point.value, env)
    except UndecidedError:
        return None
    return exact if exact.rad() < 1e-10 * (1 + abs(exact.mid())) else None


def compare_derivatives(meaning: Meaning, point: Point) -> int:
    """Check the derivative of every real output, wherever its conditions hold; how many entries were compared."""
    moving = [k for k, a in enumerate(meaning.example.arguments) if a.kind == "float"]
    given = [jnp.asarray(x) for x in point.arrays()] if moving else []
    outputs = [(k, t) for k, t in enumerate(meaning.outputs) if t.kind == "f"]
    if not moving or not outputs:
        return 0

    def of_reals(*xs: Any) -> list[Any]:
        every = list(given)
        for k, x in zip(moving, xs, strict=True):
            every[k] = x
        return [y for y in jax.tree_util.tree_leaves(meaning.run(*every)) if y.dtype.kind == "f"]

    with jax.enable_x64(True), np.errstate(all="ignore"):
        given = [jnp.asarray(x) for x in point.arrays()]
        directions = [jnp.asarray(x) for x in point.arrays("float", "d")]
        _, tangents = jax.jvp(of_reals, tuple(given[k] for k in moving), tuple(directions))
    names = [meaning.example.arguments[k].name for k in moving]
    count = 0
    for (_, tensor), numbers in zip(outputs, tangents, strict=True):
        differentiate = Differentiator({n: f"d{n}" for n in names})
        slope = differentiate(tensor.body)
        if differentiate.arbitrary:
            continue  # the tangent of a maximum is known at its uses alone
        array = np.asarray(numbers)
        for index in np.ndindex(*array.shape):
            count += _same_slope(tensor, slope, index, float(array[index]), point)
    return count


def _same_slope(tensor: Tensor, slope: Poly, index: tuple[int, ...], number: float, point: Point) -> bool:
    env = {template(k): i for k, i in enumerate(index)}
    if not all(holds(c, point, env) for c in (*tensor.defined, *tensor.smooth)) or not np.isfinite(number):
        return False
    exact = known(slope, point, env)
    if exact is None:
        return False
    assert close(exact, number), (slope, index, exact, number)
    return True


def holds(clause: Any, point: Point, env: dict) -> bool:
    """The clause at these indices, for all values of its other variables."""
    others = sorted(clause.free - env.keys())
    for choice in itertools.product(range(max(point.sizes.values(), default=1)), repeat=len(others)):
        here = {**env, **dict(zip(others, choice, strict=True))}
        try:
            if any((evaluate(g, point.sizes, point.value, here) == 1) != wanted for g, wanted in clause.guards):
                continue
            if not any(
                _relation_holds(a, evaluate(a.poly, point.sizes, point.value, here)) for a in clause.alternatives
            ):
                return False
        except (KeyError, ZeroDivisionError, ValueError):
            continue
        except UndecidedError:
            return False
    return True
