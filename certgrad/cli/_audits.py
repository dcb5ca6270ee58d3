"""Reading audits, as `certgrad audit --format json` prints them, or certificates. A file is not trusted."""

from pathlib import Path

from certgrad.cli import _certificates
from certgrad.errors import UsageError
from certgrad.obligations.certificate import Certificate
from certgrad.report import json
from certgrad.report.diff import Side


def read(path: Path) -> Side:
    """Return an audit from the file that `--output json=FILE` writes, from a certificate, or a folder of certificates.

    Raises UsageError, which says what the file is, for any other file.
    """
    try:
        document = _certificates.load(path) if path.is_file() else None
    except _certificates.NoCertificateError as error:
        raise UsageError(
            f"{path}: {error.what}, so there is nothing to compare. Name two audits as `certgrad audit TARGET --output "
            "json=FILE` writes them, or certificates."
        ) from None
    if isinstance(document, json.Report):
        return Side(document.certificates, document.remarks, document.problems)
    files = _certificates.find([path])
    if not files:
        raise UsageError(f"{path}: the folder holds no certificates. `certgrad report` writes them.")
    certificates: list[Certificate] = []
    for file in files:
        for certificate in _certificates.read(file):
            if not isinstance(certificate, Certificate):
                raise UsageError(f"{file}: this is the certificate of a graph. Name audits, or certificates of rules.")
            certificates.append(certificate)
    return Side(certificates)
