"""Checks of a certificate without running anything: that it fits the declaration, and itself."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata

import flint
import jax

import certgrad
from certgrad._subject import Subject
from certgrad.language.text import text
from certgrad.obligations.certificate import (
    CODES,
    FORMAT,
    KERNEL,
    PROVED_AS_WRITTEN,
    Certificate,
    Claim,
    checksum,
    statement,
    worst,
)


def other_versions(certificate: Certificate) -> list[str]:
    """Return, in words, the versions in the certificate that are not those installed: `jax 0.10.1 (here 0.10.2)`."""
    installed = {
        "certgrad": certgrad.__version__,
        "flint": flint.__version__,
        "isl": _installed("islpy"),
        "jax": jax.__version__,
        "kernel": KERNEL,
        "sympy": _installed("sympy"),
    }
    names = sorted({*installed, *certificate.versions})
    pairs = [(name, certificate.versions.get(name, "none"), installed.get(name, "none")) for name in names]
    differences = [f"{name} {theirs} (here {ours})" for name, theirs, ours in pairs if theirs != ours]
    if certificate.format != FORMAT:
        differences.insert(0, f"format {certificate.format} (here {FORMAT})")
    return differences


def _installed(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def contradictions(certificate: Certificate, op: Subject) -> Iterator[str]:
    """Yield, in words, where the certificate does not say what the op declares, or its parts do not add up."""
    if certificate.op != op.name:
        yield f"it is about '{certificate.op}', and the op is '{op.name}'"
    if certificate.checksum != checksum(certificate):
        yield "its checksum does not fit: it was edited, or is not whole"
    if certificate.signature != [str(case) for case in op.cases]:
        yield "its signature is not the declared one"
    if certificate.params != {name: constraint or "" for name, constraint in op.params.items()}:
        yield "its parameters are not the declared ones"
    if certificate.domain != [*op.granted, *op.domain]:
        yield "its domain is not the declared one"
    declared = [(str(case.signature), {k: str(v) for k, v in case.statics.items()}) for case in op.cases]
    if [(traced_case.signature, traced_case.statics) for traced_case in certificate.traced] != declared:
        yield "the cases that were traced are not the declared ones"
    kinds = op.kinds
    if tuple(claim.kind for claim in certificate.claims) != kinds:
        yield f"its claims are {', '.join(c.kind for c in certificate.claims) or 'none'}, not {', '.join(kinds)}"
    if certificate.verdict != worst([claim.verdict for claim in certificate.claims]):
        yield f"its verdict '{certificate.verdict}' is not the worst of its claims"
    for claim in certificate.claims:
        for problem in _problems_of_claim(claim, op, declared):
            yield f"{claim.id}: {problem}"


def _problems_of_claim(claim: Claim, op: Subject, declared: list[tuple[str, dict[str, str]]]) -> Iterator[str]:
    """Yield, in words, where a claim does not fit the op, or its parts do not add up; `declared` are the op's cases."""
    if claim.id != f"{op.name}.{claim.kind}" or claim.code != CODES[claim.kind]:
        yield f"the id or the code {claim.code} is not that of {claim.kind} of '{op.name}'"
    if [(case.signature, case.statics) for case in claim.cases] != declared:
        yield "its cases are not the declared ones"
    if claim.verdict != worst([case.verdict for case in claim.cases]):
        yield f"the verdict '{claim.verdict}' is not the worst of its cases"
    listed = {h.tree for h in claim.hypotheses}
    if listed != {h.tree for case in claim.cases for h in case.hypotheses} or len(listed) != len(claim.hypotheses):
        yield "its hypotheses are not those of its cases"
    if any(h.text != text(h.tree, inputs=op.arg_names) for case in claim.cases for h in case.hypotheses):
        yield "the text of a hypothesis does not say what its tree does"
    if claim.statement != statement(op, claim.kind, bool(claim.hypotheses)):
        yield "its statement is not the obligation's"
    for case in claim.cases:
        if case.verdict in PROVED_AS_WRITTEN and (case.verdict == "proved") == bool(case.hypotheses):
            yield f"the verdict '{case.verdict}' does not go with {len(case.hypotheses)} hypotheses"
        if case.verdict in PROVED_AS_WRITTEN and (case.reason or case.residual or case.witness):
            yield f"the verdict '{case.verdict}' stands beside a reason, a residual or a witness against it"
