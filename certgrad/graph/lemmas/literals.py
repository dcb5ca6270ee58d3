"""The words in a lemma on how literals are read."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from certgrad.graph.certificate import Lemma
from certgrad.obligations.certificate import VerdictName
from certgrad.obligations.meaning.literals import Reading


def up_to_rounding(lemma: Lemma, reading: Reading) -> Lemma:
    """Return the lemma as proved up to rounding, with notes on literals read as closed forms, and on approximations."""
    rounded: VerdictName = "proved up to rounding"
    change = msgspec.structs.replace
    obligations = [change(o, verdict=rounded, reason="; ".join(reading.idealisations())) for o in lemma.obligations]
    notes = sorted([*lemma.idealisations, *reading.idealisations()])
    return change(lemma, verdict=rounded, obligations=obligations, idealisations=notes)


def with_reason(lemma: Lemma, reasons: Collection[str]) -> Lemma:
    """Return the lemma with further reasons in its open obligations."""
    change = msgspec.structs.replace
    obligations = [
        change(o, reason="; ".join([o.reason, *reasons])) if o.verdict == "unproved" else o for o in lemma.obligations
    ]
    return change(lemma, obligations=obligations)
