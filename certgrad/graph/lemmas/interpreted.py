"""The forward of an operation as terms: its entries and their signs."""

from __future__ import annotations

from dataclasses import replace

from certgrad.graph.lemmas import bounds
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import ANY_SIGN
from certgrad.obligations.assume.tensor import Tensor, argument
from certgrad.obligations.meaning.semantics import Context, UnprovedError, interpret
from certgrad.obligations.terms.budget import BudgetError, limited
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.session import clear_caches
from certgrad.obligations.tracing.jax_internals import (
    Program,
    kind_of,
    shape_polys,
)

from .operation import KINDS, Operation


def output_signs(operation: Operation, forward: Program) -> tuple[int, ...]:
    """Return the bounds of the outputs (`bounds`), by those of the arguments; 7, no bound, where the calculus fails."""
    try:
        with limited():
            outputs, facts = _interpreted(operation, forward)
            return tuple(bounds.of_term(t.body, facts, t.signs) for t in outputs)
    except (UnprovedError, BudgetError, ArithmeticError):
        return (ANY_SIGN,) * len(forward.jaxpr.outvars)


def forward_terms(operation: Operation, forward: Program) -> list[Poly] | None:
    """Return the entries of the operation's outputs as terms; None where the calculus cannot interpret it."""
    try:
        with limited():
            return [t.body for t in _interpreted(operation, forward)[0]]
    except (UnprovedError, BudgetError, ArithmeticError):
        return None


def _interpreted(operation: Operation, forward: Program) -> tuple[list[Tensor], Facts]:
    """Return the forward's outputs as terms, and the facts that the arguments' known bounds give."""
    clear_caches()
    jaxpr = forward.jaxpr
    argument_bounds = operation.signs or (ANY_SIGN,) * len(operation.names)
    inputs = []
    for name, var, signs in zip(operation.names, jaxpr.invars, argument_bounds, strict=True):
        tensor = argument(name, shape_polys(var.aval), KINDS.get(kind_of(var.aval.dtype), "float"))
        inputs.append(replace(tensor, signs=tensor.signs & bounds.sign(signs)))
    facts = Facts([fact for t, s in zip(inputs, argument_bounds, strict=True) for fact in bounds.facts(t.body, s)])
    outputs = interpret(Context(facts), forward, inputs, [True] * len(jaxpr.outvars))
    return [t for t in outputs if t is not None], facts
