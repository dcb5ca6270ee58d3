"""The certificate of what could not be audited: it claims nothing, and says why."""

from __future__ import annotations

import certgrad
from certgrad._subject import Subject
from certgrad.obligations.certificate import CODES, FORMAT, KERNEL, CaseClaim, Certificate, Claim, sealed, statement
from certgrad.obligations.tracing.jax_internals import versions


def untraced(op: Subject, reason: str) -> Certificate:
    """The certificate of a subject whose traces say nothing: it claims nothing and says why."""
    claims = [
        Claim(
            id=f"{op.name}.{kind}",
            code=CODES[kind],
            kind=kind,  # type: ignore[arg-type]
            statement=statement(op, kind, False),
            verdict="unproved",
            hypotheses=[],
            cases=[
                CaseClaim(
                    signature=str(case.signature),
                    statics={k: str(v) for k, v in case.statics.items()},
                    scope="",
                    verdict="unproved",
                    reason=reason,
                )
                for case in op.cases
            ],
        )
        for kind in op.kinds
    ]
    return sealed(
        Certificate(
            format=FORMAT,
            op=op.name,
            signature=[str(case) for case in op.cases],
            params={name: condition or "" for name, condition in op.params.items()},
            domain=list(op.domain),
            verdict="unproved",
            claims=claims,
            conventions=[],
            source="",
            digest="",
            versions={**versions(), "certgrad": certgrad.__version__, "kernel": KERNEL},
        )
    )
