"""Audits read back: what `certgrad audit --format json` prints, or certificates. A file is data from someone else."""

from pathlib import Path

import msgspec

from certgrad.cli import _certificates
from certgrad.errors import UsageError
from certgrad.obligations.certificate import FORMAT as CERTIFICATE
from certgrad.obligations.certificate import Certificate
from certgrad.report import json
from certgrad.report.audited import Place, Remarked
from certgrad.report.diff import Side

MAX_BYTES = 512 * 2**20
"""An audit of thousands of rules is smaller. A larger file is refused before it is read."""


class _Head(msgspec.Struct):
    """What tells an audit from a certificate, in every format of either."""

    format: int | None = None
    certificates: list[msgspec.Raw] | None = None


class _One(msgspec.Struct):
    """A certificate in an audit, of whatever format."""

    format: int = 0


def read(path: Path) -> Side:
    """An audit: the file that `--output json=FILE` writes, or a certificate, or a folder of certificates.

    Raises UsageError that says what the file is instead.
    """
    document = _document(path) if path.is_file() else None
    if document is not None:
        remarks = [Remarked(r.rule, r.code, r.text, Place(r.file, r.line)) for r in document.remarks]
        return Side(document.certificates, remarks, document.problems)
    files = _certificates.find([path])
    if not files:
        raise UsageError(f"{path}: the folder holds no certificates. `certgrad report` writes them.")
    found: list[Certificate] = []
    for file in files:
        for certificate in _certificates.read(file):
            if not isinstance(certificate, Certificate):
                raise UsageError(f"{file}: this is the certificate of a graph. Name audits, or certificates of rules.")
            found.append(certificate)
    return Side(found)


def _document(path: Path) -> json.Report | None:
    """The document in a file; None where the file is no audit, and may be a certificate."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: the file cannot be read ({error.strerror or error}).") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"{path}: the file is larger than {MAX_BYTES // 2**20} MiB, and no audit is. It was not read.")
    try:
        head = msgspec.json.decode(data, type=_Head)
    except (msgspec.DecodeError, RecursionError):
        return None  # what is wrong with it is said where certificates are read
    if head.certificates is None:
        return None
    again = "Write it anew with `certgrad audit --output json=FILE`, or use the certgrad that wrote it."
    if head.format != json.FORMAT:
        has = "no format" if head.format is None else f"format {head.format}"
        raise UsageError(f"{path}: this audit has {has}, and this certgrad reads format {json.FORMAT}. {again}")
    try:
        other = next((one.format for one in _formats(head.certificates) if one.format != CERTIFICATE), None)
        if other is not None:
            raise UsageError(
                f"{path}: its certificates have format {other}, and this certgrad reads format {CERTIFICATE}. {again}"
            )
        return msgspec.json.decode(data, type=json.Report)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"{path}: this is not a whole audit ({' '.join(str(error).split())[:200]}). {again}") from None


def _formats(certificates: list[msgspec.Raw]) -> list[_One]:
    return [msgspec.json.decode(one, type=_One) for one in certificates]
