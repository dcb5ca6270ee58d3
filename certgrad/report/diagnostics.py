"""Diagnostics for editors: the findings of a rule, and a text with its verdict and hypotheses for hovering.

Their form is that of the language server protocol, version 3.17:
https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification
"""

from __future__ import annotations

from typing import Any

import msgspec

from certgrad.report.audited import Audit, RuleResult, conditions, signatures
from certgrad.report.problems import Level, Problem, problems

SOURCE = "certgrad"
_SEVERITIES = {Level.error: 1, Level.warning: 2, Level.note: 3}
LINE_END = 2**31 - 1
"""A column past the end of every line, which editors take for the end."""


class RuleDiagnostics(msgspec.Struct, frozen=True, kw_only=True):
    """The diagnostics of one rule, as `certgrad audit --follow` prints them in one line."""

    result: RuleResult
    diagnostics: list[dict[str, Any]]
    hover: str
    """The text for hovering over the rule, in Markdown."""


def rule_diagnostics(audit: Audit) -> list[RuleDiagnostics]:
    """Return the diagnostics of each rule that has a file, without findings that a baseline covers."""
    listed = problems(audit)
    return [
        RuleDiagnostics(
            result=msgspec.structs.replace(one, report="", exhibit=b""),
            diagnostics=[_diagnostic(p) for p in listed if p.rule == one.name and not p.covered],
            hover=_hover(one),
        )
        for one in audit.results
        if one.place.file
    ]


def _diagnostic(problem: Problem) -> dict[str, Any]:
    line = max(problem.line - 1, 0)
    return {
        "range": {"start": {"line": line, "character": 0}, "end": {"line": line, "character": LINE_END}},
        "severity": _SEVERITIES[problem.level],
        "code": problem.code,
        "source": SOURCE,
        "message": f"{problem.rule.rpartition(':')[2]}: {problem.brief}",
    }


def _hover(one: RuleResult) -> str:
    certificate = one.certificate
    if certificate is None:
        return "\n\n".join([f"**{one.name}**", *(remark.text for remark in one.remarks)])
    inferred = " (inferred)" if one.inferred else ""
    lines = [f"**{one.name}**: {one.stated}"]
    lines += [f"for {' and '.join(f'`{s}`' for s in signatures(certificate, inferred=one.inferred))}{inferred}"]
    if under := conditions(certificate):
        lines.append("\n".join(f"- `{text}`" for text in under))
    return "\n\n".join(lines)
