"""`# certgrad: ignore[CG102] reason` on the lines of a definition, from its first decorator to its `def`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping

import msgspec

from certgrad.errors import UsageError
from certgrad.obligations.certificate import CODES, Certificate, sealed, worst

_COMMENT = re.compile(r"#\s*certgrad:\s*ignore\[([^\]]*)\]\s*(.*)")


def ignores_of(plain: Callable) -> dict[str, str]:
    """The codes that the definition ignores, each with the reason.

    Raises:
        UsageError: a code is unknown, or no reason is given.
    """
    try:
        lines, first = inspect.getsourcelines(plain)
    except (OSError, TypeError):
        return {}
    found: dict[str, str] = {}
    for number, line in enumerate(lines, first):
        for codes, reason in _COMMENT.findall(line):
            for code in (c.strip() for c in codes.split(",")):
                if code not in CODES.values():
                    raise UsageError(f"Line {number} ignores '{code}', which is no code; those are {_known()}.")
                if not reason.strip():
                    raise UsageError(f"Line {number} ignores {code} without a reason: write it after the bracket.")
                found[code] = reason.strip()
        if re.match(r"\s*(async\s+)?def\s", line):
            break
    return found


def without_ignored(certificate: Certificate, ignores: Mapping[str, str]) -> tuple[Certificate, list[str]]:
    """The certificate without the findings that are ignored, and the codes that were."""
    finding = ("refuted", "unproved")
    used = [c.code for c in certificate.claims if c.code in ignores and c.verdict in finding]
    if not used:
        return certificate, []
    claims = [c for c in certificate.claims if c.code not in used]
    verdict = worst([c.verdict for c in claims])
    return sealed(msgspec.structs.replace(certificate, claims=claims, verdict=verdict)), used


def _known() -> str:
    return ", ".join(CODES.values())
