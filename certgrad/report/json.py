"""Certificates and audits as JSON in UTF-8 with a trailing newline: equal certificates give equal bytes."""

from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType

from certgrad.language import coding
from certgrad.obligations.certificate import Certificate
from certgrad.report.audited import Audit, Place
from certgrad.report.problems import of_row, path, remarks

FORMAT = 1
"""The version of the document of an audit. It changes if a reader of an older one would misread the document."""


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the rule of a certificate is: `file` from the root of the repository; empty for ops of the library."""

    name: str
    file: str
    line: int
    baseline: list[str]
    """The codes of the rule's findings that the baseline lists."""
    limits: list[str]
    """Remarks that limit the verdict: those that are warnings, or that the certificate does not contain."""
    level: str | UnsetType = UNSET
    """How far exact evaluation agrees, if that was asked for."""


class Remark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said of a rule, or a module, beside its certificate: one of the codes CG2xx."""

    rule: str
    code: str
    text: str
    file: str
    line: int
    baseline: bool


class Report(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The document that `certgrad audit --format json` prints."""

    format: int
    certgrad: str
    certificates: list[Certificate]
    rules: list[Rule]
    """The place of each certificate's rule, in the order of the certificates."""
    remarks: list[Remark]
    problems: list[str]
    """Why the audit is not complete: targets that could not be audited, an interruption."""


def render(audit: Audit, version: str, base: Path) -> bytes:
    """Return the document of `--format json`: certgrad's version, certificates, places of rules, remarks.

    Paths are relative to `base` where they are below it.
    """
    rules = [
        Rule(
            c.op,
            *_path_and_line(result.place, base),
            sorted(result.covered or ()),
            [f"{r.code} {r.brief}" for r in of_row(result)],
            result.level,
        )
        for result, c in audit.certified
    ]
    rule_remarks = [
        Remark(remark.rule, remark.code, remark.text, *_path_and_line(remark.place, base), remark.covered)
        for remark in remarks(audit)
    ]
    return _encode(Report(FORMAT, version, audit.certificates, rules, rule_remarks, list(audit.problems)))


def _path_and_line(place: Place, base: Path) -> tuple[str, int]:
    return path(place, base), place.line


def encode(certificate: Certificate) -> bytes:
    """Return one certificate as the bytes of its committed file."""
    return _encode(certificate)


def decode(data: bytes) -> Certificate:
    """Return the decoded certificate. Raises MsgspecError for an unknown or missing field, or a wrong type."""
    return msgspec.json.decode(data, type=Certificate)


def schema() -> bytes:
    """Return the JSON Schema of a certificate."""
    return _encode(coding.schema(Certificate))


def audit_schema() -> bytes:
    """Return the JSON Schema of the document of an audit, which is published in `docs/schemas/`."""
    return _encode({"title": f"certgrad audit, format {FORMAT}", **coding.schema(Report)})


def _encode(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value, order="deterministic"), indent=2) + b"\n"
