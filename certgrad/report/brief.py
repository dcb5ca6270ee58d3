"""Findings in one line, as a compiler prints them. `certgrad explain` has the details."""

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

from certgrad.obligations.certificate import CaseClaim, Claim, Witness
from certgrad.report.audited import RuleResult, case_name
from certgrad.report.wording import (
    LIKELY_CAUSE,
    OF_COTANGENT,
    PROVED_WHERE,
    RIGHT_WHERE,
    SEE_LINE,
    figures,
    open_too,
    symbols,
)

_BOTH = {
    "jvp_is_derivative": "the JVP is {0}, the derivative {1}",
    "vjp_is_adjoint": "the VJP gives {1}, the JVP {0}",
    "rule_runs_forward": "the rule returns {0}, the function {1}",
    "forward_equals_reference": "the forward is {0}, the reference {1}",
}
"""The wording of both sides of an obligation: {0} is the left side, {1} the right one."""
_FIGURES = (3, 6, 12, 24)
_RIGHT_WHERE = re.compile(re.escape(PROVED_WHERE).replace(r"\{0\}", "(.*)", 1).replace(r"\{0\}", ".*"))


def of_claim(one: RuleResult, claim: Claim, cases: Sequence[CaseClaim], also: Sequence[str] = ()) -> str:
    """Return in one line what is wrong with a claim: the reason of one case, and the line of the code.

    The case is one with the verdict of the claim and, if there is any, with a likely cause. The line of a claim that is
    not refuted begins with its verdict. `also` are the codes of claims that are open for the same reason.
    """
    if not cases:
        return claim.verdict
    case = max(cases, key=lambda c: (c.verdict == claim.verdict, LIKELY_CAUSE in c.reason))
    lines = case.reason.splitlines()
    parts = _refuted(claim, case, lines) if claim.verdict == "refuted" else [_verdict_and_reason(claim, lines)]
    details = (
        [f"shapes inferred: {case_name(case, one.inferred)}"]
        if one.inferred
        else [case_name(case)] * (len(claim.cases) > 1)
    )
    further_count = len(cases) - 1
    details += [f"{further_count} more case{'' if further_count == 1 else 's'}"] * (further_count > 0)
    details += [open_too(also)] if also else []
    details += [_line(line.removeprefix(SEE_LINE), one) for line in lines if line.startswith(SEE_LINE)]
    return " ".join(["; ".join(parts), *([f"({'; '.join(details)})"] if details else [])])


def _refuted(claim: Claim, case: CaseClaim, lines: Sequence[str]) -> list[str]:
    """Return texts: where the claim is right, and the likely causes; if there are neither, the sides at the witness."""
    where = [f"{RIGHT_WHERE}{symbols(match[1])}" for line in lines if (match := _RIGHT_WHERE.fullmatch(line))]
    owners: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith(LIKELY_CAUSE):
            owner, _, cause = line.partition(": ")
            owners.setdefault(cause, []).append(owner.removeprefix(OF_COTANGENT) if owner != LIKELY_CAUSE else "")
    mistakes_first = sorted(owners, key=lambda cause: cause.startswith(RIGHT_WHERE))
    causes = [_of_cotangents(owners[cause]) + cause for cause in mistakes_first if cause not in where]
    if where or causes:
        return [*where, *causes]
    return [_sides(claim, case.witness)] if case.witness is not None else [*lines[:1]] or [claim.verdict]


def _of_cotangents(names: Sequence[str]) -> str:
    if names == [""]:
        return ""
    *first, last = names
    return f"the cotangents of {', '.join(first)} and {last}: " if first else f"the cotangent of {last}: "


def _verdict_and_reason(claim: Claim, lines: Sequence[str]) -> str:
    """Return the verdict with its reason: a contradiction in floats, or else why there is no proof."""
    why = claim.contradicted or " ".join(lines[:1])
    return f"{claim.verdict}: {why}" if why else claim.verdict


def _sides(claim: Claim, witness: Witness) -> str:
    """Return both sides at the witness, with as many figures as are needed to show that they differ."""
    sides = [witness.lhs.midpoint, witness.rhs.midpoint]
    shown = next((s for n in _FIGURES if (s := [_rounded(x, n) for x in sides])[0] != s[1]), sides)
    at = ", ".join(f"{name} = {value}" for name, value in [*witness.dims.items(), *witness.statics.items()])
    both = _BOTH[claim.kind]
    if "jvp(" not in claim.statement:
        both = both.replace("the JVP", "the derivative")
    return both.format(*shown) + (f" at {at}" if at else "")


def _rounded(midpoint: str, count: int) -> str:
    try:
        return figures(Decimal(midpoint), count)
    except InvalidOperation:
        return midpoint


def faulty_line(one: RuleResult, cases: Sequence[CaseClaim]) -> int:
    """Return the line of the rule's file that is wrong; 0 if it is not known.

    That is the line that a likely cause names, or else the line of the function that is wrong.
    """
    file = re.escape(one.where.rpartition(":")[0])
    reasons = [case.reason for case in cases if case.verdict == "refuted"]
    for pattern in (rf"^{LIKELY_CAUSE}\b.*\bline (\d+) of {file}\b", rf"^{SEE_LINE}{file}:(\d+)$"):
        for reason in reasons if file else []:
            if match := re.search(pattern, reason, re.MULTILINE):
                return int(match[1])
    return 0


def _line(where: str, one: RuleResult) -> str:
    """Return a place as `line 12` if it is in the file of the rule, else as file and line."""
    file, _, line = where.rpartition(":")
    return f"line {line}" if file == one.where.rpartition(":")[0] else where


def in_one_line(text: str) -> str:
    return " ".join(text.split())
