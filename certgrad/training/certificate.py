"""Certificates of training steps: what a step does, why, and what that rests on. All of it data."""

from __future__ import annotations

import msgspec

from certgrad.graph.certificate import Conclusion, GraphCertificate, Theorem
from certgrad.graph.ir import Struct
from certgrad.obligations.certificate import Certificate, VerdictName

FORMAT = 1


class Statement(Struct, frozen=True):
    """The stated update, as data."""

    name: str
    formula: list[str]
    source: str
    hyperparameters: list[str]
    state: list[str]


class StepCertificate(Struct, frozen=True):
    """The certificate of one training step: backprop is the gradient, and the step that runs is the stated one."""

    format: int
    loss: str
    update: Statement
    program: str
    """The name of the program that takes the step."""
    trained: list[str]
    unchanged: list[str]
    verdict: VerdictName
    conclusions: list[Conclusion]
    hypotheses: list[str]
    """The hypotheses of the gradient and of the update, without those in `kept`."""
    kept: list[str]
    """Hypotheses on the state that hold at the start and that every step keeps."""
    findings: list[str]
    assumptions: list[str]
    gradient: GraphCertificate
    seed: Theorem
    equality: Certificate | None
    """The proof that the program takes the stated step; None where no step is stated."""
    invariant: Certificate | None
    """The proof that the stated step keeps the signs of moments; None where no sign is stated."""


def encode(certificate: StepCertificate) -> bytes:
    """Return a certificate as deterministic JSON: the same certificate gives the same bytes."""
    return msgspec.json.format(msgspec.json.encode(certificate, order="deterministic"), indent=2) + b"\n"


def decode(data: bytes) -> StepCertificate:
    """Return the certificate in JSON. Raises msgspec.ValidationError for unknown fields and wrong types."""
    return msgspec.json.decode(data, type=StepCertificate)
