"""Certificates of one rule, at several sizes or static values, as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from certgrad.obligations.certificate import Certificate, each_once, sealed, worst
from certgrad.obligations.generality.looks import digest_of


def merged(certificates: Sequence[Certificate]) -> Certificate:
    """The conjunction of certificates with the same obligations."""
    first = certificates[0]

    def all_of(name: str, parts: Sequence[Any]) -> list[Any]:
        return [x for part in parts for x in getattr(part, name) or ()]

    claims = []
    for k, claim in enumerate(first.claims):
        same = [c.claims[k] for c in certificates]
        claims.append(
            msgspec.structs.replace(
                claim,
                verdict=worst([c.verdict for c in same]),
                cases=all_of("cases", same),
                hypotheses=each_once(all_of("hypotheses", same)),
                **{name: sorted({*all_of(name, same)}) for name in ("facts", "idealisations", "measured")},
            )
        )
    found = all_of("sizes", certificates)
    sizes = [s for k, s in enumerate(found) if s not in found[:k]]
    return sealed(
        msgspec.structs.replace(
            first,
            signature=list(dict.fromkeys(all_of("signature", certificates))),
            verdict=worst([c.verdict for c in claims]),
            claims=claims,
            sizes=sizes or msgspec.UNSET,
            **rests_on(certificates),
        )
    )


def rests_on(certificates: Sequence[Certificate]) -> dict[str, Any]:
    """What the claims of several certificates rest on together: the fields of one that holds them all."""
    return {
        "digest": digest_of(c.digest for c in certificates),
        "rules_used": sorted({rule for c in certificates for rule in c.rules_used}),
        "traced": [case for c in certificates for case in c.traced],
        "literals": list({m.literal: m for c in certificates for m in c.literals}.values()),
    }
