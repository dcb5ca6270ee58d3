"""`# certgrad: ignore[CG102] reason` on the lines of a definition, from its first decorator to its `def`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from certgrad.obligations.certificate import Certificate, ignoring
from certgrad.report.findings import ALL_CODES, IGNORED, Remark

COMMENT = re.compile(r"#\s*certgrad:\s*ignore\b\s*(\[([^\]]*)\])?\s*(.*)")
"""What a comment looks like that ignores codes: the bracket with codes, and the reason after it."""


@dataclass(frozen=True)
class Ignores:
    """The codes that a definition ignores, each with the reason, and what is wrong with its comments."""

    reasons: Mapping[str, str] = field(default_factory=dict)
    wrong: tuple[str, ...] = ()

    def applied(self, found: set[str]) -> list[str]:
        """Return a note for each code among those `found` that is ignored, with the reason."""
        return [f"{code} is ignored: {why}" for code, why in self.reasons.items() if code in found]

    def remarks(self, found: set[str]) -> list[Remark]:
        """Return remarks on comments that are wrong, or that ignore a code which is not among those `found`."""
        unused = [f"the comment that ignores {code} is not needed" for code in self.reasons if code not in found]
        return [Remark(IGNORED, text) for text in (*self.wrong, *unused)]


def ignores_of(plain: Callable) -> Ignores:
    """Return the codes that the comments on a definition ignore, and what is wrong with these comments.

    Only lines up to the `def` are read. Without source there are no comments.
    """
    try:
        lines, first = inspect.getsourcelines(plain)
    except (OSError, TypeError):
        return Ignores()
    reasons: dict[str, str] = {}
    wrong: list[str] = []
    for number, line in enumerate(lines, first):
        for bracket, codes, reason in COMMENT.findall(line):
            if not bracket:
                wrong.append(f"line {number} names no code to ignore: write ignore[CG102] and the reason")
            for code in (c.strip() for c in codes.split(",") if bracket):
                if code not in ALL_CODES:
                    wrong.append(f"line {number} ignores '{code}', which is no code; those are {', '.join(ALL_CODES)}")
                elif not reason.strip():
                    wrong.append(f"line {number} ignores {code} without a reason: write it after the bracket")
                else:
                    reasons[code] = reason.strip()
        if re.match(r"\s*(async\s+)?def\s", line):
            break
    return Ignores(reasons, tuple(wrong))


def without_ignored(certificate: Certificate, ignores: Ignores) -> tuple[Certificate, set[str]]:
    """Return the certificate without the findings whose codes are ignored, and the set of these codes."""
    finding = ("refuted", "unproved")
    used = {c.code for c in certificate.claims if c.code in ignores.reasons and c.verdict in finding}
    return ignoring(certificate, used), used
