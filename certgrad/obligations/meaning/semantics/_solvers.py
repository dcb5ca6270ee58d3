"""Semantics of a solver that its author marked by `certgrad.solves`: the solution of the equation, not the program.

See `_solutions` for the theory. The solver's own program is never followed; that its result satisfies the equation is
a condition of the value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from certgrad.obligations.assume.conditions import CONTINUOUS, SOLVER, Atomic, Clause, Clauses, condition, merge_clauses
from certgrad.obligations.assume.signs import ANY_SIGN
from certgrad.obligations.assume.tensor import Tensor, own_index
from certgrad.obligations.differentiate.derivative import Differentiator
from certgrad.obligations.laws.matrices import invertible
from certgrad.obligations.laws.order import boundaries_in_choices
from certgrad.obligations.laws.recurrences import has_loop
from certgrad.obligations.laws.solutions import UNKNOWN, Jacobian, Solution, keep_call, known_call, stands_in, unused
from certgrad.obligations.terms.atoms import Access, Max, access
from certgrad.obligations.terms.determined import CARRY
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.polynomials import ZERO, Poly
from certgrad.obligations.terms.power import fn
from certgrad.obligations.terms.predicates import Pred
from certgrad.obligations.terms.rewriting import Rewriter, without_stops
from certgrad.obligations.terms.variables import Var, fresh
from certgrad.obligations.terms.walk import atoms_of, deep_atoms, determine, tensors_in
from certgrad.obligations.tracing.jax_internals import MarkedSolver, identity, marked_solver

from ._interpreter import interpret
from ._linear_map import along_an_axis, diagonal, everywhere, resolved_within_shape
from ._registry import Context, UnprovedError, control


@control("certgrad_solution")
def _solution(ctx: Context, eqn: Any, use: list[bool], inputs: list[Tensor | None]) -> list[Tensor | None]:
    marked = marked_solver(eqn)
    given = [x for x in inputs if x is not None]
    if len(given) != len(inputs):
        raise UnprovedError(f"an argument of the solver {marked.name} is not known")
    not_in_a_loop(marked.name, given)
    arguments = marked.of_solver(given)
    key = (marked.name, identity(marked.solver), *map(argument_key, arguments))
    return [_new_solver_result(ctx, marked, key, given)]


def argument_key(x: Tensor) -> tuple:
    """Return a key that tells arguments of a solver apart."""
    return x.kind, tuple(n.key for n in x.shape), without_stops(x.body).key, x.infinite, x.kept.key


def not_in_a_loop(name: str, given: Sequence[Tensor]) -> None:
    """Raises UnprovedError where the arguments of a solver change from step to step."""
    for x in given:
        if not x.body.free <= {v for v, _ in x.variables} or has_loop(x.body) or _carried(x.body):
            raise UnprovedError(f"the solver {name} is called inside a loop, or with what a loop carries")


def _carried(body: Poly) -> bool:
    """Return whether the term reads what a loop around it carries. (See `fresh_carry`.)"""
    return any(isinstance(a, Access) and a.tensor.startswith(f"{CARRY}~") for a in deep_atoms(body))


def _new_solver_result(ctx: Context, marked: MarkedSolver, key: tuple, given: list[Tensor]) -> Tensor:
    """The value of a call that is new in this proof."""
    plain = Context(ctx.facts, reading=ctx.reading)
    plain.notes, plain.primitives, plain.used_facts = ctx.notes, ctx.primitives, ctx.used_facts

    def left(unknown: Tensor) -> Tensor:
        (found,) = interpret(plain, marked.residual, marked.of_residual(given, unknown), [True])
        assert found is not None
        return found

    return defined_by(marked.name, key, marked.shape, given, left)


def defined_by(
    called: str, key: tuple, shape: tuple[Poly, ...], given: Sequence[Tensor], left: Callable[[Tensor], Tensor]
) -> Tensor:
    """Return the result of the solver `called` at the arguments `given`, by its equation left(z) = 0.

    Calls with the same key return the same value, each where its own arguments are defined. The derivative is that of
    the call that was read first: where `stop_gradient` hides another part of the arguments, it is not known.
    """
    found = known_call(key)
    if found is None:
        return _newly_defined(called, key, shape, given, left)
    known, read_of = found
    defined, smooth = _of_arguments(given)
    hidden = known.kind == "f" and _bodies(given) != read_of and any(without_stops(b) != b for b in _bodies(given))
    return replace(
        known,
        body=fn("stop", known.body) if hidden else known.body,
        defined=merge_clauses(known.defined, defined),
        smooth=merge_clauses(known.smooth, smooth),
    )


def _bodies(given: Sequence[Tensor]) -> tuple[Poly, ...]:
    return tuple(x.body for x in given)


def _of_arguments(given: Sequence[Tensor]) -> tuple[Clauses, Clauses]:
    """Where all entries of the arguments are defined, and where they are differentiable."""
    defined = merge_clauses(*(everywhere(x.defined, list(range(x.rank))) for x in given))
    return defined, merge_clauses(*(everywhere(x.smooth, list(range(x.rank))) for x in given))


def _newly_defined(
    called: str, key: tuple, shape: tuple[Poly, ...], given: Sequence[Tensor], left: Callable[[Tensor], Tensor]
) -> Tensor:
    """Return the solution of a solver's equation as a new tensor, by what its arguments are; solved where it is affine.

    Raises UnprovedError where the equation does not determine it, or holds a loop, a maximum or another solver.
    """
    name = unused(called)
    determine(name, frozenset().union(*(tensors_in(a) for x in given for a in atoms_of(x.body))))
    unknown = Tensor(shape, access(name, own_index(shape)))
    equation = left(unknown)
    residual = resolved_within_shape(equation.body, shape, {})
    if not stands_in(name, residual):
        raise UnprovedError(f"the equation of the solver {name} does not say what the solver returns")
    if has_loop(residual) or any(isinstance(a, Max) for a in deep_atoms(residual)):
        raise UnprovedError(f"the equation of the solver {name} holds a loop or a maximum over an axis")
    if any(isinstance(a, Access) and a.tensor != name and name in tensors_in(a) for a in deep_atoms(residual)):
        raise UnprovedError(f"the equation of the solver {name} holds another solver of what it returns")
    change = Differentiator({name: UNKNOWN})(residual)
    jacobian = _jacobian(change, shape, name)
    start = _at_zero(residual, name) if not stands_in(name, change) else ZERO
    affine = not stands_in(name, change) and (residual - start - _renamed(change, UNKNOWN, name)).is_zero
    axes = list(range(len(shape)))
    stated = Clause((Atomic("= 0", residual),), origin=f"{SOLVER}{name}{'' if affine else CONTINUOUS}")
    defined, smooth = _of_arguments(given)
    defined = merge_clauses(defined, everywhere(equation.defined, axes))
    smooth = merge_clauses(smooth, everywhere(equation.smooth, axes))
    determined = everywhere(_solvable(jacobian, shape, name), axes)
    defined = merge_clauses(everywhere((stated,), axes), defined, determined if affine else ())
    smooth = merge_clauses(smooth, determined, _kinks(residual))
    body = jacobian.solved(-start, shape) if affine else unknown.body
    solution = Solution(name, shape, residual, change, jacobian, affine)
    return keep_call(key, Tensor(shape, body, "f", defined, smooth, ANY_SIGN), _bodies(given), solution)


def _at_zero(poly: Poly, tensor: str) -> Poly:
    """The term with the tensor's entries as 0."""
    return Rewriter(replace=lambda a: ZERO if isinstance(a, Access) and a.tensor == tensor else None)(poly)


