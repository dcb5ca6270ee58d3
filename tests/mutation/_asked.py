"""What certgrad says of a mutant of a rule in code, and whether it may say so."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

import numpy as np

from certgrad.errors import RuleError, TraceError
from certgrad.language.arithmetic import UnfitError
from certgrad.obligations.auditing import audit as audits
from certgrad.obligations.auditing import witnesses
from certgrad.obligations.auditing.attempts import FamilyAudit, plainly_refuted
from certgrad.obligations.auditing.claims import Record
from certgrad.obligations.balls import (
    Gap,
    MalformedRule,
    NotDifferentiable,
    Point,
    SearchLimits,
    Undecided,
    Unsupported,
    find_witness,
)
from certgrad.obligations.balls import Programs as Evaluated
from certgrad.obligations.balls._draw import draw_point, seeded
from certgrad.obligations.balls._gaps import gap_at
from certgrad.obligations.balls._scalars import ball
from certgrad.obligations.balls.statements import evaluate as holds_at
from certgrad.obligations.certificate import AT_SIZES, PROOFS, Certificate
from certgrad.obligations.generality.traces import Traces
from certgrad.obligations.meaning.literals import Reading
from certgrad.obligations.prove.problem import Programs
from certgrad.obligations.terms.session import clear_caches
from tests.mutation._changes import Mutation
from tests.mutation._points import differ
from tests.mutation._rules_mutated import BITS, Right, outputs
from tests.mutation._surgery import CannotMakeError

LAWS = {
    "forward": ("jvp_is_derivative", "vjp_is_adjoint"),
    "primal": ("rule_runs_forward",),
    "jvp": ("jvp_is_derivative", "vjp_is_adjoint"),
    "vjp": ("vjp_is_adjoint",),
}
"""The obligations that are about each program."""
PROVED = (*PROOFS, AT_SIZES)
ROUNDED = 1e-14
DRAWN = 6
"""So many points are drawn from the hypotheses of a proved mutant, at each shape."""
NOT_MADE = (CannotMakeError, MalformedRule, RuleError, TraceError, Unsupported, NotImplementedError, TypeError)


class OutOfTime(BaseException):
    """A mutant took longer than its limit. No `except Exception` on the way stops it."""


@dataclass(frozen=True)
class Answer:
    """What became of a mutant.

    `outcome`: `not made` (the change cannot be made there, or what it makes does not run), `equal` (no point was found
    where it breaks a law), and of those that break one at a point of the domain: `refuted`, `unproved`, `narrowed`
    (proved under hypotheses that exclude every such point), `unread` (proved under hypotheses of which the evaluator of
    statements cannot tell), `proved`, which is certgrad's mistake, and `crash`, also one.
    """

    outcome: str
    laws: tuple[str, ...] = ()
    detail: str = ""

    @property
    def broken(self) -> bool:
        """It breaks a law at a point of the domain."""
        return self.outcome in ("refuted", "unproved", "narrowed", "unread", "proved", "crash")


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Of processor time. It rings again, should Python lose the first one while it deletes an object."""

    def ring(signum: int, frame: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def hurried() -> Iterator[None]:
    """Witnesses are not made simpler for readers."""
    before = witnesses.find_witness

    def without_shrinking(*arguments: Any, limits: SearchLimits, **others: Any) -> Any:
        return find_witness(*arguments, limits=replace(limits, shrink=False), **others)

    witnesses.find_witness = without_shrinking
    try:
        yield
    finally:
        witnesses.find_witness = before


def answered(right: Right, mutation: Mutation, seconds: float = 10.0, whole: bool = False) -> Answer:
    """Whether a mutant breaks a law, and what certgrad says of it, within so many seconds of the processor.

    By a `whole` audit, or by one that ends where the mutant is refuted at the most general shapes.
    """
    broken: list[Break] = []
    try:
        with limit(seconds), hurried():
            return _answered(right, mutation, broken, whole)
    except OutOfTime:
        laws = tuple(one.law for one in broken)
        return Answer("unproved", laws, "timed out") if laws else Answer("equal", (), "timed out")
    finally:
        clear_caches()


@dataclass(frozen=True)
class Break:
    """A law, and a point of the domain at which it fails."""

    law: str
    programs: Evaluated
    point: Point
    gap: Gap


def _answered(right: Right, mutation: Mutation, broken: list[Break], whole: bool) -> Answer:
    try:
        programs = right.mutated(mutation)
        broken += breaks(right, mutation)
    except (
        CannotMakeError,
        MalformedRule,
        RuleError,
        TraceError,
        Unsupported,
        NotImplementedError,
        TypeError,
    ) as error:
        return Answer("not made", (), f"{type(error).__name__}: {error}"[:200])
    if not broken:
        return Answer("equal")
    laws = tuple(one.law for one in broken)
    try:
        return _verdict(right, mutation, None if whole else programs, broken, laws)
    except (RuleError, TraceError) as error:
        return Answer("unproved", laws, str(error)[:200])
    except Exception as error:
        return Answer("crash", laws, f"{type(error).__name__}: {error}"[:400])


def _verdict(
    right: Right, mutation: Mutation, programs: Programs | None, broken: Sequence[Break], laws: tuple[str, ...]
) -> Answer:
    """First of the most general shapes alone, where a wrong rule mostly fails; else the whole audit."""
    subject = right.subject(mutation)
    subject.steps, subject.seconds = right.rule.steps, 5.0
    if programs is not None:
        traces, record = Traces(subject), Record({}, {}, {}, Reading())
        others = [kind for kind in subject.kinds if kind not in laws]
        general = FamilyAudit(traces, traces.families[0].prove[0], right.shapes, programs, record)
        found, _ = general.prove_all(others, ())
        if all(found[law].verdict == "refuted" and plainly_refuted(found[law].witness) for law in laws):
            return Answer("refuted", laws)
    certificate = audits.audit(subject)
    found = told(certificate, broken, laws, lambda: _while_made(_failures(right, mutation)))
    if found.outcome == "narrowed":
        claims = {claim.kind: claim for claim in certificate.claims}
        for law in laws:
            trees = [h.tree for h in claims[law].hypotheses]
            points = _while_made(_within(right, mutation, law, trees)) if claims[law].verdict in PROVED else iter(())
            inside = next(points, None)
            if inside is not None:
                return Answer(
                    "proved", laws, f"{law} under {[h.text for h in claims[law].hypotheses]}, {shown(inside)}"
                )
    return found


def _within(right: Right, mutation: Mutation, law: str, trees: Sequence[Any]) -> Iterator[Break]:
    """Points that satisfy the hypotheses, at which the law fails, among points drawn from these."""
    rng = seeded(right.rule.name, str(mutation), "within")
    for programs, _ in right.places:
        mutant = right.evaluated(mutation, programs)

        def holds(values: Mapping[str, Any], sizes: Mapping[str, int] = programs.dims.sizes) -> bool:
            arrays = {name: _array(x) for name, x in values.items()}
            try:
                return right.inside(values) and all(holds_at(tree, arrays, sizes) is True for tree in trees)
            except (UnfitError, Undecided):
                return False

        for k in range(DRAWN):
            point = draw_point(mutant, law, k, rng, holds)
            if point is None:
                break
            gap = _gap(law, mutant, point)
            if gap is not None:
                yield Break(law, mutant, point, gap)


def _while_made(points: Iterator[Break]) -> Iterator[Break]:
    """The points up to a shape at which the change is not made."""
    with suppress(MalformedRule):
        yield from points


def _array(values: Any) -> np.ndarray:
    """The array of nested lists: of objects where these are fractions."""
    found = np.array(values, dtype=object)
    kinds = {type(x) for x in found.flat}
    return found.astype(bool) if kinds == {bool} else found.astype(np.int64) if kinds == {int} else found


def told(
    certificate: Certificate, broken: Sequence[Break], laws: tuple[str, ...], more: Callable[[], Iterator[Break]]
) -> Answer:
    """What a certificate says of the laws that a mutant breaks; `more` points tell whether hypotheses exclude all."""
    claims = {claim.kind: claim for claim in certificate.claims}
    wrong: list[str] = []
    narrowed: list[str] = []
    unread: list[str] = []
    refuted, reasons = False, []
    for one in broken:
        claim = claims[one.law]
        if claim.verdict in PROVED:
            trees = [h.tree for h in claim.hypotheses]
            others = (other for other in more() if other.law == one.law) if trees else ()
            told_of = {_excluded(trees, point): point for point in (one, *others)}
            where = next(k for k in (False, None, True) if k in told_of)
            text = (
                f"{one.law} {claim.verdict} under {sorted(h.text for h in claim.hypotheses)}, {shown(told_of[where])}"
            )
            {False: wrong, None: unread, True: narrowed}[where].append(text)
        else:
            refuted |= claim.verdict == "refuted"
            reasons += [case.reason for case in claim.cases if case.reason]
    if wrong:
        return Answer("proved", laws, "; ".join(wrong)[:1000])
    if unread:
        return Answer("unread", laws, "; ".join(unread)[:1000])
    if refuted:
        return Answer("refuted", laws)
    return Answer("narrowed", laws, narrowed[0][:600]) if narrowed else Answer("unproved", laws, *reasons[:1])


def shown(one: Break) -> str:
    """The point, in words."""
    arrays = {i.name: x.tolist() for i, x in zip(one.programs.inputs, one.point.inputs, strict=True)}
    return f"fails at {arrays}: {one.gap.lhs} and {one.gap.rhs}"


def _excluded(statements: Sequence[Any], one: Break) -> bool | None:
    """Whether one of the hypotheses is false, or undefined, where the law was found to fail; None if that is not known.

    It is not where a hypothesis is not read by the evaluator, or nearer to its boundary than this can tell.
    """
    arrays = {i.name: x for i, x in zip(one.programs.inputs, one.point.inputs, strict=True)}
    known = True
    for statement in statements:
        try:
            if holds_at(statement, arrays, one.programs.dims.sizes) is not True:
                return True
        except (UnfitError, Undecided):
            known = False
    return False if known else None


def breaks(right: Right, mutation: Mutation) -> list[Break]:
    """For each law that is about the changed program: the first point of the domain at which it fails, if there is."""
    found: dict[str, Break] = {}
    for one in _failures(right, mutation):
        found.setdefault(one.law, one)
        if len(found) == len(_laws(right, mutation)):
            break
    return [*found.values()]


def _laws(right: Right, mutation: Mutation) -> list[str]:
    return [law for law in LAWS[mutation.role] if law in right.rule.kinds]


def _failures(right: Right, mutation: Mutation) -> Iterator[Break]:
    """The points at which a law fails."""
    for place, (programs, points) in enumerate(right.places):
        mutant = right.evaluated(mutation, programs)
        for k, point in enumerate(points):
            if mutation.role != "forward" and not differ(
                outputs(mutant, mutation.role, point), right.value(place, k, mutation.role)
            ):
                continue
            for law in _laws(right, mutation):
                gap = _gap(law, mutant, point)
                if gap is not None:
                    yield Break(law, mutant, point, gap)


def _gap(law: str, programs: Evaluated, point: Point) -> Gap | None:
    """The gap in one law at a point, beyond what rounding of constants explains; None where the point says nothing.

    Where one side is 0, a gap that is small beside 1 is such rounding as well: sin(π) with π in floats.
    """
    try:
        found = gap_at(law, programs, point, BITS)
    except (Undecided, NotDifferentiable):
        return None
    if found is None or not found.reaches(witnesses.ROUNDING):
        return None
    return found if found.undefined or abs(ball(found.lhs) - ball(found.rhs)) > ROUNDED else None
