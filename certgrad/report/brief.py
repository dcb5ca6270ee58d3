"""A finding in one line, as a compiler prints it. Details are for `certgrad explain`."""

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
"""How both sides of an obligation are said."""
_FIGURES = (3, 6, 12, 24)
_RIGHT_WHERE = re.compile(re.escape(PROVED_WHERE).replace(r"\{0\}", "(.*)", 1).replace(r"\{0\}", ".*"))


def of_claim(one: RuleResult, claim: Claim, cases: Sequence[CaseClaim], also: Sequence[str] = ()) -> str:
    """Return what is wrong with a claim in one line: its most telling case, and where in the code.

    A claim that is not refuted begins with its verdict; codes of claims that are open for the same reason follow.
    """
    if not cases:
        return claim.verdict
    case = max(cases, key=lambda c: (c.verdict == claim.verdict, LIKELY_CAUSE in c.reason))
    lines = case.reason.splitlines()
    parts = _refuted(claim, case, lines) if claim.verdict == "refuted" else [_verdict_and_reason(claim, lines)]
    beside = (
        [f"shapes inferred: {case_name(case, one.inferred)}"]
        if one.inferred
        else [case_name(case)] * (len(claim.cases) > 1)
    )
    more = len(cases) - 1
    beside += [f"{more} more case{'' if more == 1 else 's'}"] * (more > 0)
    beside += [open_too(also)] if also else []
    beside += [_line(line.removeprefix(SEE_LINE), one) for line in lines if line.startswith(SEE_LINE)]
    return " ".join(["; ".join(parts), *([f"({'; '.join(beside)})"] if beside else [])])


def _refuted(claim: Claim, case: CaseClaim, lines: Sequence[str]) -> list[str]:
    """Return where alone the claim is right, then the likely causes; without both, the two sides at the witness."""
    where = [f"{RIGHT_WHERE}{symbols(found[1])}" for line in lines if (found := _RIGHT_WHERE.fullmatch(line))]
    of: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith(LIKELY_CAUSE):
            whose, _, cause = line.partition(": ")
            of.setdefault(cause, []).append(whose.removeprefix(OF_COTANGENT) if whose != LIKELY_CAUSE else "")
    mistakes_first = sorted(of, key=lambda cause: cause.startswith(RIGHT_WHERE))
    causes = [_of_cotangents(of[cause]) + cause for cause in mistakes_first if cause not in where]
    if where or causes:
        return [*where, *causes]
    return [_sides(claim, case.witness)] if case.witness is not None else [*lines[:1]] or [claim.verdict]


def _of_cotangents(names: Sequence[str]) -> str:
    if names == [""]:
        return ""
    *first, last = names
    return f"the cotangents of {', '.join(first)} and {last}: " if first else f"the cotangent of {last}: "


def _verdict_and_reason(claim: Claim, lines: Sequence[str]) -> str:
    """Return the verdict and its reason: a contradiction in floats, or why there is no proof."""
    why = claim.contradicted or " ".join(lines[:1])
    return f"{claim.verdict}: {why}" if why else claim.verdict


def _sides(claim: Claim, witness: Witness) -> str:
    """Return both sides at the witness, with enough figures to show that they differ."""
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
    """The line of the rule's own file that a likely cause names, or else that of the function that is wrong; 0 where
    nothing names one.
    """
    file = re.escape(one.where.rpartition(":")[0])
    reasons = [case.reason for case in cases if case.verdict == "refuted"]
    for pattern in (rf"^{LIKELY_CAUSE}\b.*\bline (\d+) of {file}\b", rf"^{SEE_LINE}{file}:(\d+)$"):
        for reason in reasons if file else []:
            if named := re.search(pattern, reason, re.MULTILINE):
                return int(named[1])
    return 0


def _line(where: str, one: RuleResult) -> str:
    """Return a line number in the rule's own file, or a file and line."""
    file, _, line = where.rpartition(":")
    return f"line {line}" if file == one.where.rpartition(":")[0] else where


def in_one_line(text: str) -> str:
    return " ".join(text.split())
