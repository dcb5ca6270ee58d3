"""An operation of a graph as its lemma sees it: the rules that run, the shapes, the names of its arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from certgrad._subject import Rules, Subject
from certgrad.errors import CertgradError, TraceError
from certgrad.graph.lemmas import bounds
from certgrad.graph.lemmas.rules import ActiveShapes, Outputs, node_rules, sees_used_outputs
from certgrad.graph.tracing import jaxpr
from certgrad.graph.tracing.family import symbol
from certgrad.graph.tracing.jaxpr import Equation
from certgrad.obligations.generality.patterns import choices, pattern_text, sees_zeros, too_many
from certgrad.obligations.meaning.semantics import UnprovedError
from certgrad.obligations.prove.problem import Programs, trace_forward, trace_rules
from certgrad.obligations.tracing.jax_internals import (
    Program,
    abstract,
    is_literal,
    kind_of,
    wide_floats,
)
from certgrad.signatures.sizes import parse_size

_NAMES = ("x", "y", "z", "w")


UNTRACEABLE = (CertgradError, UnprovedError, KeyError, NotImplementedError, TypeError)
"""The errors of tracing an operation's rules where they cannot be traced."""

KINDS = {"f": "float", "i": "int", "b": "bool", "k": "key"}


def argument_names(count: int) -> tuple[str, ...]:
    """Return `count` names for arguments that have none of their own: x, y, z, w, x4, …"""
    return tuple(_NAMES[k] if k < len(_NAMES) else f"x{k}" for k in range(count))


@dataclass(frozen=True)
class Operation:
    """The subject of a lemma: an equation, its active arguments, and what may be assumed of their signs."""

    equation: Equation
    names: tuple[str, ...]
    active: tuple[int, ...]
    domain: tuple[str, ...] = ()
    title: str = ""
    signs: tuple[int, ...] = ()
    """The known bounds of the arguments, encoded as in `bounds`; () where nothing may be assumed."""
    still: tuple[int, ...] = ()
    """Arguments every zero entry of which has a zero tangent, whatever moves: see `prove/zero_tangents.py`."""
    resting: bool = False
    """Also require that every zero entry of the result has a zero tangent."""
    search: bool = True
    """Whether to look for a witness where the proof fails."""
    used: tuple[int, ...] | None = None
    """The real outputs that are used, for a rule that sees which ones are; None where all are."""

    @property
    def request(self) -> tuple[Any, ...]:
        """Return a key of all fields but the equation: what is claimed, whatever the equation is."""
        return tuple(getattr(self, f.name) for f in fields(self) if f.name != "equation")

    @property
    def dims(self) -> list[str]:
        """Return the node's dimension variables, in order of appearance in its arguments, outputs and parameters."""
        shapes = [v.aval.shape for v in (*self.equation.variables, *self.equation.eqn.outvars)]
        return list(
            dict.fromkeys(n for part in (*shapes, *self.equation.eqn.params.values()) for n in jaxpr.dims_in(part))
        )


def canonical(names: Sequence[str]) -> dict[str, str]:
    """Return the lemma's name for each dimension: the first is n, the second m, …"""
    return {n: symbol(k) for k, n in enumerate(names)}


def with_renamed(value: Any, table: Mapping[str, str]) -> str:
    """Return a size as text, with its dimension variables renamed by `table`."""
    return parse_size(value).renamed(table).spaced if isinstance(value, jaxpr.DimExpr) else str(value)


def operation_key(operation: Operation) -> Any:
    """Return a key of the operation without its shapes and parameters."""
    equation = operation.equation
    slots = {v: k for k, v in enumerate(equation.variables)}
    pattern = tuple(
        (jaxpr.dtype_name(v.aval.dtype), np.asarray(v.val).tobytes(), np.shape(v.val))
        if is_literal(v)
        else (slots[v], jaxpr.dtype_name(v.aval.dtype))
        for v in equation.eqn.invars
    )
    return equation.primitives, equation.wide, pattern, operation.request


