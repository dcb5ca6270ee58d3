"""The points at one shape: real points, each with points of the field until the error bound is small enough."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, log2
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from certgrad.language.tree import Size
from certgrad.signatures.cases import Case, Shape

from ._bound import bound, rank
from ._claims import Claims, Difference, DiffersError, RoundedError, SpecialError, UnequalError
from ._field import ball
from ._model import Model
from ._number import NoConstantRootError, NoRootError, NoSlopeError, Number, OpenError, as_float
from ._points import Point, Slot, drawn, seed_of
from ._programs import Programs
from ._weights import total, weight

if TYPE_CHECKING:
    from certgrad._subject import Structure

POINTS, SPECIAL = 8, 3
"""Points of each shape, and special points; then the shape counts as compared."""
AT_SEAMS = 5_000
"""Entries that are evaluated at special points of a case whose function compares numbers; after so many, no more of its
seams are looked at."""
SHORT = 2.0
"""The most seconds that a case takes once all of its sizes up to 2 were compared."""
TRIES = 40
"""The most draws of points for a shape; the points found by then have to do."""
LOG2_ERROR = -80
"""The binary logarithm of the probability that is aimed at."""
ROOTS = 400
"""The most draws of a point of the field beside one real point, where numbers have no root in the field."""
MAX_WIDTH = 32
"""Values modulo Q of a number, at most: doubled up to this while as many exponents are independent."""
WITH_WEIGHTS = 50_000
"""Entries and terms of a program with weights at a point; a larger one is not compared there."""


class FoundError(Exception):
    """A claim fails over the reals."""

    def __init__(self, difference: Difference) -> None:
        super().__init__(difference.claim)
        self.difference = difference


@dataclass
class Limits:
    """Limits of an evaluation: `seconds` of processor time; entries and terms of programs, in all (`entries`) and
    `at_point`; ordinary `points` and `special` points of each shape; entries at `seams`.

    If `seconds` is finite, a case of which all sizes up to 2 were compared takes at most `SHORT` seconds.
    """

    seconds: float = inf
    entries: float = inf
    at_point: int = 200_000
    points: int = POINTS
    special: int = SPECIAL
    seams: int = AT_SEAMS

    def __post_init__(self) -> None:
        self._began = time.process_time()

    def once(self) -> Limits:
        """Return the limits for programs with weights, which have no special points."""
        return Limits(self.seconds, inf, WITH_WEIGHTS, POINTS, 0)

    def reached(self, up_to: int = 0) -> bool:
        """Return whether the time or the entries are used up, if all sizes up to `up_to` were compared."""
        seconds = min(SHORT, self.seconds) if up_to >= 2 and self.seconds < inf else self.seconds
        return self.entries < 0 or time.process_time() - self._began > seconds


@dataclass
class Seen:
    """The results of the points at a shape."""

    shape: Shape
    points: int = 0
    special: int = 0
    regions: set[Any] = field(default_factory=set)
    """The regions that were met: the outcomes of comparisons, with the integers of the point."""
    bound: float = -inf
    """The binary logarithm of the bound on the error at the worst point; ∞ where no bound is known."""
    lucky: bool = False
    """A root may be that of a square, whose sign is right by luck at each point of the field."""
    open: list[str] = field(default_factory=list)
    """Why points were not decided."""
    rounded: list[str] = field(default_factory=list)
    """The floats of the code that are rounded, for which a point proves nothing."""

    def beside(self, other: Seen) -> Seen:
        """Return what holds of both shapes: the fewer points, the larger bound, the more regions, and all doubts."""
        return Seen(
            other.shape,
            min(self.points, other.points),
            0,
            max(self.regions, other.regions, key=len),
            max(self.bound, other.bound),
            self.lucky or other.lucky,
            self.open + other.open,
            self.rounded + other.rounded,
        )

    @property
    def compared(self) -> int:
        """The number of regions that were met; 0 where nothing is compared and there are no integers."""
        return 0 if self.regions <= {((), ())} else len(self.regions)

    @property
    def exact(self) -> bool:
        """Whether claims were compared, with a bound that is small enough."""
        return bool(self.points) and self.bound <= LOG2_ERROR


@dataclass(frozen=True)
class PointQuestions:
    """What is evaluated at the points of a rule: its name and arguments, their domain, and the limits."""

    name: str
    arguments: Sequence[str]
    parameters: Sequence[str]
    structures: Mapping[str, Structure]
    numbers: frozenset[Fraction]
    """The numbers in the statements that say where points may be."""
    boundaries: bool
    """Whether the claims are about points at which the function compares equal numbers, too."""
    holds: Callable[[Point, Case, Shape], bool]
    limits: Limits


class AtShape:
    """Evaluates a rule at the points of one shape."""

    def __init__(self, asked: PointQuestions, case: Case, shape: Shape, programs: Programs) -> None:
        self.asked, self.case, self.shape, self.programs = asked, case, shape, programs
        self.seen = Seen(shape)
        self.model = Model(free=bool(programs.sizes), signs=programs.free)
        self.claims = Claims(programs, self.model, asked.limits.at_point)
        self.width = 2
        self.rootless: dict[Any, set[int]] = {}
        """By the outcomes of the comparisons before a root: which roots, by their place, met a number that has none.
        The number under such a root is no square of what was made before it."""
        self.numbers = sorted({*programs.numbers, *asked.numbers} - {Fraction(0)})
        inputs = enumerate(zip(asked.arguments, programs.dtypes, shape.inputs, strict=True))
        given = asked.structures
        self.slots = [Slot(name, kind, lengths, k, given.get(name)) for k, (name, kind, lengths) in inputs]
        self.slots += [Slot(name, "held", (), ("parameter", k)) for k, name in enumerate(asked.parameters)]

    def run(self) -> Seen:
        """Evaluate at points until a few in a row decide nothing new, then at special ones; return what was seen."""
        seen, limits, nothing_new = self.seen, self.asked.limits, 0
        # Numbers that the programs compare with make more regions, some of which are rarely met.
        patience = 2 + 2 * min(len(self.numbers), 3)
        for k in range(TRIES):  # ordinary points
            if nothing_new >= patience or seen.points >= limits.points or limits.reached():
                break
            if seen.regions == {((), ())}:  # nothing is compared, and there are no integers
                break
            regions_before, points_before = len(seen.regions), seen.points
            self._at_point(k, False)
            if seen.points > points_before:
                nothing_new = 0 if len(seen.regions) > regions_before else nothing_new + 1
            if len(seen.open) + len(seen.rounded) >= POINTS:
                break
        compares = self.asked.boundaries and any(decided for decided, _ in seen.regions)
        for k in range(TRIES if seen.points and limits.special else 0):
            if (seen.special >= limits.special and not (compares and limits.seams > 0)) or limits.reached():
                break
            self._at_point(k, True)
            limits.seams -= self.claims.entries_known
        return seen

    def _at_point(self, k: int, special: bool) -> None:
        """Evaluate at one real point, with as many points of the field as make the error bound small enough.

        Each attempt draws another point of the field beside the same real numbers: where a number has no root in the
        field, and where the sign of a root may have been right by luck. Raises FoundError where a claim fails.
        """
        name, agreed, limits = f"{self.asked.name} {self.shape} {k} {special}", 0, self.asked.limits
        for attempt in range(ROOTS):
            model = self.model
            model.begin(f"{name} {attempt}", self.width)
            point = self._point(name, k, special)
            try:
                if attempt == 0 and not self.asked.holds(point, self.case, self.shape):
                    return
                model.tie = False
                model.decided.clear()
                try:
                    self.claims.run(special, special and self.seen.special >= limits.special)
                finally:
                    limits.entries -= self.claims.entries_known
            except NoRootError:  # the next attempt draws another point of the field
                self.rootless.setdefault(tuple(model.decided), set()).add(len(model.before_roots))
                if limits.reached():
                    return
                continue
            except (SpecialError, NoSlopeError, OpenError):
                return
            except UnequalError as error:
                self.seen.open.append(str(error))
                return
            except (RoundedError, NoConstantRootError) as error:
                self.seen.rounded.append(str(error))
                return
            except DiffersError as error:
                raise FoundError(_difference(error, self.shape, point)) from None
            # As many exponents as values may be independent only because there are no more values: try with more.
            if self.width < MAX_WIDTH and rank(model.exponents) >= self.width:
                self.width = min(MAX_WIDTH, 2 * self.width)
                continue
            agreed += 1
            roots_are_free = self._roots_are_free()
            by_luck = 0.0 if roots_are_free else agreed * log2(1 - 2.0 ** -len(model.before_roots))
            if special or roots_are_free or by_luck < LOG2_ERROR or limits.reached():
                self._count(None if roots_are_free else by_luck, attempt + 1, special, point)
                return

    def _point(self, name: str, k: int, special: bool) -> Point:
        """Return the k-th point: each attempt draws new numbers of the field, and the same real numbers."""
        rng = Random(name)
        point = drawn(self.model, self.slots, rng, k, special, self.numbers)
        outputs = enumerate(self.programs.outputs)
        seeds = {(o, at): seed_of(self.model, o, at, rng) for o, lengths in outputs for at in np.ndindex(lengths)}
        self.claims.at({**point.entries, **self._weights(rng)}, seeds)
        return point

    def _weights(self, rng: Random) -> dict[Any, Number]:
        """Return weights for the indices of each symbolic size, and their sums."""
        out: dict[Any, Number] = {}
        for length, count in self.programs.lengths.items():
            keys = [(weight(length), (k,)) for k in range(count)]
            out |= {key: self.model.variable(key, ball(Fraction(rng.randrange(1, 2**20), 2**18))) for key in keys}
            if isinstance(length, Size):
                out[total(length.name), ()] = self.model.lifted(sum((out[key] for key in keys[1:]), out[keys[0]]))
        return out

    def _roots_are_free(self) -> bool:
        """Return whether no number under a root may be a square: each met a value without a root, in this region."""
        return all(k in self.rootless.get(before, ()) for k, before in enumerate(self.model.before_roots))

    def _count(self, by_luck: float | None, attempts: int, special: bool, point: Point) -> None:
        """Count a point at which the claims hold, with its region and its bound.

        `by_luck` is the binary logarithm of the probability that the signs of roots were right by luck at all points of
        the field; None where no number under a root may be a square.
        """
        if special:
            self.seen.special += 1
            return
        self.seen.points += 1
        integers = tuple(u for u in point.entries.values() if isinstance(u, int))
        self.seen.regions.add((tuple(self.model.decided), integers))
        exact = bound(self.model, self.claims.degree, self.claims.compared, attempts)
        log2_bound = inf if exact is None else float(exact)
        self.seen.lucky = self.seen.lucky or by_luck is not None
        self.seen.bound = max(self.seen.bound, log2_bound if by_luck is None else max(log2_bound, by_luck))


def _difference(error: DiffersError, shape: Shape, point: Point) -> Difference:
    floats = {name: np.vectorize(as_float, otypes=[object])(x).tolist() for name, x in point.arrays.items()}
    return Difference(error.claim, error.where, error.left, error.right, shape.named, floats, error.reason)
