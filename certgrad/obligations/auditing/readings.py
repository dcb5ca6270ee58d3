"""Whether a proof with literals read as exact numbers is about the program as written.

Where a literal stands on a jump, as in `square(1.7320508075688772) >= 3`, the number that it was rounded from says
nothing of what runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import msgspec
import numpy as np

from certgrad.obligations import verify
from certgrad.obligations.balls import NEGLIGIBLE, Literals, Run, Stored, reads_otherwise, shortest
from certgrad.obligations.balls._jaxpr import floats
from certgrad.obligations.balls._scalars import Real, rational
from certgrad.obligations.certificate import CaseClaim, Certificate, Claim, with_cases, with_claims, with_each_case
from certgrad.obligations.generality.traces import Traces
from certgrad.obligations.meaning.literals import ClosedForm, LongLiteral, Reading

from .look import places

APART = {"float64": 1e-6, "float32": 1e-3}
"""By how much of the largest output a reading may change the outputs, where literals have that many bits."""
_NEGLIGIBLE = {"float64": NEGLIGIBLE, "float32": 2.0**-16}
MOST_NAMED = 3
"""Literals that a reason names; the others are not listed."""


class AsRead:
    """Literals as closed forms, by the decimals that are written."""

    def __init__(self, meant: Mapping[LongLiteral, ClosedForm]) -> None:
        self.meant = {rational(Fraction(one.text)): rational(form.approximately()) for one, form in meant.items()}

    def __call__(self, x: Any, dtype: Any) -> Real:
        decimal = shortest(x, dtype)
        return self.meant.get(decimal) or -self.meant.get(-decimal, -decimal)


def refused_literals(runs: Sequence[Run], reading: Reading) -> list[LongLiteral]:
    """The literals that cannot be read so: with them, a program decides otherwise at a point, or is far from itself."""
    if not reading.meant:
        return []
    apart = max(APART[literal.dtype] for literal in reading.meant)

    def otherwise(literals: Literals) -> bool:
        return any(reads_otherwise(run, literals, shortest, apart) for run in runs)

    if not otherwise(AsRead(reading.meant)):
        return []
    return [one for one, form in reading.meant.items() if otherwise(AsRead({one: form}))] or [*reading.meant]


Proof = TypeVar("Proof")


def read_otherwise(
    plain: Reading, prove: Callable[[Reading], Proof | None], runs: Callable[[Proof], Sequence[Run]]
) -> tuple[Proof, Reading] | None:
    """Return the proof with literals read as what they stand for, but for those that cannot be read so, and this
    reading.

    `prove` returns the proof with a reading, None where something is not proved; `runs` are the programs at points.
    """
    moving = plain.moving()
    while moving is not None:
        found = prove(moving)
        if found is None:
            return None
        literals = refused_literals(runs(found), moving)
        if not literals:
            return found, moving
        plain.refused.setdefault(_why_refused(literals, moving))
        moving = moving.without(literals)
    return None


def _why_refused(literals: Iterable[LongLiteral], reading: Reading) -> str:
    """The reason, in an open obligation, why literals are not read as the numbers that they may be rounded from."""
    texts = [f"{one.text} is not read as {reading.meant[one].text()}" for one in literals]
    return f"{', '.join(texts)}, as a comparison, a rounding, a sign or an output would come out otherwise"


def as_stored(runs: Iterable[Run], widths: Sequence[str]) -> str:
    """Return why nothing is claimed: floats as these dtypes store them decide a comparison unlike the decimals written;
    "" if none does.
    """
    for run in runs:
        rounded = rounded_in(run[0], widths)
        for width in widths if rounded else ():
            limits = APART[width], _NEGLIGIBLE[width]
            if reads_otherwise(run, shortest, Stored(width), *limits):
                alone = (x for x in rounded if reads_otherwise(run, shortest, _Alone(Stored(width), float(x)), *limits))
                texts = ", ".join(map(str, [*alone][:MOST_NAMED] or rounded[:MOST_NAMED]))
                return f"with {texts} as {width} stores it, a comparison, a sign or an output comes out otherwise"
    return ""


def rounded_in(program: Any, widths: Sequence[str]) -> list[np.generic]:
    """The floats in a program that one of the dtypes stores as other numbers than the decimals that are written."""
    return [*dict.fromkeys(x for x in floats(program) if any(_stores_another(x, width) for width in widths))]


def _stores_another(x: np.generic, width: str) -> bool:
    return bool(Stored(width)(x, x.dtype) != shortest(x, x.dtype))


@dataclass(frozen=True, eq=False)
class _Alone:
    """A reading of one literal, with all others as written."""

    reading: Literals
    value: float

    def __call__(self, x: Any, dtype: Any) -> Real:
        return (self.reading if float(x) == self.value else shortest)(x, dtype)


def ordinary_runs(traces: Traces, certificate: Certificate, index: int) -> Iterator[Run]:
    """The programs of a case at concrete shapes, at points without coincidences."""
    return verify.ordinary_runs(traces.op, certificate, index, places(traces, index, narrow=True))


def with_reason(certificate: Certificate, reasons: Collection[str]) -> Certificate:
    """Return a certificate with further reasons in its open claims."""
    if not reasons:
        return certificate
    change = msgspec.structs.replace

    def case(_: Claim, one: CaseClaim) -> CaseClaim:
        return change(one, reason="; ".join([one.reason, *reasons])) if one.verdict == "unproved" else one

    return with_each_case(certificate, case)


def unproved(certificate: Certificate, index: int, reason: str) -> Certificate:
    """Return a certificate in which one case is not claimed."""
    change = msgspec.structs.replace

    def claim(one: Claim) -> Claim:
        cases = [change(c, verdict="unproved", reason=reason) if k == index else c for k, c in enumerate(one.cases)]
        return with_cases(one, cases)

    return with_claims(certificate, map(claim, certificate.claims))
