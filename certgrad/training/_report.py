"""A training step's certificate for people."""

from __future__ import annotations

import textwrap

from certgrad.obligations.certificate import Certificate
from certgrad.training.certificate import StepCertificate

WIDTH = 100


def render(certificate: StepCertificate, width: int | None = None) -> str:
    """Return a step's certificate as text of `width` columns: the verdict, the formula, the reasons, the hypotheses."""
    width = max(width or WIDTH, 60)
    graph, update = certificate.gradient, certificate.update
    what = certificate.verdict if certificate.equality is not None else f"the gradient is {certificate.verdict}"
    lines = [f"training step of {certificate.loss} by {update.name}: {what}", ""]
    names = f"for every θ in {', '.join(certificate.trained)}, with g = ∂{certificate.loss}/∂θ"
    lines += textwrap.wrap(names, width, subsequent_indent="  ", break_on_hyphens=False)
    lines += [f"  {line}" for line in update.formula]
    lines.append(f"unchanged: {', '.join(certificate.unchanged) or 'no other parameter'}")
    sections = [
        (
            "because",
            [
                f"g is the gradient: {graph.verdict} ({len(graph.graph.nodes)} nodes)",
                f"the seed of a scalar loss is 1: {certificate.seed.verdict}",
                _of_update(certificate),
            ],
        ),
        ("under the hypotheses", certificate.hypotheses or ["none"]),
        ("which hold at the start and are kept by every step (proved)", certificate.kept),
        ("findings", certificate.findings),
        ("the formula is that of", [update.source]),
        ("this rests on", certificate.assumptions),
    ]
    for title, entries in sections:
        if entries:
            lines += ["", title]
            for entry in entries:
                lines += textwrap.wrap(
                    entry, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
                )
    return "\n".join(lines) + "\n"


def _of_update(certificate: StepCertificate) -> str:
    equality = certificate.equality
    if equality is None:
        return f"what runs ({certificate.program}) is not compared with a formula: none is stated"
    values = ", ".join(certificate.update.hyperparameters)
    return (
        f"what runs ({certificate.program}) is that update: {equality.verdict}, {_scope(equality)}, every gradient, "
        f"every value of {values}"
    )


def _scope(certificate: Certificate) -> str:
    return "; ".join(dict.fromkeys(c.scope or "no shapes" for claim in certificate.claims for c in claim.cases))
