"""A rule, checked: at small sizes, at points of the reals and of a field at once."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from certgrad._subject import Subject
from certgrad.language.arithmetic import UndefinedError, UnfitError
from certgrad.language.evaluate import question
from certgrad.language.parse import parse
from certgrad.language.tree import Number, OffBoundaries, Statement, walk
from certgrad.signatures.cases import Case, Shape
from certgrad.signatures.sizes import Star
from certgrad.specification._jax import literal
from certgrad.specification.evaluate import deep
from certgrad.specification.reading import Literals

from ._at_shape import ENOUGH, Asked, AtShape, FoundError, Seen
from ._claims import Difference
from ._literals import closed
from ._points import Point
from ._programs import OutsideError, shapes, traced
from ._result import Result, Verdict, up_to
from ._rule import Rule

SECONDS, SHORT = 6.0, 2.0
"""Of processor time; the shorter one for a case of which all sizes up to 2 were compared."""


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
) -> Result:
    """Check a derivative rule by exact evaluation over a finite field.

    Args:
        rule: a function with a custom rule, or any JAX function; or an op, which has its own signature.
        signature, static, differentiable, domain, name: as `certgrad.check` takes them.
        hypotheses: statements of a certificate; what is false there is no difference.
        seconds: of processor time. What was not looked at by then is not in the result's sizes.

    Raises:
        SignatureError, UsageError: the declaration does not fit the function.
    """
    if _is_subject(rule):
        return Check(rule, hypotheses, seconds).run()
    whole = Rule(rule, signature, static or {}, differentiable, domain, name)
    parts = [Rule(rule, signature, static or {}, [one], domain, name) for one in whole.alone]
    results = [Check(one, hypotheses, seconds / (1 + len(parts))).run() for one in (whole, *parts)]
    return max(results, key=lambda one: ("agrees", "outside", "undecided", "differs").index(one.verdict))


NO_TIME = " in the time"


def _is_subject(rule: Any) -> bool:
    return Subject in type(rule).__mro__


class Check:
    """One rule, all of its cases."""

    def __init__(self, subject: Subject, hypotheses: Sequence[Statement], seconds: float) -> None:
        self.subject = subject
        names = (*subject.arg_names, *subject.params)
        texts = [*subject.domain, *(text for text in subject.params.values() if text)]
        self.statements = [*(parse(text, names) for text in texts), *hypotheses]
        numbers = (x.rational for statement in self.statements for x in walk(statement) if isinstance(x, Number))
        self.asked = Asked(
            subject.name, subject.arg_names, [*subject.params], frozenset(numbers), self.holds, lambda: self.late
        )
        self.start, self.seconds = time.process_time(), seconds
        self.until = seconds
        """When the next case has its turn."""
        self.literals: Literals = literal
        self.unasked: list[str] = []
        self._forget()

    def _forget(self) -> None:
        self.sizes: list[list[dict[str, int]]] = [[] for _ in self.subject.cases]
        """Of each case, those at which points were compared, with a bound that is small enough."""
        self.seen: list[Seen] = []
        self.outside: list[str] = []

    def run(self) -> Result:
        """What comes of it. A wrong rule is a result, never an exception."""
        difference = self._looked()
        if difference is None and any(one.rounded for one in self.seen):
            self.literals = closed
            self._forget()
            difference = self._looked()
        return self._result(difference)

    @property
    def late(self) -> bool:
        return time.process_time() - self.start > self.until

    def _looked(self) -> Difference | None:
        began = time.process_time() - self.start
        with deep():
            for k, case in enumerate(self.subject.cases):
                self.until = began + max(self.seconds - began, 0) * (k + 1) / len(self.subject.cases)
                try:
                    self._case(k, case)
                except FoundError as found:
                    return found.difference
                except (OutsideError, UnfitError) as error:
                    self.outside.append(str(error))
        return None

    def _case(self, k: int, case: Case) -> None:
        failed, compared, began = "", False, time.process_time()
        for shape in shapes(self.subject, case):
            if self.late or (time.process_time() - began > SHORT and up_to(case, self.sizes[k]) >= 2):
                break
            try:
                programs = traced(self.subject, case, shape, self.literals)
            except OutsideError as error:
                failed = failed or str(error)
                continue
            one = AtShape(self.asked, case, shape, programs).run()
            self.seen.append(one)
            compared = compared or bool(one.points or one.open or one.rounded)
            if one.points and one.bound <= ENOUGH:
                self.sizes[k].append(shape.named)
        if not compared:
            raise OutsideError(failed or f"no point was found at which the function is defined{NO_TIME * self.late}")

    def _result(self, difference: Difference | None) -> Result:
        opened = [text for one in self.seen for text in one.open]
        rounded = [text for one in self.seen for text in one.rounded]
        verdict: Verdict = "agrees"
        reason = ""
        if difference is not None and not self.unasked:
            verdict, reason = "differs", difference.reason
        elif difference is not None:
            verdict, reason = "undecided", f"it differs where this is not looked at: {self.unasked[0]}"
        elif self.outside:
            verdict, reason = "outside", self.outside[0]
        elif opened or rounded:
            verdict, reason = "undecided", (opened or [f"a float of the code is rounded: {rounded[0]}"])[0]
        bounds = [one.bound for one in self.seen if one.points]
        small = [b for b in bounds if b <= ENOUGH]
        return Result(
            name=self.subject.name,
            verdict=verdict,
            reason=reason,
            difference=difference if verdict == "differs" else None,
            sizes=tuple(one for case in self.sizes for one in case),
            up_to=min(
                (up_to(case, sizes) for case, sizes in zip(self.subject.cases, self.sizes, strict=True)), default=0
            ),
            open=any(case.names or case.signature.stars for case in self.subject.cases) or self.subject.broadcast,
            points=sum(one.points for one in self.seen),
            special=sum(one.special for one in self.seen),
            regions=max((len(one.regions) for one in self.seen), default=0),
            bound=round(max(small or bounds or [0.0])),
            rounded=self.literals is closed,
            seconds=round(time.process_time() - self.start, 3),
        )

    def holds(self, point: Point, case: Case, shape: Shape) -> bool:
        """Whether the point is inside the domain and the hypotheses."""
        for statement in self.statements:
            if isinstance(statement, OffBoundaries):
                continue
            try:
                if not question(statement, point.model).holds(self._arrays(point, case, shape), shape.collapsed):
                    return False
            except UnfitError as error:
                if str(error) not in self.unasked:
                    self.unasked.append(str(error))
            except UndefinedError:
                return False
        return True

    def _arrays(self, point: Point, case: Case, shape: Shape) -> dict[str, Any]:
        """The arguments, each star group as one axis, as statements count."""
        if self.subject.broadcast:
            return dict(point.arrays)
        specs = dict(zip(self.subject.arg_names, case.signature.inputs, strict=True))
        lengths = {n: [shape.collapsed[d.name] if isinstance(d, Star) else d.evaluate(shape.sizes) for d in spec.dims]
                   for n, spec in specs.items()}  # fmt: skip
        return {name: np.reshape(x, lengths[name]) if name in lengths else x for name, x in point.arrays.items()}
