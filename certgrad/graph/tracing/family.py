"""The family of shapes of an operation: its sizes made symbols, so that one lemma serves every node of the kind.

A family is proposed by the rules of `shape_rules` and checked here: with its symbols set to the node's sizes, its
operands' shapes, every parameter of every equation, and so the whole program, are the node's own. A node's lemma is
then an instance of the family's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from certgrad.graph.tracing import jaxpr
from certgrad.graph.tracing.axes import Axis, NoFamilyError, Shape, Sizes
from certgrad.graph.tracing.jaxpr import Equation
from certgrad.graph.tracing.shape_rules import Rule, rule_for, rules_for
from certgrad.jaxpr import kinds, programs
from certgrad.obligations.tracing.jax_internals import DimExpr, Program, inner_program, is_dropped, is_literal, symbols
from certgrad.signatures.sizes import Size

DIMS = ("n", "m", "k", "l", "p", "q")


def symbol(k: int) -> str:
    """Return the name of a lemma's dimension by its number: `n`, `m`, …, then `n6`."""
    return DIMS[k] if k < len(DIMS) else f"n{k}"


@dataclass(frozen=True)
class Bound:
    """An equation of a program with the parameters that it has in a family, in which sizes are the family's symbols."""

    eqn: Any
    params: dict[str, Any]
    inner: tuple[Bound, ...] | None = None
    """The equations of the program that it calls; None for an equation that calls none."""


@dataclass(frozen=True, eq=False)
class Family:
    """An operation over symbolic sizes, with the value of each size at the node that it was made for."""

    equation: Equation
    bound: Bound
    shapes: tuple[tuple[Any, ...], ...]
    sizes: dict[str, Any]

    def run(self, *args: Any) -> list[Any]:
        """Return the operation's outputs at its distinct operands, whose shapes are the family's."""
        return _run(self.bound, _operands(self.equation, args))

    @property
    def possibly_empty(self) -> tuple[str, ...]:
        """The node's sizes that can be 0, such as `n - 1`."""
        return tuple(dict.fromkeys(str(size) for size in self.sizes.values() if not jaxpr.is_positive(size)))

    @property
    def key(self) -> Any:
        """Return the shapes and parameters: equal for nodes of one family alone."""
        return structure(self.shapes), _key(self.bound)

    def at(self, fixed: Mapping[str, Size]) -> Family:
        """Return the family with some sizes set to numbers, to each other or to expressions."""
        table = jaxpr.dimension_table(list(self.sizes), fixed)
        shapes = tuple(tuple(jaxpr.replaced(d, table) for d in s) for s in self.shapes)
        left = {d: v for d, v in self.sizes.items() if d not in fixed}
        return Family(self.equation, _replaced(self.bound, table), shapes, left)


def families_of(equation: Equation) -> list[Family]:
    """Return the families of an operation that its primitives' rules propose and that are checked, the widest first.

    A lemma speaks of sizes of at least 1, so that a node with an empty axis has no family. For a call that is inlined,
    the rules of the equations inside propose one family together.
    """
    rules: list[Rule | None] = [*rules_for(equation.name)]
    if equation.name in kinds.INLINES:
        rules = [None]
    families = []
    for rule in rules:
        try:
            family = _proposed(equation, rule)
        except (NoFamilyError, TypeError, KeyError, ValueError, IndexError, StopIteration):
            continue
        if family.sizes and 0 not in family.sizes.values() and _is_instance(family):
            families.append(family)
    return families


def _proposed(equation: Equation, rule: Rule | None) -> Family:
    """Return the family that a rule proposes, unchecked; with None, the rule of each primitive. Raises NoFamilyError.

    First the rule ties axes together; then every axis left free gets a symbol, and parameters are made of the symbols.
    """
    variables = [[Axis(d) for d in v.aval.shape] for v in equation.variables]
    by_variable = dict(zip(equation.variables, variables, strict=True))
    operands = [[] if is_literal(v) else by_variable[v] for v in equation.eqn.invars]
    outs, settle = _equation(equation.eqn, operands, rule)
    sizes = Sizes(symbol, symbols)
    chosen = sizes.settle([*variables, *outs])
    return Family(equation, settle(sizes), tuple(sizes.shape(s) for s in variables), chosen)


def _equation(eqn: Any, operands: list[Shape], rule: Rule | None) -> tuple[list[Shape], Callable[[Sizes], Bound]]:
    """Return the results' axes, and a function from the chosen sizes to the equation with its parameters."""
    inner = inner_program(eqn) if eqn.primitive.name in kinds.INLINES else None
    if inner is not None:
        outs, settled = _program(inner, operands)
        return outs, lambda sizes: Bound(eqn, {}, tuple(settle(sizes) for settle in settled))
    results = [tuple(v.aval.shape) for v in eqn.outvars]
    outs, params = (rule or rule_for(eqn.primitive.name))(eqn.params, operands, results)
    return outs, lambda sizes: Bound(eqn, params(sizes))


