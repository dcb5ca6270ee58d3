"""Obligations for a reader: both sides as a sympy equation, as LaTeX and as text."""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from certgrad._subject import OF_REFERENCE, Subject
from certgrad.errors import UsageError
from certgrad.obligations.certificate import CODES, OF_VALUES
from certgrad.obligations.generality.instances import family
from certgrad.obligations.prove.problem import Problem, Programs, build, posed, trace_rules
from certgrad.obligations.prove.statements import derivative_of, forward_obligation, pulled_back, pushed_forward
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.rewriting import without_stops
from certgrad.obligations.wording.present import show
from certgrad.obligations.wording.stated import name_variables
from certgrad.obligations.wording.view import SympyView


@dataclass(frozen=True)
class Obligation:
    """The statement of one obligation at the op's general shapes, traced from its callables.

    `eq` is a sympy `Eq` of the two sides (with `Sum` and `Indexed`); several outputs make several equations.
    """

    op: str
    kind: str
    signature: str
    equations: tuple[tuple[Poly, Poly], ...]

    @property
    def eqs(self) -> tuple[sympy.Eq, ...]:
        view = SympyView(name_variables([p for pair in self.equations for p in pair]))
        return tuple(sympy.Eq(view(left), view(right), evaluate=False) for left, right in self.equations)

    @property
    def eq(self) -> sympy.Eq:
        """The equation of the first output."""
        return self.eqs[0]

    @property
    def latex(self) -> str:
        return r" \\ ".join(sympy.latex(e) for e in self.eqs)

    @property
    def sides(self) -> tuple[tuple[str, str], ...]:
        """The left and the right side of each equation, as text."""
        names = name_variables([p for pair in self.equations for p in pair])
        return tuple((show(left, names=names), show(right, names=names)) for left, right in self.equations)

    @property
    def text(self) -> str:
        return "\n".join(f"{left} = {right}" for left, right in self.sides)


def obligation(op: Subject | str, kind: str) -> Obligation:
    """Return the obligation of an op, given by name or as an object: `obligation("softmax", "vjp_is_adjoint")`.

    Raises UsageError for an unknown kind, UnknownOpError for an unknown op.
    """
    if isinstance(op, str):
        from certgrad.ops import registry

        op = registry.get(op)
    if op.is_composed:
        raise UsageError(
            f"The op '{op.name}' is composed: its obligations are those of its parts, and follow from them by "
            f"induction. `certgrad explain {op.name}` shows them."
        )
    if kind not in CODES:
        raise UsageError(f"There is no obligation '{kind}'. The obligations of an op are {', '.join(CODES)}.")
    if kind == OF_REFERENCE and OF_REFERENCE not in op.kinds:
        raise UsageError(f"The op '{op.name}' is declared without a reference, so that nothing is claimed of one.")
    problem, _ = general_problem(op)
    return stated_obligation(op, kind, problem)


def general_problem(op: Subject) -> tuple[Problem, Programs]:
    """Return the programs of an op as terms, and as they were traced, at the general shapes of its first case."""
    instance = family(op, op.cases[0]).prove[0]
    shapes = instance.shapes()
    programs = trace_rules(op.rules(shapes.statics), shapes, len(op.params), f"'{op.name}'")
    return build(posed(op, shapes, programs)), programs


def stated_obligation(op: Subject, kind: str, problem: Problem) -> Obligation:
    """Return the obligation `kind` of a problem that `general_problem` built."""
    return Obligation(op.name, kind, str(op.cases[0].signature), tuple(_sides(problem, kind)))


def _sides(problem: Problem, kind: str) -> list[tuple[Poly, Poly]]:
    """Return the left and the right side of each equation."""
    if kind in OF_VALUES:
        other = (problem.reference if kind == OF_REFERENCE else problem.primal) or problem.forward
        return [(without_stops(left), right) for left, right, _ in forward_obligation(problem, other).pairs]
    derivatives = [derivative_of(out.body, problem)[1] for out in problem.forward]
    tangents = derivatives if problem.jvp is None else [t.body for t in problem.jvp]
    if kind == "jvp_is_derivative":
        return list(zip(tangents, derivatives, strict=True))
    return [(pushed_forward(problem, tangents), pulled_back(problem))]
