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

    `agrees`: all claims hold at the points that were looked at, by the laws. `differs`: one does not, over the reals,
    at `difference`. `undecided`: both sides agree to many digits, and not by the laws. `outside`: nothing is said, for
    the reason that is given.
    """

    name: str
    verdict: Verdict
    reason: str
    difference: Difference | None
    sizes: tuple[dict[str, int], ...]
    """Those at which the claims were compared with a bound that is small enough; of a group of axes `*s` that is one
    axis, its length."""
    up_to: int
    """All sizes up to this number are among them, for each case; 0 where they are not."""
    open: bool
    """Whether the signature leaves sizes open."""
    everywhere: bool
    """The claims hold at all sizes, by the theorem."""
    limited: str
    """Why that is not said."""
    points: int
    special: int
    """Points with zeros and ties, at which a rule has to be defined where the function is smooth."""
    regions: int
    """How many ways there were for comparisons to fall out, and for integers to be, among the points of a shape. What
    holds at a point is said of its region."""
    bound: int | None
    """What differs is taken for equal with a probability of less than 2 to the power of this, at each of the sizes;
    None where no bound is known."""
    rounded: bool
    """Floats with all of their digits are read as closed forms that round to them."""
    seconds: float


VERDICTS: tuple[Verdict, ...] = ("agrees", "outside", "undecided", "differs")


def together(results: Sequence[Result]) -> Result:
    """Return the results of several cases as one: the worst verdict, exact if each of them is."""
    exact = all(one.sizes or one.everywhere for one in results)
    bounds = [one.bound for one in results if one.bound is not None]
    return replace(
        max(results, key=lambda one: VERDICTS.index(one.verdict)),
        sizes=tuple(size for one in results for size in one.sizes if exact),
        up_to=min(one.up_to for one in results),
        open=any(one.open for one in results),
        everywhere=exact and all(one.everywhere or not one.open for one in results),
        limited=next((one.limited for one in results if one.open and one.limited), ""),
        points=sum(one.points for one in results),
        special=sum(one.special for one in results),
        regions=max(one.regions for one in results),
        bound=max(bounds) if len(bounds) == len(results) else None,
        rounded=any(one.rounded for one in results),
        seconds=round(sum(one.seconds for one in results), 3),
    )


def up_to(case: Case, sizes: Sequence[Mapping[str, int]]) -> int:
    """The number up to which all sizes of a case are among these, and all groups of axes as one axis."""
    names = [*case.names, *(f"*{star}" for star in case.signature.stars)]
    found = {tuple(one[name] for name in names) for one in sizes if one.keys() >= {*names}}
    fitting = (n for n in range(LARGEST, 0, -1) if n ** len(names) <= len(found))
    return next((n for n in fitting if found >= {*product(range(1, n + 1), repeat=len(names))}), 0)


def level(result: Result) -> str:
    """Return the level of an agreement in words; "" where there is none."""
    if result.verdict != "agrees":
        return ""
    if not result.sizes and not result.everywhere:
        known = f"the error is bounded by 2^{result.bound} alone, and not by 2^-80"
        return f"at points: {'no bound on the error is known' if result.bound is None else known}"
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
