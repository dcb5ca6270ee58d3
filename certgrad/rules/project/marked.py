"""Declarations that an audit infers for an undeclared rule: shapes, assumed bounds and a likely intent."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from certgrad.obligations.certificate import assumed
from certgrad.report.audited import RuleResult
from certgrad.report.findings import BOUNDED, INFERRED
from certgrad.report.wording import INTENDED, LIKELY_CAUSE
from certgrad.rules.declared.declaration import Declaration, marked_on
from certgrad.rules.declared.fix import Beside
from certgrad.rules.declared.written import UnwritableError, inline

from .configuration import declaration_from

NOT_DECLARED = "as nothing declares them; certgrad.declare does"
_MARKED = "as the declaration beside the rule is marked as inferred: read it, and remove the mark"
_OTHERWISE = "; that declaration has {}, which does not count while it is marked"
_INTENT = re.compile(rf"^{LIKELY_CAUSE}(?: in [^:]*)?: (.*); {re.escape(INTENDED)}$", re.MULTILINE)


def of_result(one: RuleResult) -> Beside | None:
    """Return what `audit --fix` is to write beside a rule, marked as inferred; None if there is nothing to write.

    That is the inferred shapes of a rule without a declaration, or the assumed bounds and a likely intent that its
    declaration does not state. What the project's baseline covers is not written.
    """
    codes = {r.code for r in one.remarks} - {*(one.covered or ())}
    bounds = tuple(assumed(one.certificate)) if BOUNDED in codes and one.certificate is not None else ()
    reason = _intent(one)
    if one.inferred and INFERRED in codes:
        declared = declaration_from(one.name, tomllib.loads(f"said = {one.inferred}")["said"], Path())
        return Beside(one.place.line, replace(declared, domain=bounds, surrogate=reason, origin="declared"))
    if (bounds or reason) and not one.inferred:
        return Beside(one.place.line, Declaration("", domain=bounds, surrogate=reason), whole=False)
    return None


def _intent(one: RuleResult) -> str:
    """Return why a refuted rule may be meant as it is, by the likely causes that the audit calls intended; else ""."""
    claims = one.certificate.claims if one.certificate is not None else []
    reasons = [case.reason for claim in claims if claim.code not in (one.covered or ()) for case in claim.cases]
    intents = dict.fromkeys(text for reason in reasons for text in _INTENT.findall(reason))
    return "; ".join(intents)


def as_marked(result: RuleResult, function: Any) -> RuleResult:
    """Return the result of a rule, in which the remark on inferred shapes speaks of a declaration marked as inferred.

    If there is such a mark beside the rule, the remark says so, and whether its shapes still are those that the audit
    infers. Without one the result is returned as it is.
    """
    marked = marked_on(function) if result.inferred else None
    if marked is None:
        return result
    try:
        written = inline(replace(marked, domain=(), surrogate=""))
    except UnwritableError:
        written = "another one"
    wording = _MARKED if written == result.inferred else _MARKED + _OTHERWISE.format(written)
    change = msgspec.structs.replace
    remarks = [
        change(r, text=r.text.replace(NOT_DECLARED, wording)) if r.code == INFERRED else r for r in result.remarks
    ]
    return change(result, remarks=remarks)
