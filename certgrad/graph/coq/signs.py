"""The signs that discharge hypotheses at nodes, and the nodes that they come from, as claims that Coq proves."""

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
"""The names of the signs in `proofs/Signs.v`."""


def claims_of(traced: TracedGraph, induction: Induction) -> Mapping[int, Claim]:
    """Return, by node, the claims on signs that discharge hypotheses: the signs of its operands and of its outputs.

    The nodes are walked from the last to the first: a node has a claim if its operands' signs discharge all its
    hypotheses, or if a later claim uses the sign of one of its outputs. Each claim then asks for its operands' signs.
    """
    wanted_values: set[tuple[int, int]] = set()
    claims: dict[int, Claim] = {}
    for node in reversed(traced.nodes):
        judgement = induction.judged.get(node.id)
        if judgement is None or not judgement.operation.active:
            continue
        slots = [traced.slots(node)[k] for k in judgement.operation.active]
        is_settled = _is_settled_by_signs(judgement)
        wanted_outputs = [k for k in range(len(node.outputs)) if (node.id, k) in wanted_values]
        if not is_settled and not wanted_outputs:
            continue
        operand_signs = [bounds.sign(induction.sign(ref)) for ref in slots]
        unconditional = induction.shared.lemmas.signs(judgement.operation, judgement.instance.proof)
        if not is_settled and all(_says(unconditional, k) == _says(judgement.signs, k) for k in wanted_outputs):
            operand_signs = [ANY_SIGN] * len(slots)  # its outputs have these signs for any operands
        elif is_settled:
            operand_signs = [bounds.sign(judgement.informed[k]) for k in judgement.operation.active]
        wanted_values.update((ref.node, ref.output) for ref, s in zip(slots, operand_signs, strict=True) if s in _WORDS)
        output_signs = [_says(judgement.signs, k) for k in range(len(node.outputs))] if wanted_outputs else []
        claims[node.id] = Claim(tuple(_WORDS.get(s, "Any") for s in operand_signs), tuple(output_signs), not is_settled)
    return claims


def _says(signs: tuple[int, ...], k: int) -> str:
    return _WORDS.get(bounds.sign(signs[k]), "Any") if k < len(signs) else "Any"


def _is_settled_by_signs(judgement: Judgement) -> bool:
    """Return whether all hypotheses of a node follow from the signs, without bounds, of its moving operands."""
    if not judgement.gone or judgement.instance.proof.stated:
        return False
    fixed_signs = (s for k, s in enumerate(judgement.informed) if k not in judgement.operation.active)
    return all(s == ANY_SIGN for s in fixed_signs) and all(s <= ANY_SIGN for s in judgement.informed)
