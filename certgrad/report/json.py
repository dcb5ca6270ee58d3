"""Certificates as JSON: byte-identical for the same certificates, one trailing newline, UTF-8."""

from collections.abc import Sequence

import msgspec

from certgrad.obligations.certificate import Certificate


class Report(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The document that `certgrad audit --format json` prints."""

    certgrad: str
    certificates: list[Certificate]


def render(certificates: Sequence[Certificate], version: str) -> bytes:
    """The document of `--format json`: certgrad's version and the certificates in the library's order."""
    return _encode(Report(certgrad=version, certificates=list(certificates)))


def encode(certificate: Certificate) -> bytes:
    """One certificate as the file that is committed."""
    return _encode(certificate)


def decode(data: bytes) -> Certificate:
    """A certificate read back strictly: an unknown or missing field, or another type, raises MsgspecError."""
    return msgspec.json.decode(data, type=Certificate)


def schema() -> bytes:
    """The JSON Schema of a certificate."""
    return _encode(msgspec.json.schema(Certificate))


def _encode(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value, order="deterministic"), indent=2) + b"\n"