def _renamed(poly: Poly, tensor: str, name: str) -> Poly:
    def put(a: Any) -> Poly | None:
        return access(name, a.index) if isinstance(a, Access) and a.tensor == tensor else None

    return Rewriter(replace=put)(poly)


def _jacobian(change: Poly, shape: tuple[Poly, ...], name: str) -> Jacobian:
    """∂R/∂z, read off its value at an arbitrary tensor."""
    entry = diagonal(change, shape, UNKNOWN)
    if entry is not None:
        return Jacobian(entry)
    row, column = fresh(), fresh()
    for axis in range(len(shape)):
        try:
            return Jacobian(along_an_axis(change, shape, UNKNOWN, axis, row, column), axis, row, column)
        except UnprovedError:
            continue
    raise UnprovedError(f"the equation of the solver {name} mixes unknowns along several axes")


def _solvable(jacobian: Jacobian, shape: tuple[Poly, ...], name: str) -> Clauses:
    """∂R/∂z is invertible."""
    origin = f"the equation of {name} determines it"
    if jacobian.axis is None:
        return condition("!= 0", jacobian.entry, origin)
    return invertible(jacobian.entry, jacobian.row, jacobian.column, shape[jacobian.axis], origin)


def _kinks(residual: Poly) -> Clauses:
    """Where the predicates in the equation are locally constant, so that it is differentiable as it is written."""
    out = []
    for a in deep_atoms(residual):
        if isinstance(a, Pred):
            names: dict[Var, Any] = {v: of_var(fresh("q")) for v in a.poly.free}
            out.append(Clause((Atomic("!= 0", Rewriter(names)(a.poly)),), origin="kink"))
    out += [Clause((Atomic("!= 0", p),), origin="kink") for p in boundaries_in_choices(residual)]
    return tuple(out)
