"""Findings and remarks on rules: the rule, the code, and a digest that changes only if the finding does."""

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
"""Remarks on a rule or a module beside its obligations, by code. Only `--strict` fails on them, but for `ERRORS`."""
ERRORS = frozenset({MISDECLARED, NOT_IMPORTED})
"""Remarks on which an audit always fails: a declaration that does not fit, and a module that does not import."""
CODES_OF_UNAUDITED = frozenset({NOT_AUDITED, MISDECLARED, NOT_IMPORTED})
"""Remarks on rules without an audit: nothing is known of their obligations."""
EXACT = "exact"
STRICT = {"assumed": BOUNDED, EXACT: NOT_EXACT}
"""The names that `strict` takes, each with a remark to fail on; `exact` also turns on exact evaluation."""
ALL_CODES = (*CODES.values(), *REMARKS)


Strictness = bool | tuple[str, ...]
"""Whether an audit fails on all remarks; or names in `STRICT` of those that it fails on."""


def fatal(code: str, strict: Strictness) -> bool:
    """Return whether an audit with this strictness fails on a remark."""
    named = () if isinstance(strict, bool) else strict
    return strict is True or code in ERRORS or code in {STRICT[name] for name in named}


def unaudited(name: str) -> str:
    """Return the code for a rule or module that was not audited; the name of a rule contains a colon."""
    return NOT_AUDITED if ":" in name else NOT_IMPORTED


CODES_IN_A_ROW = frozenset({INFERRED, NO_GRADIENT, BOUNDED})
"""Remarks that the row of a rule in a table shows with its shapes, verdict and hypotheses."""


class Remark(msgspec.Struct, frozen=True):
    """A remark on a rule: what its proof does not cover, or why there is no proof."""

    code: str
    text: str
    wrong_at_other_shapes: bool = False
    """For inferred shapes: whether the rule is refuted or fails at other shapes that may be meant.

    Those have more axes, or fewer axes of arguments that are parameters by their names.
    """
    brief: str = ""
    """A shorter text for a line that begins with the rule's name; "" if `text` is to be used."""


class Finding(msgspec.Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """One obligation that is not proved, or one remark. Two findings are the same if all their fields are equal."""

    rule: str
    code: str
    verdict: str
    digest: str


def findings_of(rule: str, certificate: Certificate | None, remarks: Iterable[Remark] = ()) -> list[Finding]:
    """Return the findings about a rule: its claims that are not proved as written, and its remarks."""
    of_claims = [
        Finding(rule, claim.code, claim.verdict, _digest([*map(_difference, claim.cases)]))
        for claim in (certificate.claims if certificate else ())
        if claim.verdict not in PROVED_AS_WRITTEN
    ]
    return of_claims + [Finding(rule, r.code, REMARKS[r.code], _digest([_lasting(r.text)])) for r in remarks]


def _difference(case: CaseClaim) -> list[str]:
    """Return texts that say what is wrong in a case, without lines, times and the witness, which change by chance."""
    if case.verdict in PROVED_AS_WRITTEN:
        return []
    statics = [f"{k}={v}" for k, v in sorted(case.statics.items())]
    what = case.residual or (case.witness.relative_gap if case.witness else _lasting(case.reason))
    return [case.signature, *statics, case.verdict, what]


def _lasting(text: str) -> str:
    """Return a reason with `#` for its numbers, which are mostly lines and seconds."""
    return re.sub(r"\d+(\.\d+)?", "#", text)


def _digest(parts: list) -> str:
    return hashlib.blake2b(msgspec.json.encode(parts), digest_size=6).hexdigest()
