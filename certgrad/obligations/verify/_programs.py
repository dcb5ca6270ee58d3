"""The digests of an op's callables, traced again at the symbolic dimensions of the certificate's."""

from __future__ import annotations

from certgrad._subject import Subject
from certgrad.jaxpr.at_shapes import Programs
from certgrad.jaxpr.at_symbols import at_symbols
from certgrad.obligations.verify.digest import case_digest
from certgrad.signatures.cases import Case


def digest(op: Subject, case: Case) -> str:
    """Return the digest of a case, traced at symbolic dimensions with every star group as one axis."""
    return digest_of(op, case, at_symbols(op, case))


def digest_of(op: Subject, case: Case, programs: Programs) -> str:
    """Return the digest of a case by its programs at symbolic dimensions."""
    return case_digest(op, case, {name: (getattr(p, "jaxpr", p), p.consts) for name, p in programs.all().items()})
