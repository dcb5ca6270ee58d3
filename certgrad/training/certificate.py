"""Certificates of training steps: what a step does, why, and what that rests on. All of it data."""

from __future__ import annotations

import msgspec

from certgrad.graph.certificate import Conclusion, GraphCertificate, Theorem
from certgrad.graph.ir import Struct
from certgrad.obligations.certificate import Certificate, VerdictName

FORMAT = 1


class Statement(Struct, frozen=True):
    """The update as it is stated."""

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
    """The name of what runs."""
    trained: list[str]
    unchanged: list[str]
    verdict: VerdictName
    conclusions: list[Conclusion]
    hypotheses: list[str]
    """Of the gradient and of the update, those that every step keeps left out."""
    kept: list[str]
    """Hypotheses on the state that hold at the start and that every step keeps."""
    findings: list[str]
    assumptions: list[str]
    gradient: GraphCertificate
    seed: Theorem
    equality: Certificate | None
    """That the program takes the stated step; None where none is stated."""
    invariant: Certificate | None
    """That the stated step keeps what `kept` lists."""


def encode(certificate: StepCertificate) -> bytes:
    """Deterministic JSON: the same certificate is the same bytes."""
    return msgspec.json.format(msgspec.json.encode(certificate, order="deterministic"), indent=2) + b"\n"


def decode(data: bytes) -> StepCertificate:
    """Strict: unknown fields and wrong types raise msgspec.ValidationError."""
    return msgspec.json.decode(data, type=StepCertificate)