def own_table(operation: Operation) -> dict[str, str]:
    """Return the name of each dimension of a node in the lemma at the node's own sizes."""
    names = operation.dims
    # The rule of an equation that holds a program belongs to the symbols that it was traced at.
    return {n: n for n in names} if operation.equation.holds_program else canonical(names)


def active_shapes(operation: Operation, sizes: tuple[tuple[Any, ...], ...]) -> ActiveShapes:
    """Return the shapes of an operation's arguments at these sizes, with their dtypes and which are active."""
    dtypes = (KINDS.get(kind_of(v.aval.dtype), str(v.aval.dtype)) for v in operation.equation.variables)
    return ActiveShapes(sizes, tuple(dtypes), active=operation.active, used=operation.used)


@dataclass
class Traced(Programs):
    """The programs of an operation with all active arguments perturbed and all outputs used, and those of each further
    pattern that a rule sees, by its name.
    """

    patterns: Mapping[str, tuple[Operation, Programs]] = field(default_factory=dict)

    def all(self) -> dict[str, Program]:
        further = {
            f"{name}, where {words}": program
            for words, (_, programs) in self.patterns.items()
            for name, program in programs.all().items()
        }
        return super().all() | further


@dataclass(frozen=True)
class TracedRules:
    """The rules of an operation, traced at shapes: what its lemma is about."""

    operation: Operation
    shapes: ActiveShapes
    programs: Programs
    names: tuple[str, ...]
    """The dimension variables of the programs."""


def traced_programs(operation: Operation, run: Outputs, sizes: tuple[tuple[Any, ...], ...]) -> Traced:
    """Return the operation's rules, traced at these shapes in the operands' dtypes, for each pattern that a rule sees.

    A pattern says which active arguments are perturbed and which outputs are used; elsewhere are symbolic zeros.

    Raises TraceError, RuleError or UnprovedError.
    """
    programs = _traced_where(operation, run, sizes)
    patterns = {}
    for in_pattern in _patterns(operation, run, sizes):
        words = pattern_name(in_pattern, operation.active)
        try:
            patterns[words] = in_pattern, _traced_where(in_pattern, run, sizes)
        except CertgradError as error:
            raise TraceError(f"where {words}: {error}") from error
    return Traced(**{f.name: getattr(programs, f.name) for f in fields(Programs)}, patterns=patterns)


def traced_forward(operation: Operation, run: Outputs, sizes: tuple[tuple[Any, ...], ...]) -> Program:
    """Return the operation itself, its forward, traced at these shapes. Raises TraceError."""
    return trace_forward(*_as_traced(operation, run, sizes))


def _traced_where(operation: Operation, run: Outputs, sizes: tuple[tuple[Any, ...], ...]) -> Programs:
    """Return the rules traced in one pattern: the active arguments are perturbed, and the `used` outputs used."""
    return trace_rules(*_as_traced(operation, run, sizes), together=True)


def _as_traced(
    operation: Operation, run: Outputs, sizes: tuple[tuple[Any, ...], ...]
) -> tuple[Rules, ActiveShapes, int, str, bool]:
    """Return the arguments of `trace_rules`: the rules, shapes, number of parameters (none), a name, the width."""
    equation = operation.equation
    shapes = replace(active_shapes(operation, sizes), exact=tuple(v.aval.dtype for v in equation.variables))
    return node_rules(equation, shapes, run), shapes, 0, operation.title or equation.name, equation.wide


