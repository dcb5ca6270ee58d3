"""Which signs discharge hypotheses at nodes, and from where these signs come: as claims, which Coq proves."""

from __future__ import annotations

from collections.abc import Mapping

from certgrad.coq import Claim
from certgrad.graph.induction.induction import Induction
from certgrad.graph.induction.walk import Judgement
from certgrad.graph.lemmas import bounds
from certgrad.graph.tracing.trace import TracedGraph
from certgrad.obligations.assume.signs import ANY_SIGN, NEG, NONNEG, NONPOS, NONZERO, POS

_WORDS = {
    POS: "Positive",
    NONNEG: "NotNegative",
    NONZERO: "NotZero",
    NEG: "Negative",
    NONPOS: "NotPositive",
}
"""The signs of `proofs/Signs.v`."""


def claims_of(traced: TracedGraph, induction: Induction) -> Mapping[int, Claim]:
    """Return, by node, the claims on signs that discharge hypotheses: which signs a node's operands have, and which its
    outputs.

    A node has a claim if the signs of its operands discharge all its hypotheses, or if it gives one of these signs.
    """
    wanted: set[tuple[int, int]] = set()
    claims: dict[int, Claim] = {}
    for node in reversed(traced.nodes):
        judgement = induction.judged.get(node.id)
        if judgement is None or not judgement.operation.active:
            continue
        slots = [traced.slots(node)[k] for k in judgement.operation.active]
        settled = _is_settled_by_signs(judgement)
        gives = [k for k in range(len(node.outputs)) if (node.id, k) in wanted]
        if not settled and not gives:
            continue
        given = [bounds.sign(induction.sign(ref)) for ref in slots]
        alone = induction.shared.lemmas.signs(judgement.operation, judgement.instance.proof)
        if not settled and all(_says(alone, k) == _says(judgement.signs, k) for k in gives):
            given = [ANY_SIGN] * len(slots)  # it has these signs whatever it reads
        elif settled:
            given = [bounds.sign(judgement.informed[k]) for k in judgement.operation.active]
        wanted.update((ref.node, ref.output) for ref, s in zip(slots, given, strict=True) if s in _WORDS)
        tells = [_says(judgement.signs, k) for k in range(len(node.outputs))] if gives else []
        claims[node.id] = Claim(tuple(_WORDS.get(s, "Any") for s in given), tuple(tells), not settled)
    return claims


def _says(signs: tuple[int, ...], k: int) -> str:
    return _WORDS.get(bounds.sign(signs[k]), "Any") if k < len(signs) else "Any"


def _is_settled_by_signs(judgement: Judgement) -> bool:
    """Return whether all hypotheses follow from the signs of what moves."""
    if not judgement.gone or judgement.instance.proof.stated:
        return False
    held = (s for k, s in enumerate(judgement.informed) if k not in judgement.operation.active)
    return all(s == ANY_SIGN for s in held) and all(s <= ANY_SIGN for s in judgement.informed)
