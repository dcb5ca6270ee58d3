"""Whether a proof with literals read as exact numbers is about the program as written.

It is not if a literal stands on a jump, as in `square(1.7320508075688772) >= 3`: √3, from which the literal was
rounded, decides the comparison otherwise than the literal does.
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
"""How much a reading may change the outputs, relative to the largest, by the width of the literals."""
_NEGLIGIBLE = {"float64": NEGLIGIBLE, "float32": 2.0**-16}
MOST_NAMED = 3
"""The number of literals that a reason names, at most."""


class AsRead:
    """Reads a literal as its closed form, found by the decimal that is written; any other as this decimal."""

    def __init__(self, meant: Mapping[LongLiteral, ClosedForm]) -> None:
        self.meant = {
            rational(Fraction(literal.text)): rational(form.approximately()) for literal, form in meant.items()
        }

    def __call__(self, x: Any, dtype: Any) -> Real:
        decimal = shortest(x, dtype)
        return self.meant.get(decimal) or -self.meant.get(-decimal, -decimal)


def refused_literals(runs: Sequence[Run], reading: Reading) -> list[LongLiteral]:
    """Return the literals that cannot be read as closed forms; empty if all can.

    With the closed form of such a literal a program decides a comparison otherwise at a point, or its outputs are far
    from those with the decimals as written. If only several literals together do that, all are returned.
    """
    if not reading.meant:
        return []
    tolerance = max(APART[literal.dtype] for literal in reading.meant)

    def otherwise(literals: Literals) -> bool:
        return any(reads_otherwise(run, literals, shortest, tolerance) for run in runs)

    if not otherwise(AsRead(reading.meant)):
        return []
    return [single for single, form in reading.meant.items() if otherwise(AsRead({single: form}))] or [*reading.meant]


Proof = TypeVar("Proof")


def read_otherwise(
    plain: Reading, prove: Callable[[Reading], Proof | None], runs: Callable[[Proof], Sequence[Run]]
) -> tuple[Proof, Reading] | None:
    """Return a proof under another reading than `plain`, and this reading; None if there is none.

    All literals are read as closed forms at first. Those that cannot be read so, as the programs then run otherwise,
    are read as written in the next attempt.

    Args:
        plain: the reading as written, which knows the literals that were met.
        prove: returns the proof under a reading, or None if something is not proved.
        runs: returns the programs of a proof at points.
    """
    moving = plain.moving()
    while moving is not None:
        proof = prove(moving)
        if proof is None:
            return None
        refused = refused_literals(runs(proof), moving)
        if not refused:
            return proof, moving
        plain.refused.setdefault(_why_refused(refused, moving))
        moving = moving.without(refused)
    return None


def _why_refused(literals: Iterable[LongLiteral], reading: Reading) -> str:
    """Return the reason, for an open obligation, why literals are not read as closed forms."""
    texts = [f"{literal.text} is not read as {reading.meant[literal].text()}" for literal in literals]
    return f"{', '.join(texts)}, as a comparison, a rounding, a sign or an output would come out otherwise"


def as_stored(runs: Iterable[Run], widths: Sequence[str]) -> str:
    """Return why nothing is claimed: literals as one of these dtypes stores them make a program decide otherwise.

    "" if the programs run alike with the decimals as written. The reason names the literals that do it alone, if any.
    """
    for run in runs:
        rounded = rounded_in(run[0], widths)
        for width in widths if rounded else ():
            limits = APART[width], _NEGLIGIBLE[width]
            if reads_otherwise(run, shortest, Stored(width), *limits):
                decisive = (
                    x for x in rounded if reads_otherwise(run, shortest, _Alone(Stored(width), float(x)), *limits)
                )
                texts = ", ".join(map(str, [*decisive][:MOST_NAMED] or rounded[:MOST_NAMED]))
                return f"with {texts} as {width} stores it, a comparison, a sign or an output comes out otherwise"
    return ""


def rounded_in(program: Any, widths: Sequence[str]) -> list[np.generic]:
    """Return the literals of a program that one of the dtypes stores as another number than the decimal written."""
    return [*dict.fromkeys(x for x in floats(program) if any(_stores_another(x, width) for width in widths))]


def _stores_another(x: np.generic, width: str) -> bool:
    """Return whether a dtype stores a literal as another number than its shortest decimal."""
    return bool(Stored(width)(x, x.dtype) != shortest(x, x.dtype))


@dataclass(frozen=True, eq=False)
class _Alone:
    """Reads the literal `value` by `reading`, and all others as written."""

    reading: Literals
    value: float

    def __call__(self, x: Any, dtype: Any) -> Real:
        return (self.reading if float(x) == self.value else shortest)(x, dtype)


def ordinary_runs(traces: Traces, certificate: Certificate, index: int) -> Iterator[Run]:
    """Yield the programs of a case at concrete shapes, each at one point whose entries are in no special relation."""
    return verify.ordinary_runs(traces.op, certificate, index, places(traces, index, narrow=True))


def with_reason(certificate: Certificate, reasons: Collection[str]) -> Certificate:
    """Return the certificate with these reasons added to its unproved claims."""
    if not reasons:
        return certificate
    change = msgspec.structs.replace

    def case(_: Claim, old: CaseClaim) -> CaseClaim:
        return change(old, reason="; ".join([old.reason, *reasons])) if old.verdict == "unproved" else old

    return with_each_case(certificate, case)


def unproved(certificate: Certificate, index: int, reason: str) -> Certificate:
    """Return the certificate in which every claim about the case `index` is unproved, for this reason."""
    change = msgspec.structs.replace

    def claim(old: Claim) -> Claim:
        cases = [change(c, verdict="unproved", reason=reason) if k == index else c for k, c in enumerate(old.cases)]
        return with_cases(old, cases)

    return with_claims(certificate, map(claim, certificate.claims))
