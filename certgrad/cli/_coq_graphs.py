"""Graphs as files of Coq: of composed ops and of functions that a target names. The code is traced again."""

from typing import TYPE_CHECKING

from certgrad.cli import _library
from certgrad.errors import UsageError

if TYPE_CHECKING:
    from certgrad.coq import File
    from certgrad.graph.certificate import GraphCertificate
    from certgrad.graph.certifying.certify import Certification
    from certgrad.ops._composed import Composed

OTHER = "the code is another than the certificate is about"


def of_certificate(certificate: "GraphCertificate", target: str) -> "File":
    """Return a certificate of a graph as a file of Coq.

    The graph is that of a composed op of the library or of the function that `target` names: the certificate never
    chooses the code. If the code has another graph by now, the file says so instead of theorems. Raises UsageError if
    no target is given where one is needed.
    """
    from certgrad.coq import CHECKSUM_MISMATCH, graph_not_printed
    from certgrad.graph.certificate import checksum
    from certgrad.ops._composed import Composed

    name = certificate.graph.name
    if certificate.checksum != checksum(certificate):
        return graph_not_printed(name, CHECKSUM_MISMATCH)
    op = _library.get(name) if not target and name in _library.names() else None
    if isinstance(op, Composed):
        names = names_of(op)
        for graph_name, done in zip(names, _certified(op), strict=True):
            if _is_about(certificate, done):
                return _printed(done, graph_name)
        return graph_not_printed(names[0], OTHER)
    source = certificate.source
    if not target:
        example = f", such as --target {source.target}" if source else ""
        raise UsageError(
            f"This is the certificate of the graph {name}. Name the function that it is about{example}: that code is "
            "imported and traced, so a file does not choose it."
        )
    if source is None:
        raise UsageError(
            "This certificate does not say at which shapes the function is traced. Write it anew with `certgrad graph "
            "--format json`."
        )
    done = certified(target, source.specs)
    return _printed(done, name) if _is_about(certificate, done) else graph_not_printed(name, OTHER)


def _is_about(certificate: "GraphCertificate", done: "Certification") -> bool:
    """Return whether the graph that was certified now is that of the certificate, with the same conditions on sizes.

    The conditions are compared as well, since a digest of the graph does not contain them.
    """
    current = done.certificate
    return (current.digest, current.verdict, current.dimensions) == (
        certificate.digest,
        certificate.verdict,
        certificate.dimensions,
    )


def of_composed(op: "Composed") -> "list[File]":
    """Return the graph of each case of a composed op as a file of Coq."""
    return [_printed(done, name) for name, done in zip(names_of(op), _certified(op), strict=True)]


def of_function(target: str, specs: list[str]) -> "tuple[File, str]":
    """Return the graph of a function at the shapes `specs` as a file of Coq, and its verdict.

    Raises UsageError or TraceError.
    """
    done = certified(target, specs)
    return _printed(done, done.certificate.graph.name), done.certificate.verdict


def names_of(op: "Composed") -> list[str]:
    """Return the names of a composed op's graphs, which differ from the name of the op, as its theorems have that."""
    count = len(op.cases)
    return [f"{op.name}_graph" if count == 1 else f"{op.name}_{k + 1}_graph" for k in range(count)]


def certified(target: str, specs: list[str]) -> "Certification":
    """Return the certification of the function that the target names, as `certgrad graph` makes it."""
    from certgrad.cli.graph import load, specs_of
    from certgrad.graph import trace
    from certgrad.graph.certifying.certify import certification

    function = load(target)
    return certification(trace(function, *specs_of(function, target, specs)))


def _certified(op: "Composed") -> "list[Certification]":
    from certgrad.graph.certifying.composed import certifications

    return certifications(op)


def _printed(done: "Certification", name: str) -> "File":
    from certgrad.coq import NotPrintedError, graph_not_printed
    from certgrad.graph.coq.printed import print_graph

    try:
        return print_graph(done, name)
    except NotPrintedError as error:
        return graph_not_printed(name, f"not printed: {error}")
