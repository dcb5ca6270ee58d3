"""The second check of the library's certificates, `certgrad verify`, beside `check_grads` of the same ops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.bench._figure import Figure, ratio
from benchmarks.bench._subjects import LibraryOp, timed
from certgrad import audit
from certgrad.obligations.certificate import Certificate
from certgrad.obligations.verify import verify
from certgrad.ops import registry


@dataclass(frozen=True)
class Certified(LibraryOp):
    """An op with the certificate that an audit of now gives it."""

    certificate: Certificate

    def audit(self) -> str:
        """What comes of the second check."""
        return verify(self.certificate, self.op).outcome


def figures(short: bool) -> Iterator[Figure]:
    """Sums over ops, one in so many, of what is verified."""
    ops = list(registry)[:: 24 if short else 3]
    checked = [*timed([Certified(op.name, op, audit(op)) for op in ops])]
    verified = [one for one in checked if one.verdict == "verified"]
    slowest = max(verified, key=lambda one: one.audit)
    left_out = len(checked) - len(verified)
    note = f"{len(verified)} ops, {left_out} of the list not verified; most: {slowest.name}, {slowest.audit:.1f} s"
    ours, theirs = sum(one.audit for one in verified), sum(one.grads for one in verified)
    yield ratio("certificates verified", ours, theirs, "check_grads", note=note)
