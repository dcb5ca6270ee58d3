"""Reading certificates from files and folders. A file is not trusted: its size is limited, its decoding strict."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from certgrad.errors import UsageError
from certgrad.obligations.certificate import FORMAT, Certificate

if TYPE_CHECKING:
    from certgrad.graph.certificate import GraphCertificate
    from certgrad.report import json

MAX_BYTES = 64 * 2**20
"""Files with more bytes are refused before they are decoded. An audit of thousands of rules has fewer."""


class NoCertificateError(UsageError):
    """A file that is neither a certificate nor an audit; `what` says what it is."""

    def __init__(self, what: str, advice: str, path: Path) -> None:
        super().__init__(f"{path}: {what}. {advice}")
        self.what = what


class _Head(msgspec.Struct):
    """The fields that tell the kind of a document: `op` for an op or rule, `graph` for a graph, else an audit's."""

    format: int = 0
    op: str = ""
    graph: dict[str, Any] = {}
    certificates: list[msgspec.Raw] | None = None
    """The certificates of an audit, undecoded."""


def find(paths: Sequence[Path]) -> list[Path]:
    """Return the certificate files at the paths, each once: a file, or the JSON files of a folder.

    If a folder contains a folder `certificates`, its files are those in there. Raises UsageError for a path that is
    neither a file nor a folder.
    """
    files: dict[Path, None] = {}
    for path in paths:
        try:
            if path.is_dir():
                inner = path / "certificates"
                files |= dict.fromkeys(sorted((inner if inner.is_dir() else path).glob("*.json")))
            elif path.is_file():
                files[path] = None
            elif path.exists():
                raise UsageError(
                    f"{path}: this is neither a file nor a folder. Name certificates, or a folder of them."
                )
            else:
                raise UsageError(
                    f"{path}: there is no such file or folder. Name certificates, or a folder of them such as reports/."
                )
        except OSError as error:
            raise _unreadable(path, error) from None
    return list(files)


def read(path: Path) -> "list[Certificate | GraphCertificate]":
    """Return the certificates in a file: one of an op, a rule or a graph, or all of an audit.

    Raises UsageError, which says what the file is, for any other file.
    """
    document = load(path)
    return list(document) if isinstance(document, list) else [*document.certificates]


def load(path: Path) -> "list[Certificate | GraphCertificate] | json.Report":
    """Return the certificate in a file, as a list of one, or the document of an audit.

    Raises UsageError, which says what the file is, for any other file, and for one of another format.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(path, error) from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"{path}: the file is larger than {MAX_BYTES // 2**20} MiB, and no audit is. It was not read.")
    try:
        msgspec.json.decode(data, type=msgspec.Raw)  # the whole file is JSON, and not only its beginning
        head = msgspec.json.decode(data, type=_Head)
        if not head.op and not head.graph and head.certificates is None:
            raise msgspec.ValidationError
    except msgspec.ValidationError:
        raise NoCertificateError(
            "this is JSON, but no certificate and no audit",
            "`certgrad report` writes certificates to reports/certificates/, `certgrad audit --format json` prints "
            "those of an audit, and `certgrad graph --format json` those of graphs.",
            path,
        ) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise NoCertificateError(
            f"this is no JSON, or not the whole of it ({_brief(error)})",
            "Fetch the file again, or write it anew with `certgrad report`.",
            path,
        ) from None
    if not head.op and not head.graph:
        return _audit(path, data, head)
    if not head.op:
        from certgrad.graph import certificate as graphs

        return [_decoded(path, data, head, graphs.FORMAT, graphs.GraphCertificate, "graph --format json")]
    return [_decoded(path, data, head, FORMAT, Certificate, "report")]


def _audit(path: Path, data: bytes, head: _Head) -> "json.Report":
    """Return the document of an audit. Raises UsageError if it is incomplete or has another format."""
    from certgrad.report import json

    again = "Write it anew with `certgrad audit --output json=FILE`, or use the certgrad that wrote it."
    if head.format != json.FORMAT:
        has = f"format {head.format}" if head.format else "no format"
        raise UsageError(f"{path}: this audit has {has}, and this certgrad reads format {json.FORMAT}. {again}")
    try:
        formats = [msgspec.json.decode(raw, type=_Head).format for raw in head.certificates or ()]
        other_format = next((number for number in formats if number != FORMAT), None)
        if other_format is not None:
            raise UsageError(
                f"{path}: its certificates have format {other_format}, and this certgrad reads format {FORMAT}. {again}"
            )
        return msgspec.json.decode(data, type=json.Report)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"{path}: this is not a whole audit ({_brief(error)}). {again}") from None


T = TypeVar("T")


def _decoded(path: Path, data: bytes, head: _Head, format: int, kind: type[T], command: str) -> T:
    """Return the certificate in a file. Raises UsageError, with the command that writes one, if it is not readable."""
    again = "Audit it" if head.op else "Certify the graph"
    if head.format != format:
        raise UsageError(
            f"{path}: this certificate has format {head.format}, and this certgrad reads format {format}. {again} "
            "again, or use the certgrad that wrote it."
        )
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(
            f"{path}: this is not a whole certificate of format {format} ({_brief(error)}). Fetch the file again, or "
            f"write it anew with `certgrad {command}`."
        ) from None


def _unreadable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path}: the file cannot be read ({error.strerror or error}). Check that it is yours to read.")


def _brief(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
