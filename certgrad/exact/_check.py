"""A rule, checked: at small sizes, at points of the reals and of a field at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import inf
from random import Random
from typing import Any

import numpy as np

from certgrad._subject import Subject
from certgrad.jaxpr.at_shapes import DoesNotTraceError
from certgrad.jaxpr.at_shapes import Programs as Traced
from certgrad.jaxpr.at_symbols import at_symbols
from certgrad.language.arithmetic import UndefinedError, UnfitError
from certgrad.language.evaluate import question
from certgrad.language.parse import parse
from certgrad.language.tree import Array, Compare, Number, OffBoundaries, Statement, walk
from certgrad.signatures.cases import Case, Shape
from certgrad.signatures.schedule import grid, of_sizes, shapes, smallest_first, uneven
from certgrad.signatures.sizes import Star
from certgrad.specification._jax import literal
from certgrad.specification.evaluate import TooLongError, deep
from certgrad.specification.reading import Literals

from ._at_shape import LOG2_ERROR, AtShape, FoundError, Limits, PointQuestions, Seen
from ._claims import Difference
from ._index import NoTheoremError
from ._literals import closed
from ._points import Point
from ._programs import OutsideError, interpreted_programs, traced
from ._result import Result, Verdict, together, up_to
from ._weights import enough, reindexed_programs, with_weights

SECONDS = 6.0
"""Seconds of processor time for a check; sizes that were not compared by then are not in its result."""


def check(
    rule: Any,
    signature: str | Sequence[Any] = "",
    *,
    static: Mapping[str, Any] | None = None,
    differentiable: Sequence[str] | None = None,
    domain: str | Sequence[str] = (),
    hypotheses: Sequence[Statement] = (),
    name: str = "",
    seconds: float = SECONDS,
    one_program: bool = False,
) -> Result:
    """Return what exact evaluation over a finite field says of a derivative rule.

    Args:
        rule: a function with a custom rule, or any JAX function; or an op, which has its own signature.
        signature, static, differentiable, domain, name: as `certgrad.check` takes them.
        hypotheses: statements of a certificate; points at which one is false are not compared.
        seconds: of processor time. Sizes that were not compared by then are not in the result's sizes.
        one_program: whether the code is known to run one program at all sizes. An audit finds that out; this check does
            not, and says `for all sizes` of such code alone.

    Raises:
        SignatureError, UsageError: the declaration does not fit the function.
    """
    if Subject in type(rule).__mro__:
        subjects = [rule]
    else:
        from ._rule import Rule  # `certgrad verify` gives a subject, and loads nothing of what finds rules in code

        full_rule = Rule(rule, signature, static or {}, differentiable, domain, name)
        subjects = [
            full_rule,
            *(Rule(rule, signature, static or {}, [argument], domain, name) for argument in full_rule.alone),
        ]
    deadline = time.process_time() + seconds
    pairs = [(subject, case) for subject in subjects for case in subject.cases]
    checks = [Check(*pair, hypotheses, symbols=_at_symbols(*pair) if one_program else None) for pair in pairs]
    results: list[Result] = []
    for k, case_check in enumerate(checks):  # each case may take an equal part of the time that is left
        results.append(case_check.run(Limits((deadline - time.process_time()) / (len(checks) - k))))
        if results[-1].verdict == "differs":
            break
    return together(results)


def _at_symbols(subject: Subject, case: Case) -> Traced | None:
    """Return the programs at symbolic sizes; None if the code does not trace there."""
    with suppress(DoesNotTraceError):
        return at_symbols(subject, case)
    return None


NO_TIME = " in the time"


class Check:
    """One case of a rule.

    Args:
        subject, case: what is checked.
        hypotheses: statements; points at which one is false are not compared.
        among: shapes to look at beside all small ones, if not the usual ones.
        largest: the size up to which all sizes are small.
        trace: returns the programs at a shape, or raises DoesNotTraceError.
        symbols: the programs at symbolic sizes, one axis for each group of axes, where they are those of all sizes.
    """

    def __init__(
        self,
        subject: Subject,
        case: Case,
        hypotheses: Iterable[Statement],
        among: Iterable[Shape] | None = None,
        trace: Callable[[Shape], Traced] | None = None,
        largest: int = 4,
        symbols: Traced | None = None,
    ) -> None:
        """Read the statements about the arguments, and choose the shapes at which both sides are evaluated.

        The arguments are those of the class. Without `among`, the shapes beside all small ones are drawn.
        """
        self.subject, self.case = subject, case
        self.symbols = symbols
        self.limited = "its programs at symbolic sizes are not known"
        self.everywhere: Seen | None = None
        """What the points with weights showed, if the claims hold at all sizes; else None."""
        self.trace = trace or (lambda shape: traced(subject, case, shape))
        if among is None:
            among = [*shapes(subject, case, Random(subject.name), 0), *uneven(subject, case)]
        self.among = smallest_first(case, among)
        self.shapes = smallest_first(case, self.among, grid(subject, case, largest))
        names = (*subject.arg_names, *subject.params)
        texts = [*subject.domain, *(text for text in subject.params.values() if text)]
        self.statements = [*(parse(text, names) for text in texts), *hypotheses]
        numbers = (x.rational for statement in self.statements for x in walk(statement) if isinstance(x, Number))
        self.numbers = frozenset(numbers)
        self.positive = frozenset(k for k, name in enumerate(names) if any(_above_0(x, name) for x in self.statements))
        """Of the arguments and parameters, those that the statements say are above 0."""
        self.unasked: list[str] = []
        """Why hypotheses could not be evaluated, so that points may lie outside of them."""
        self.literals: Literals = literal
        self.seen: dict[Any, Seen] = {}
        """What the points of each shape showed."""

    def run(self, limits: Limits) -> Result:
        """Return the result of the check. A wrong rule is a result, never an exception."""
        began = time.process_time()
        subject = self.subject
        boundaries = not any(isinstance(statement, OffBoundaries) for statement in self.statements)
        questions = PointQuestions(
            subject.name,
            subject.arg_names,
            [*subject.params],
            subject.structures,
            self.numbers,
            boundaries,
            self.holds,
            limits,
        )
        # Where the rounding of a float leaves a point open, all is done again with floats read as closed forms.
        for self.literals in (literal, closed):
            self.seen.clear()
            if self.symbols is not None and self.open:
                for free in (False, True):
                    if self.everywhere is None:
                        self._look_everywhere(questions, self.symbols, free)
            if questions.limits.reached():  # small sizes have their share, whatever those of the theorem took
                questions = replace(questions, limits=replace(questions.limits, seconds=questions.limits.seconds / 2))
            difference = self._difference(questions)
            if difference is not None or not any(at_shape.rounded for at_shape in self.seen.values()):
                break
        return self._result(difference, time.process_time() - began, limits)

    @property
    def open(self) -> bool:
        """Whether the signature leaves sizes open."""
        return bool(self.case.names or self.case.signature.stars) or self.subject.broadcast

    def _look_everywhere(self, asked: PointQuestions, symbols: Traced, free: bool) -> None:
        """Evaluate with weights at the sizes that the theorem asks for; set `everywhere`, or `limited` to the reason
        against it.

        With `free`, the outcomes of comparisons are free numbers: a second attempt, which leaves the reason of the
        first where it fails too.
        """
        earlier_reason, self.limited = self.limited, ""
        seen: Seen | None = None
        try:
            programs = replace(
                interpreted_programs(self.subject, self.case, symbols, self.literals), positive=self.positive
            )
            programs = reindexed_programs(programs)
            asked = replace(asked, limits=asked.limits.once())
            with deep():
                for sizes in enough(programs, free):
                    shape = of_sizes(self.case, sizes, self.subject.broadcast)
                    at_sizes = AtShape(asked, self.case, shape, with_weights(programs, sizes, free)).run()
                    seen = at_sizes if seen is None else seen.beside(at_sizes)
        except (OutsideError, UnfitError, NoTheoremError) as error:
            self.limited = str(error)
        except FoundError as failure:
            self.limited = f"with weights it does not hold: {failure.difference.claim}"
        except (TooLongError, RecursionError):
            self.limited = "its programs have too many entries"
        else:
            self.limited = (
                "no point was found" if seen is None or not seen.points
                else "with weights it does not follow from the laws" if seen.open or seen.rounded
                else "a root may be that of a square" if seen.lucky
                else "" if seen.exact else "the error has no bound that is small enough"
            )  # fmt: skip
            self.everywhere = None if self.limited else seen
        if free and self.limited:
            self.limited = earlier_reason

    def exact_at(self, shape: Shape) -> bool:
        """Return whether the claims were compared at the shape, with a bound that is small enough."""
        seen = self.seen.get(_key(shape))
        return seen is not None and seen.exact

    @property
    def sizes(self) -> list[dict[str, int]]:
        """The sizes at which the claims were compared with a bound that is small enough."""
        return [at_shape.shape.named for at_shape in self.seen.values() if at_shape.exact]

    def _difference(self, asked: PointQuestions) -> Difference | str | None:
        """Evaluate at each shape in turn; return the first difference, the reason why nothing is decided, or None for
        agreement.
        """
        reason = ""
        with deep():
            # What holds at all sizes is compared again at the usual shapes alone, and not at all small ones.
            for shape in self.shapes if self.everywhere is None else self.among:
                if asked.limits.reached(up_to(self.case, self.sizes)):
                    break
                try:
                    programs = interpreted_programs(self.subject, self.case, self.trace(shape), self.literals)
                except (OutsideError, DoesNotTraceError) as error:
                    reason = reason or str(error)
                    continue
                try:
                    self.seen[_key(shape)] = AtShape(asked, self.case, shape, programs).run()
                except FoundError as failure:
                    return failure.difference
                except (TooLongError, RecursionError):
                    reason = reason or "its programs have too many entries"
                    break
                except (OutsideError, UnfitError) as error:
                    return str(error)
        if any(at_shape.points or at_shape.open or at_shape.rounded for at_shape in self.seen.values()):
            return None
        return reason or f"no point was found at which the function is defined{NO_TIME * asked.limits.reached()}"

    def _result(self, found: Difference | str | None, seconds: float, limits: Limits) -> Result:
        """Return the verdict: "differs" with its point, "outside" or "undecided" with the reason, or "agrees" with its
        bound. A difference counts only where every hypothesis could be evaluated at its point; else it is "undecided".
        """
        all_seen = [*self.seen.values(), *([self.everywhere] if self.everywhere is not None else [])]
        opened = [text for at_shape in all_seen for text in at_shape.open]
        rounded = [text for at_shape in all_seen for text in at_shape.rounded]
        verdict: Verdict = "agrees"
        reason = ""
        if isinstance(found, Difference) and not self.unasked:
            verdict, reason = "differs", found.reason
        elif isinstance(found, Difference):
            verdict, reason = "undecided", f"it differs where this is not looked at: {self.unasked[0]}"
        elif found is not None:
            verdict, reason = "outside", found
        elif opened or rounded:
            verdict, reason = "undecided", (opened or [f"a float of the code is rounded: {rounded[0]}"])[0]
        bounds = [at_shape.bound for at_shape in all_seen if at_shape.points]
        bound = max([b for b in bounds if b <= LOG2_ERROR] or bounds, default=inf)
        return Result(
            name=self.subject.name,
            verdict=verdict,
            reason=reason,
            difference=found if isinstance(found, Difference) and verdict == "differs" else None,
            sizes=tuple(self.sizes),
            up_to=up_to(self.case, self.sizes),
            open=self.open,
            everywhere=self.everywhere is not None,
            limited=self.limited,
            points=sum(at_shape.points for at_shape in all_seen),
            special=sum(at_shape.special for at_shape in all_seen),
            regions=max((x.compared for x in ([self.everywhere] if self.everywhere else all_seen)), default=0),
            bound=None if bound == inf else round(bound),
            rounded=self.literals is closed,
            seconds=round(seconds, 3),
        )

    def holds(self, point: Point, case: Case, shape: Shape) -> bool:
        """Return whether the point is inside the domain and the hypotheses.

        A statement that cannot be evaluated counts as true; the reason is noted in `unasked`.
        """
        arrays = self._arrays(point, case, shape)
        for statement in self.statements:
            if isinstance(statement, OffBoundaries):
                continue
            try:
                if not question(statement, point.model).holds(arrays, shape.collapsed):
                    return False
            except UnfitError as error:
                if str(error) not in self.unasked:
                    self.unasked.append(str(error))
            except UndefinedError:
                return False
        return True

    def _arrays(self, point: Point, case: Case, shape: Shape) -> Mapping[str, Any]:
        """Return the arguments with each star group as one axis, as statements count axes."""
        if self.subject.broadcast:
            return dict(point.arrays)
        specs = dict(zip(self.subject.arg_names, case.signature.inputs, strict=True))
        lengths = {n: [shape.collapsed[d.name] if isinstance(d, Star) else d.evaluate(shape.sizes) for d in spec.dims]
                   for n, spec in specs.items()}  # fmt: skip
        return {name: np.reshape(x, lengths[name]) if name in lengths else x for name, x in point.arrays.items()}


def _above_0(x: Statement, name: str) -> bool:
    """Return whether a statement says that the argument of this name is above 0."""
    match x:
        case Compare(relation=">" | ">=", left=Array(name=compared_name), right=Number() as least):
            return compared_name == name and (least.rational > 0 or (least.rational == 0 and x.relation == ">"))
    return False


def _key(shape: Shape) -> Any:
    return tuple(shape.sizes.items()), shape.inputs
