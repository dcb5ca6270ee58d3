"""From the results of proofs to the claims of a certificate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

import certgrad
from certgrad._subject import Subject
from certgrad.language.tree import Statement
from certgrad.obligations import prove
from certgrad.obligations.assume.conditions import Clause
from certgrad.obligations.certificate import (
    CODES,
    FORMAT,
    KERNEL,
    CaseClaim,
    Certificate,
    Claim,
    Hypothesis,
    VerdictName,
    Witness,
    each_once,
    hypothesis,
    sealed,
    statement,
    worst,
)
from certgrad.obligations.generality.instances import Instance
from certgrad.obligations.meaning.literals import Reading
from certgrad.obligations.prove.statements import Outcome
from certgrad.obligations.terms.law import Law
from certgrad.obligations.tracing.jax_internals import versions
from certgrad.signatures.cases import Case
from certgrad.signatures.sizes import Size

if TYPE_CHECKING:
    from certgrad.obligations.prove.negligible import Reals
    from certgrad.obligations.wording.stated import Reads


@dataclass(frozen=True)
class Listed:
    """The hypotheses of an obligation at the general family of shapes, for use at another family."""

    here: Sequence[Clause]
    """The hypotheses, as far as they can be written over this family's axes."""
    general: Instance
    statements: Sequence[Statement]
    """All the hypotheses, over the general family's axes."""


@dataclass
class Record:
    """What the proofs of an op rest on, collected over its cases.

    `notes` are idealisations, `facts` facts over the reals, and `primitives` names, each in the order of their use.
    """

    notes: dict[str, None]
    facts: dict[str, None]
    primitives: dict[str, None]
    reading: Reading
    relations: dict[str, None] = field(default_factory=dict)
    listed: Mapping[str, Listed] = field(default_factory=dict)
    """By obligation, its general hypotheses, for use at the family of shapes that is looked at."""
    long: set[str] = field(default_factory=set)
    """The obligations that only a long attempt proved: at other shapes, no short attempt comes before it."""
    alike: set[str] = field(default_factory=set)
    """The obligations that are proved with arbitrary numbers for shared values: at other shapes this is tried first."""
    laws: set[Law] = field(default_factory=set)
    """Laws that were applied on the way to a proof."""

    def all(self) -> tuple[dict[str, None], ...]:
        """Return the collections that an interpreted program adds to."""
        return self.notes, self.facts, self.primitives


def each_listed(
    outcome: Outcome, axes: Mapping[str, Sequence[Size]], inputs: Sequence[str], read: Reads, reals: Reals
) -> list[Hypothesis]:
    """Return the hypotheses of an outcome as a certificate lists them, each once.

    `read` turns a clause into a statement, so that clauses are equal whatever their index variables are called. `axes`
    are the sizes of the arguments' axes, `inputs` their names; `reals` says which are arrays of any real numbers.
    """
    return each_once(
        hypothesis(
            read(clause), clause.origin, prove.negligible.negligible(clause, reals, inputs), inputs=inputs, axes=axes
        )
        for clause in outcome.hypotheses
    )


def at_shapes(
    verdict: VerdictName,
    hypotheses: Sequence[Hypothesis] = (),
    reason: str = "",
    residual: str = "",
    witness: Witness | None = None,
) -> CaseClaim:
    """Return a claim at one family of shapes; `case_claim` adds the case and the scope."""
    return CaseClaim(
        signature="",
        statics={},
        scope="",
        verdict=verdict,
        hypotheses=list(hypotheses),
        reason=reason,
        residual=residual,
        witness=witness,
    )


def case_claim(case: Case, scope: str, claims: Sequence[CaseClaim]) -> CaseClaim:
    """Return the claim of a case: the worst of the claims at families of shapes, with the hypotheses of all of them."""
    verdict = worst([c.verdict for c in claims])
    return msgspec.structs.replace(
        next(c for c in claims if c.verdict == verdict),
        signature=str(case.signature),
        statics={k: str(v) for k, v in case.statics.items()},
        scope=scope,
        hypotheses=each_once(h for c in claims for h in c.hypotheses),
    )


def joined_claim(
    op: Subject, kind: str, cases: list[CaseClaim], facts: Iterable[str], idealisations: Iterable[str]
) -> Claim:
    """Return the claim about one obligation of an op, as the conjunction of the claims of its cases."""
    merged = each_once(h for c in cases for h in c.hypotheses)
    return Claim(
        id=f"{op.name}.{kind}",
        code=CODES[kind],
        kind=kind,  # type: ignore[arg-type]
        statement=statement(op, kind, bool(merged)),
        verdict=worst([c.verdict for c in cases]),
        hypotheses=merged,
        cases=cases,
        facts=sorted(facts),
        idealisations=sorted(idealisations),
    )


def certificate_of(op: Subject, claims: Sequence[Claim], **rest: Any) -> Certificate:
    """Return the certificate of a subject with these claims, and the versions of what is installed.

    `rest` replaces fields that are empty otherwise, such as `conventions` and `digest`.
    """
    fields: dict[str, Any] = {
        "format": FORMAT,
        "op": op.name,
        "signature": [str(case) for case in op.cases],
        "params": {name: condition or "" for name, condition in op.params.items()},
        "domain": op.declared,
        "verdict": worst([claim.verdict for claim in claims]),
        "claims": [*claims],
        "conventions": [],
        "source": op.source or "",
        "digest": "",
        "versions": {**versions(), "certgrad": certgrad.__version__, "kernel": KERNEL},
    }
    return sealed(Certificate(**{**fields, **rest}))


def untraced(op: Subject, reason: str) -> Certificate:
    """Return the certificate of a subject whose traces prove nothing: all its claims are unproved, for this reason."""
    cases = [case_claim(case, "", [at_shapes("unproved", reason=reason)]) for case in op.cases]
    return certificate_of(op, [joined_claim(op, kind, cases, (), ()) for kind in op.kinds], source="")
