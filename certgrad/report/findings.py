"""Findings as a project lives with them: which rule, which code, and a digest that changes when the finding does."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

import msgspec

from certgrad.obligations.certificate import CODES, PROVED_AS_WRITTEN, CaseClaim, Certificate

NOT_AUDITED, INFERRED, NO_GRADIENT, LEFT_OUT, IGNORED, MISDECLARED, OF_IDEAL, NOT_IMPORTED, BOUNDED, NOT_EXACT = (
    "CG201 CG202 CG203 CG204 CG205 CG206 CG207 CG208 CG209 CG210".split()
)
REMARKS = {
    NOT_AUDITED: "not audited",
    INFERRED: "shapes inferred",
    NO_GRADIENT: "no gradient",
    LEFT_OUT: "left out of the claim",
    IGNORED: "needless ignore",
    MISDECLARED: "wrong declaration",
    OF_IDEAL: "derivative of an ideal",
    NOT_IMPORTED: "not imported",
    BOUNDED: "bounds assumed",
    NOT_EXACT: "not exact",
}
"""What is said of a rule, or a module, beside its obligations. Only `--strict` fails on it, but for `ERRORS`."""
ERRORS = frozenset({MISDECLARED, NOT_IMPORTED})
"""What is wrong whatever a proof would say: a declaration that does not fit, and a module that does not import."""
CODES_OF_UNAUDITED = frozenset({NOT_AUDITED, MISDECLARED, NOT_IMPORTED})
"""Nothing is known of the obligations then."""
EXACT = "exact"
STRICT = {"assumed": BOUNDED, EXACT: NOT_EXACT}
"""What `strict` can name, where it does not mean all: a remark to fail on. Only `exact` has it evaluated exactly."""
ALL_CODES = (*CODES.values(), *REMARKS)


Strictness = bool | tuple[str, ...]
"""Whether an audit fails on all remarks, or the names in `STRICT` of those that it fails on."""


def fatal(code: str, strict: Strictness) -> bool:
    """Return whether an audit fails on a remark."""
    named = () if isinstance(strict, bool) else strict
    return strict is True or code in ERRORS or code in {STRICT[name] for name in named}


def unaudited(name: str) -> str:
    """Return the code of a rule, or a module, that was not audited: only rules have an object in their names."""
    return NOT_AUDITED if ":" in name else NOT_IMPORTED


CODES_IN_A_ROW = frozenset({INFERRED, NO_GRADIENT, BOUNDED})
"""What the row of a rule says with its shapes, its verdict and its hypotheses."""


class Remark(msgspec.Struct, frozen=True):
    """Something that the proof of a rule does not cover, or that there is no proof."""

    code: str
    text: str
    wrong_at_other_shapes: bool = False
    """Of inferred shapes: the rule is refuted at other ones, or fails at ones with more axes, or with fewer of what the
    names say is a parameter.
    """
    brief: str = ""
    """The same in a line that begins with the rule's name; empty where that is the whole text."""


class Finding(msgspec.Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """One obligation that is not proved, or one remark. Two findings are the same if all their fields are."""

    rule: str
    code: str
    verdict: str
    digest: str


def findings_of(rule: str, certificate: Certificate | None, remarks: Iterable[Remark] = ()) -> list[Finding]:
    """Return the findings about a rule."""
    found = [
        Finding(rule, claim.code, claim.verdict, _digest([*map(_difference, claim.cases)]))
        for claim in (certificate.claims if certificate else ())
        if claim.verdict not in PROVED_AS_WRITTEN
    ]
    return found + [Finding(rule, r.code, REMARKS[r.code], _digest([_lasting(r.text)])) for r in remarks]


def _difference(case: CaseClaim) -> list[str]:
    """Return what is wrong in a case, without lines, times and the drawn witness, which change while it does not."""
    if case.verdict in PROVED_AS_WRITTEN:
        return []
    statics = [f"{k}={v}" for k, v in sorted(case.statics.items())]
    what = case.residual or (case.witness.relative_gap if case.witness else _lasting(case.reason))
    return [case.signature, *statics, case.verdict, what]


def _lasting(text: str) -> str:
    """Return a reason without its numbers, which are mostly lines and seconds."""
    return re.sub(r"\d+(\.\d+)?", "#", text)


def _digest(parts: list) -> str:
    return hashlib.blake2b(msgspec.json.encode(parts), digest_size=6).hexdigest()
