"""SARIF 2.1.0, the format of findings that code scanning and editors read.

The standard: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

import re
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

import msgspec

from certgrad.report.audited import Audit
from certgrad.report.codes import CODES, REMARKS, Code
from certgrad.report.findings import ERRORS
from certgrad.report.problems import Problem, ignored, path, problems

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
_LINK = re.compile(r"\[([^][]*)\]\(")
"""Matches text that SARIF reads as a link in a message: `x[i](t)`. A backslash prevents that."""
_ALL = [*CODES.values(), *REMARKS.values()]


def render(audit: Audit, version: str, base: Path) -> bytes:
    """Return the log of one run: the codes with their help, and a result for each finding and remark.

    Paths are relative to `base`, the root of the repository. Equal audits give equal bytes.
    """
    run = {
        "tool": {
            "driver": {
                "name": "certgrad",
                "version": version,
                "semanticVersion": version,
                "shortDescription": {"text": "Proves hand-written JAX derivative rules."},
                "rules": [_rule(code) for code in _ALL],
            }
        },
        "invocations": [_invocation(audit)],
        "columnKind": "unicodeCodePoints",
        "results": [_result(problem, base) for problem in problems(audit)],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(log), indent=2) + b"\n"


def _invocation(audit: Audit) -> dict[str, Any]:
    """Return the record of the run: whether it is complete, why not, and notes on ignored obligations."""
    notes = [{"level": "error", "message": {"text": problem}} for problem in audit.problems]
    notes += [{"level": "note", "message": {"text": text}} for text in ignored(audit)]
    return {"executionSuccessful": not audit.problems, **({"toolExecutionNotifications": notes} if notes else {})}


def _rule(code: Code) -> dict[str, Any]:
    """Return the record of a code, with the text of `certgrad explain` as its help."""
    return {
        "id": code.code,
        "name": "".join(part.capitalize() for part in code.kind.split("_")),
        "shortDescription": {"text": _sentence(code.title)},
        "fullDescription": {"text": _sentence(code.statement)},
        "help": {
            "text": f"{_sentence(code.statement)}\n\n{code.meaning}\n\nFor example:\n\n{code.example}",
            "markdown": f"{_sentence(code.statement)}\n\n{code.meaning}\n\n```python\n{code.example}\n```",
        },
        "defaultConfiguration": {"level": "error" if code.code in CODES or code.code in ERRORS else "note"},
        "properties": {"tags": ["correctness", "derivatives"], "precision": "very-high"},
    }


def _result(problem: Problem, base: Path) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": problem.code,
        "ruleIndex": next(k for k, code in enumerate(_ALL) if code.code == problem.code),
        "level": problem.level.value,
        "message": {"text": _LINK.sub(r"\\[\1](", f"{problem.title}\n{problem.text}")},
        "locations": [_location(problem, base)],
        # GitHub recognises an alert by the second one, and would else compute it from the lines around the place.
        "partialFingerprints": {
            "certgradFinding/v1": problem.fingerprint,
            "primaryLocationLineHash": f"{problem.fingerprint}:1",
        },
        "properties": {"verdict": problem.verdict},
    }
    if problem.covered:
        result["suppressions"] = [{"kind": "external", "justification": "listed in the project's baseline"}]
    return result


def _location(problem: Problem, base: Path) -> dict[str, Any]:
    """Return the location of a problem: the rule's name, with file and line if they are known."""
    named = {"logicalLocations": [{"fullyQualifiedName": problem.rule, "kind": "function"}]}
    file = path(problem.place, base)
    if not file:
        return named
    is_relative = not PurePosixPath(file).is_absolute()
    artifact = {"uri": quote(file), "uriBaseId": _ROOT} if is_relative else {"uri": Path(file).as_uri()}
    region = {"region": {"startLine": problem.place.line}} if problem.place.line else {}
    return {"physicalLocation": {"artifactLocation": artifact, **region}, **named}


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"
