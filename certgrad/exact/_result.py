"""The result of an exact check, and its wording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from certgrad.signatures.cases import Case

from ._claims import Difference

Verdict = Literal["agrees", "differs", "undecided", "outside"]
LARGEST = 4
"""The largest "all sizes up to N" that is looked for among the compared sizes."""


@dataclass(frozen=True)
class Result:
    """What exact evaluation says of a rule.

    `agrees`: all claims hold at the points that were looked at, by the laws. `differs`: a claim fails over the reals,
    at `difference`. `undecided`: both sides agree to many digits, and not by the laws. `outside`: nothing is said of
    the rule, and `reason` says why.
    """

    name: str
    verdict: Verdict
    reason: str
    difference: Difference | None
    sizes: tuple[dict[str, int], ...]
    """The sizes at which the claims were compared with a bound that is small enough; a group of axes `*s` counts as one
    axis, with its length."""
    up_to: int
    """For each case, all sizes up to this number are among `sizes`; 0 where there is no such number."""
    open: bool
    """Whether the signature leaves sizes open."""
    everywhere: bool
    """Whether the claims hold at all sizes, by the theorems of docs/exact.md."""
    limited: str
    """Why they are not known to hold at all sizes; "" where they are."""
    points: int
    special: int
    """Points with zeros and ties, at which a rule has to be defined where the function is smooth."""
    regions: int
    """How many regions were met at the shape that met most: outcomes of all comparisons, with the point's integers.
    What holds at a point is said of its region."""
    bound: int | None
    """The binary logarithm of a bound on the probability that different sides are taken for equal, at each of the
    sizes; None where no bound is known."""
    rounded: bool
    """Whether floats with all of their digits are read as closed forms that round to them."""
    seconds: float


VERDICTS: tuple[Verdict, ...] = ("agrees", "outside", "undecided", "differs")


def together(results: Sequence[Result]) -> Result:
    """Return the results of several cases as one: the worst verdict, at sizes only if each case has some."""
    exact = all(result.sizes or result.everywhere for result in results)
    bounds = [result.bound for result in results if result.bound is not None]
    return replace(
        max(results, key=lambda result: VERDICTS.index(result.verdict)),
        sizes=tuple(size for result in results for size in result.sizes if exact),
        up_to=min(result.up_to for result in results),
        open=any(result.open for result in results),
        everywhere=exact and all(result.everywhere or not result.open for result in results),
        limited=next((result.limited for result in results if result.open and result.limited), ""),
        points=sum(result.points for result in results),
        special=sum(result.special for result in results),
        regions=max(result.regions for result in results),
        bound=max(bounds) if len(bounds) == len(results) else None,
        rounded=any(result.rounded for result in results),
        seconds=round(sum(result.seconds for result in results), 3),
    )


def up_to(case: Case, sizes: Sequence[Mapping[str, int]]) -> int:
    """Return the largest N ≤ `LARGEST` with all sizes from 1 to N of a case, and of groups as one axis; 0 if none."""
    names = [*case.names, *(f"*{star}" for star in case.signature.stars)]
    compared = {tuple(choice[name] for name in names) for choice in sizes if choice.keys() >= {*names}}
    fitting = (n for n in range(LARGEST, 0, -1) if n ** len(names) <= len(compared))
    return next((n for n in fitting if compared >= {*product(range(1, n + 1), repeat=len(names))}), 0)


def level(result: Result) -> str:
    """Return the level of an agreement in words; "" where there is none."""
    if result.verdict != "agrees":
        return ""
    if not result.sizes and not result.everywhere:
        bound_in_words = f"the error is bounded by 2^{result.bound} alone, and not by 2^-80"
        return f"at points: {'no bound on the error is known' if result.bound is None else bound_in_words}"
    at = (
        "for all sizes"
        if result.everywhere
        else f"at sizes ≤ {result.up_to}"
        if result.up_to
        else f"at {len(result.sizes)} choice{'s' if len(result.sizes) > 1 else ''} of sizes"
    )
    count = result.regions
    regions = f", in {count} region{'s' if count > 1 else ''}" if count else ""
    rounded = ", up to the rounding of literals" if result.rounded else ""
    return f"exact {at if result.open else 'at its shapes'}{regions}{rounded}"