def _patterns(operation: Operation, run: Outputs, sizes: tuple[tuple[Any, ...], ...]) -> Iterator[Operation]:
    """Yield the operation in each further pattern of perturbed arguments and used outputs that a rule sees.

    An argument that is active in a graph may have a symbolic zero for its tangent, and a used output one for its
    cotangent.
    """
    equation, active = operation.equation, operation.active
    if not (active and equation.holds_program):
        return
    perturbed = sees_zeros(equation.program.jaxpr)
    count = sum(kind_of(v.aval.dtype) == "f" for v in equation.eqn.outvars)
    specs = [abstract(s, v.aval.dtype) for s, v in zip(sizes, equation.variables, strict=True)]
    with wide_floats(equation.wide):
        used = count > 1 and sees_used_outputs(run, active_shapes(operation, sizes), specs)
    if many := too_many(len(active) if perturbed else 0, count if used else 0):
        raise UnprovedError(f"its rule sees symbolic zeros: {many}")
    inputs = choices(active) if perturbed else [active]
    outputs = [None, *choices(range(count))[1:]] if used else [None]
    yield from (replace(operation, active=a, used=u) for a in inputs for u in outputs if (a, u) != (active, None))


def pattern_name(operation: Operation, active: Sequence[int]) -> str:
    """Return the active arguments and used outputs of a pattern in words, where they are not all."""
    moving = None if operation.active == tuple(active) else [operation.names[k] for k in operation.active]
    return pattern_text(moving, operation.used)


def rule_is_reverse(equation: Equation) -> bool:
    return equation.name.startswith("custom_vjp_call")


STILL_AT_ZERO = "does not move where it is 0"
"""The words, after an argument's name, that it has a zero tangent wherever it is 0."""
RESULT_IS_STILL = f"the result {STILL_AT_ZERO}"
"""The words of a lemma that also requires this of its result (`Operation.resting`)."""


def given_parameters(operation: Operation) -> list[str]:
    """Return what the lemma assumes of its arguments; each step that uses it shows this of its operands."""
    conditions = [
        text for n, s in zip(operation.names, operation.signs, strict=False) for text in bounds.conditions(n, s)
    ]
    return [
        *conditions,
        *(f"{operation.names[k]} {STILL_AT_ZERO}" for k in operation.still),
        *([RESULT_IS_STILL] if operation.resting else []),
    ]


def with_given(operation: Operation, texts: Sequence[str]) -> Operation | None:
    """Return the operation with the assumptions that the texts of `given_parameters` say; None for other texts."""
    still_texts = {f"{n} {STILL_AT_ZERO}": k for k, n in enumerate(operation.names)}
    signs = bounds.from_comparisons(
        (text for text in texts if text not in still_texts and text != RESULT_IS_STILL), operation.names
    )
    still = tuple(still_texts[text] for text in texts if text in still_texts)
    return None if signs is None else replace(operation, signs=signs, still=still, resting=RESULT_IS_STILL in texts)


def shown_name(operation: Operation) -> str:
    """Return an operation as a call: `mul(x, 2.0)`."""
    names = iter(operation.names)
    by_variable = {v: next(names) for v in operation.equation.variables}
    args = [_literal(v.val) if is_literal(v) else by_variable[v] for v in operation.equation.eqn.invars]
    return f"{operation.title or operation.equation.name}({', '.join(args)})"


def _literal(value: Any) -> str:
    return f"{np.asarray(value).item()!r}" if np.ndim(value) == 0 else "array"


def shown_signature(operation: Operation, shapes: ActiveShapes, programs: Programs, canon: Mapping[str, str]) -> str:
    """Return the shapes of arguments and outputs as text, `x [n, m], y [m] constant -> [n]`, with names by `canon`."""

    def shape(dims: Sequence[Any]) -> str:
        return "[" + ", ".join(with_renamed(d, canon) for d in dims) + "]"

    constant = [k for k in range(len(shapes.inputs)) if k not in shapes.active]
    args = ", ".join(
        f"{n} {shape(s)}" + (" constant" if k in constant else "")
        for k, (n, s) in enumerate(zip(operation.names, shapes.inputs, strict=True))
    )
    return f"{args} -> {', '.join(shape(s) for s in programs.out_shapes)}"


def domain_of(op: Subject, statics: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the conditions of the op's domain with the values of its parameters put in."""

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            value = statics.get(node.id)
            return ast.Constant(value) if node.id in op.params and value is not None else node

    return tuple(ast.unparse(Fill().visit(ast.parse(text.strip(), mode="eval"))) for text in op.domain)
