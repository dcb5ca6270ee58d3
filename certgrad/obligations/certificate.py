"""Certificates: what was claimed of an op, what was proved, and what it rests on.

Every struct here is data. Text in a certificate is never evaluated. Encoding is deterministic: keys in declaration
order, no timestamps, no paths, no floats.
"""

from typing import Literal

import msgspec

FORMAT = 1

VerdictName = Literal["proved", "proved under hypotheses", "refuted", "unproved", "surrogate"]
ObligationKind = Literal["jvp_is_derivative", "vjp_is_adjoint", "rule_runs_forward"]

CODES: dict[str, str] = {
    "jvp_is_derivative": "CG101",
    "vjp_is_adjoint": "CG102",
    "rule_runs_forward": "CG103",
}


class Struct(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base: immutable, and unknown fields are refused on decoding."""


class Hypothesis(Struct, frozen=True):
    """A condition under which a claim holds, for every index that occurs in it.

    `text` is a formula over the op's own names (`x[i] ≠ 0`), `source` says where it comes from.
    """

    text: str
    latex: str
    prose: str
    source: str
    negligible: bool
    """True where the excluded set has measure zero; False where the hypothesis fails on an open set."""


class Ball(Struct, frozen=True):
    """A real number known to lie in [midpoint - radius, midpoint + radius], as decimal text."""

    midpoint: str
    radius: str


class Witness(Struct, frozen=True):
    """A concrete point where the two sides of an obligation provably differ.

    Arrays are nested lists of rationals as text ("3/2"). `lhs` and `rhs` do not overlap.
    """

    dims: dict[str, int]
    statics: dict[str, str]
    inputs: dict[str, list | str]
    tangents: dict[str, list | str]
    seeds: dict[str, list | str]
    where: str
    lhs: Ball
    rhs: Ball
    relative_gap: str


class CaseClaim(Struct, frozen=True):
    """One obligation for one signature with its structural arguments fixed."""

    signature: str
    statics: dict[str, str]
    scope: str
    """For which shapes: "all shapes, any rank" or the list of ranks that were shown."""
    verdict: VerdictName
    hypotheses: list[Hypothesis] = []
    reason: str = ""
    residual: str = ""
    witness: Witness | None = None


class Claim(Struct, frozen=True):
    """One obligation: the conjunction over the op's cases. The verdict is the worst of theirs."""

    id: str
    code: str
    kind: ObligationKind
    statement: str
    verdict: VerdictName
    hypotheses: list[Hypothesis]
    cases: list[CaseClaim]
    facts: list[str] = []
    """Facts over the reals that the proof used and floats can break, such as exp(z) > 0."""
    idealisations: list[str] = []


class Convention(Struct, frozen=True):
    """What the rule returns at a point its theorem excludes, beside JAX's and PyTorch's choice."""

    point: str
    rule: str
    jax: str
    torch: str


class Certificate(Struct, frozen=True):
    """All claims about one op."""

    format: int
    op: str
    signature: list[str]
    params: dict[str, str]
    domain: list[str]
    verdict: VerdictName
    claims: list[Claim]
    conventions: list[Convention]
    source: str
    digest: str
    versions: dict[str, str]
    rules_used: list[str] = []
    """The rules of the calculus that the proofs applied."""


ORDER: tuple[VerdictName, ...] = ("proved", "proved under hypotheses", "surrogate", "unproved", "refuted")


def worst(verdicts: list[VerdictName]) -> VerdictName:
    """The verdict of a conjunction."""
    return max(verdicts, key=ORDER.index, default="unproved")