def _program(program: Program, operands: list[Shape]) -> tuple[list[Shape], list[Callable[[Sizes], Bound]]]:
    """Return the outputs' axes of an inlined program, and for each equation what makes its `Bound`."""
    settled = []

    def rule(eqn: Any, shapes: list[Shape]) -> list[Shape]:
        outs, settle = _equation(eqn, shapes, None)
        settled.append(settle)
        return outs

    return programs.results(program, operands, rule, lambda value, aval: list(map(_fixed, aval.shape))), settled


def _fixed(size: Any) -> Axis:
    axis = Axis(size)
    axis.fix()
    return axis


def _is_instance(family: Family) -> bool:
    """Return whether the family's operation, its symbols set to the node's sizes, is the node's own."""
    shapes = [tuple(jaxpr.replaced(d, family.sizes) for d in s) for s in family.shapes]
    own_shapes = [tuple(v.aval.shape) for v in family.equation.variables]
    return shapes == own_shapes and _params_match(family.bound, family.sizes)


def _params_match(bound: Bound, sizes: Mapping[str, Any]) -> bool:
    """Return whether the parameters at these sizes are the equation's own, inside calls as well."""
    if bound.inner is not None:
        inner = inner_program(bound.eqn)
        return inner is not None and all(
            b.eqn is e and _params_match(b, sizes) for b, e in zip(bound.inner, inner.jaxpr.eqns, strict=True)
        )
    own_params = bound.eqn.params
    return bound.params.keys() == own_params.keys() and all(
        value is own_params[k] or jaxpr.replaced(value, sizes) == own_params[k] for k, value in bound.params.items()
    )


def _replaced(bound: Bound, table: Mapping[str, Any]) -> Bound:
    params = {k: jaxpr.replaced(v, table) for k, v in bound.params.items()}
    inner = bound.inner
    return Bound(bound.eqn, params, None if inner is None else tuple(_replaced(b, table) for b in inner))


def _key(bound: Bound) -> Any:
    """Return a key that is equal for equations which do the same over the same symbols."""
    if bound.inner is not None:
        inner = inner_program(bound.eqn)
        assert inner is not None
        return _wiring(inner), tuple(map(_key, bound.inner))
    dtypes = tuple(jaxpr.dtype_name(v.aval.dtype) for v in (*bound.eqn.invars, *bound.eqn.outvars))
    return bound.eqn.primitive.name, structure(bound.params), dtypes


def structure(value: Any, size: Callable[[Any], str] = str) -> Any:
    """Return a key of a parameter's value.

    A symbolic size counts by the text that `size` gives it, an array by its entries, and an object whose text names
    only its address by identity.
    """
    if is_symbolic(value):
        return "size", size(value)
    if isinstance(value, tuple | list):
        return type(value), tuple(structure(v, size) for v in value)
    if isinstance(value, dict):
        return tuple((k, structure(value[k], size)) for k in sorted(value))
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return jaxpr.bytes_of(value)
    text = str(value)
    return type(value), value if " at 0x" in text else text


def _wiring(program: Program) -> str:
    """Return a text of which values a program's equations read and make, in order; literals and constants by value."""
    names: dict[Any, str] = {}
    for k, v in enumerate((*program.jaxpr.invars, *program.jaxpr.constvars)):
        names[v] = f"i{k}"

    def name(v: Any) -> str:
        if is_literal(v):
            value = np.asarray(v.val)
            return f"{value.dtype}{value.shape}{value.tobytes().hex()}"
        return names.setdefault(v, f"v{len(names)}")

    consts = [str(jaxpr.bytes_of(c)) for c in program.consts]
    lines = [
        f"{' '.join(map(name, e.invars))}>{' '.join('_' if is_dropped(v) else name(v) for v in e.outvars)}"
        for e in program.jaxpr.eqns
    ]
    return f"{consts} {lines} {[name(v) for v in program.jaxpr.outvars]}"


def _operands(equation: Equation, args: Sequence[Any]) -> list[Any]:
    env = dict(zip(equation.variables, args, strict=True))
    return [v.val if is_literal(v) else env[v] for v in equation.eqn.invars]


def _run(bound: Bound, values: Sequence[Any]) -> list[Any]:
    if bound.inner is None:
        return programs.bound(bound.eqn, values, bound.params)
    inner = iter(bound.inner)
    return programs.results(inner_program(bound.eqn), values, lambda eqn, operands: _run(next(inner), operands))


def is_symbolic(size: Any) -> bool:
    """Return whether the size is an expression in dimension variables, and so no number."""
    return isinstance(size, DimExpr)
