"""Certificates as JSON: byte-identical for the same certificates, one trailing newline, UTF-8."""

from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType

from certgrad.language import coding
from certgrad.obligations.certificate import Certificate
from certgrad.report.audited import Audit, Place
from certgrad.report.problems import of_row, path, remarks

FORMAT = 1
"""Version of the document of an audit. It changes where a reader of an older one would misread it."""


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the rule of a certificate is: `file` from the root of the repository; empty for ops of the library."""

    name: str
    file: str
    line: int
    baseline: list[str]
    """Codes of its findings that the baseline lists."""
    limits: list[str]
    """What limits its verdict, as its row says it: remarks that are warnings, or that the certificate does not say."""
    level: str | UnsetType = UNSET
    """How far exact evaluation agrees, where that was asked for."""


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
    """One for each certificate, in the same order."""
    remarks: list[Remark]
    problems: list[str]
    """Why the audit is not complete: targets that could not be looked at, an interruption."""


def render(audit: Audit, version: str, base: Path) -> bytes:
    """The document of `--format json`: certgrad's version, the certificates, where their rules are, the remarks."""
    rules = [
        Rule(
            c.op,
            *_path_and_line(one.place, base),
            sorted(one.covered or ()),
            [f"{r.code} {r.brief}" for r in of_row(one)],
            one.level,
        )
        for one, c in audit.certified
    ]
    said = [
        Remark(one.rule, one.code, one.text, *_path_and_line(one.place, base), one.covered) for one in remarks(audit)
    ]
    return _encode(Report(FORMAT, version, audit.certificates, rules, said, list(audit.problems)))


def _path_and_line(place: Place, base: Path) -> tuple[str, int]:
    return path(place, base), place.line


def encode(certificate: Certificate) -> bytes:
    """Return one certificate as the bytes of its committed file."""
    return _encode(certificate)


def decode(data: bytes) -> Certificate:
    """Return a certificate read back strictly: an unknown or missing field, or another type, raises MsgspecError."""
    return msgspec.json.decode(data, type=Certificate)


def schema() -> bytes:
    """The JSON Schema of a certificate."""
    return _encode(coding.schema(Certificate))


def audit_schema() -> bytes:
    """The JSON Schema of the document of an audit, as it is published in `docs/schemas/`."""
    return _encode({"title": f"certgrad audit, format {FORMAT}", **coding.schema(Report)})


def _encode(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value, order="deterministic"), indent=2) + b"\n"
