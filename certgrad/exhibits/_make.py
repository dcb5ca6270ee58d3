"""The making of the exhibit of one rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from certgrad._subject import Subject
from certgrad.obligations.auditing.statement import general_problem
from certgrad.obligations.certificate import Certificate
from certgrad.ops._composed import Composed

from ._programs import programs_of
from ._seams import seam_plots
from ._sides import sides_of
from ._witnessed import witness_plots
from .data import Drawing, Exhibit, Mend, Program, Sides

T = TypeVar("T")


def exhibit(subject: Subject, doc: str = "", mend: Mend | None = None) -> Exhibit:
    """Return the exhibit of a rule without plots; for a composed op, drawings of its graphs in place of both sides."""
    if isinstance(subject, Composed):
        return Exhibit(doc, drawings=_or_none(lambda: _drawings(subject)))
    sides, programs = _traced(subject)
    return Exhibit(doc, sides, programs, mend=mend)


def with_plots(shown: Exhibit, subject: Subject, certificate: Certificate) -> Exhibit:
    """Return the exhibit with plots. Their values are computed one by one, which is slow for a rule that iterates."""
    if isinstance(subject, Composed):
        return shown
    seams = _or_none(lambda: seam_plots(subject, certificate))
    return msgspec.structs.replace(shown, plots=[*seams, *_or_none(lambda: witness_plots(subject, certificate))])


def _traced(subject: Subject) -> tuple[list[Sides], list[Program]]:
    """Return both sides of each obligation, and the traced programs; both empty if the rule does not trace."""
    try:
        problem, programs = general_problem(subject)
    except Exception:  # the rule does not trace, or the calculus cannot read it: the certificate says why
        return [], []
    return sides_of(subject, problem), programs_of(programs)


def _drawings(op: Composed) -> list[Drawing]:
    from certgrad.graph.certifying.composed import certified

    from ._drawings import drawing

    return [drawing(str(case), graph) for case, graph in zip(op.cases, certified(op), strict=True)]


def _or_none(make: Callable[[], Sequence[T]]) -> list[T]:
    """Return what `make` returns; [] if it raises, as a picture is no reason to lose a report."""
    try:
        return [*make()]
    except Exception:
        return []
