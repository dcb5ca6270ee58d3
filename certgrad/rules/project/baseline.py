"""The baseline: findings that a project knows of and has not mended yet. Only other findings fail an audit.

The file is JSON with one finding a line, sorted, so that a review shows which findings were added and removed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from certgrad.errors import UsageError
from certgrad.process.files import write_atomically
from certgrad.report.findings import ALL_CODES, Finding

FORMAT = 1
DEFAULT = "certgrad-baseline.json"
MAX_BYTES = 2**24
"""Bytes of a baseline, at most; a larger file is a UsageError."""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    format: int
    findings: list[Finding]


class _Head(msgspec.Struct):
    format: int


@dataclass(frozen=True)
class AuditScope:
    """What an audit covered: modules with all that is in them, or `module:object`, except the modules in `unseen`.

    Those did not import.
    """

    names: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()

    def at(self, rule: str) -> bool:
        """Return whether the audit would have found a rule of that name."""
        module = rule.partition(":")[0]
        return any(_covers_rule(n, rule, module) for n in self.names) and not any(
            _covers_rule(n, rule, module) for n in self.unseen
        )


def _covers_rule(name: str, rule: str, module: str) -> bool:
    """Return whether a name is that of a rule, of its module, or of a package around it."""
    return name in (rule, module) or module.startswith(f"{name}.")


def read(path: Path) -> list[Finding]:
    """Return the findings in a baseline. Raises UsageError that says what is wrong with the file."""
    again = "`certgrad baseline` writes it anew."
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"There is no baseline '{path}'. `certgrad baseline` writes it.") from None
    except OSError as error:
        raise UsageError(f"The baseline '{path}' cannot be read ({error.strerror or error}).") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"The baseline '{path}' is larger than {MAX_BYTES // 2**20} MiB, and was not read.")
    try:
        head = msgspec.json.decode(data, type=_Head)  # first, as another format may have other fields
        if head.format != FORMAT:
            raise UsageError(
                f"The baseline '{path}' has format {head.format}, and this certgrad reads format {FORMAT}. {again}"
            )
        findings = msgspec.json.decode(data, type=_File).findings
    except msgspec.ValidationError as error:
        raise UsageError(f"'{path}' is JSON, but no baseline: {error}. {again}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(
            f"The baseline '{path}' is no JSON, or not the whole of it: {error}. Take it from version control, or "
            "resolve a merge; each finding is one line."
        ) from None
    unknown = next((f for f in findings if f.code not in ALL_CODES), None)
    if unknown is not None:
        raise UsageError(
            f"The baseline '{path}' lists '{unknown.code}' of {unknown.rule}, which is no code; "
            f"those are {', '.join(ALL_CODES)}. {again}"
        )
    return findings


def write(path: Path, findings: Iterable[Finding]) -> None:
    """Write the findings as a baseline, whole or not at all. Raises UsageError if the file cannot be written."""
    lines = [msgspec.json.encode(f).decode() for f in sorted(set(findings))]
    body = ",\n".join(f"    {line}" for line in lines)
    text = f'{{\n  "format": {FORMAT},\n  "findings": [' + (f"\n{body}\n  ]" if lines else "]") + "\n}\n"
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        raise UsageError(f"The baseline '{path}' cannot be written ({error.strerror or error}).") from None


def stale(entries: Iterable[Finding], findings: Collection[Finding], looked: AuditScope) -> list[Finding]:
    """Return the entries of a baseline that are no findings any more, among the rules that were audited, sorted."""
    return sorted({e for e in entries if e not in findings and looked.at(e.rule)})
