"""A condition under which a refuted graph is certified: a domain for the operands of each of its wrong rules.

Each condition is a domain on which the lemma of a refuted rule is proved. With these domains the induction is taken
once more, from its first step. Conditions that the rule's witness satisfies are not tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

from certgrad.graph.certificate import Step
from certgrad.graph.induction.induction import Induction, described_as
from certgrad.graph.ir import Node
from certgrad.graph.lemmas.operation import Operation
from certgrad.graph.lemmas.proof import Proof
from certgrad.jaxpr.kinds import ORDERS
from certgrad.language import relations
from certgrad.language.tree import Relation
from certgrad.obligations.certificate import PROOFS, PROVED_AS_WRITTEN
from certgrad.obligations.tracing.jax_internals import equations_of, is_literal

TRIED = 16
"""Conditions that are tried for one rule, at most; then no domain is named."""
NUMBERS = 3
"""Numbers that a rule compares with, at most, the smallest first, as bounds of a domain."""
_SIGNS: tuple[Relation, ...] = ("!=", ">", "<")


def again_where_right(induction: Induction) -> tuple[Induction, set[int]] | None:
    """Return a new induction in which each refuted rule has a domain where its lemma is proved, and these rules' nodes.

    None where a step fails otherwise, or no such domain is found.
    """
    wrong = [s for s in induction.steps if s.verdict not in PROOFS]
    if not wrong or any(s.verdict != "refuted" for s in wrong):
        return None
    shared = induction.shared
    described = dict(shared.described)
    for step in wrong:
        judgement = induction.judged.get(step.node)
        if judgement is None:  # a wrong rule inside a loop or a branch
            return None
        operation, proof = judgement.operation, judgement.instance.proof
        domain = _domain(induction, operation, proof)
        if not domain:
            return None
        node = induction.traced.nodes[step.node]
        names, own_domain, title = described_as(induction.traced, node, operation.equation)
        described[operation.equation] = names, (*own_domain, *domain), title
    new_induction = Induction(induction.traced, replace(shared, judgements={}, described=described, used={})).run()
    return (new_induction, {s.node for s in wrong}) if all(s.verdict in PROOFS for s in new_induction.steps) else None


def conditions_text(again: Induction, nodes: set[int]) -> str:
    """Return the finding that names the conditions at `nodes`, under which the graph is proved."""
    steps: list[Step] = [s for s in again.steps if s.node in nodes]
    texts = dict.fromkeys(h.text for s in steps for h in s.hypotheses)
    shown: list[Node] = [again.traced.nodes[s.node] for s in steps]
    rules = ", ".join(dict.fromkeys(f"%{n.id} {n.name}" for n in shown))
    return f"the graph is proved under hypotheses where {rules} is right: {'; '.join(texts)}"


def _domain(induction: Induction, operation: Operation, proof: Proof) -> tuple[str, ...]:
    """Return the first condition under which the lemma of a refuted operation is proved; () if none is found."""
    witness = next((o.witness for o in proof.lemma.obligations if o.witness is not None), None)
    if witness is None or proof.programs is None:
        return ()
    lemmas = induction.shared.lemmas
    tried = 0
    for conditions in _conditions(operation, proof):
        if all(_holds(condition, witness.inputs) for condition in conditions):
            continue
        tried += 1
        if tried > TRIED:
            return ()
        domain = tuple(f"{name} {sign} {bound}" for name, sign, bound in conditions)
        restricted = replace(operation, domain=(*operation.domain, *domain), search=False)
        if lemmas.of(restricted).proof.lemma.verdict in PROVED_AS_WRITTEN:
            return domain
    return ()


Condition = tuple[str, Relation, str]
"""A comparison: an argument, a relation, and a number or another argument."""


def _conditions(operation: Operation, proof: Proof) -> Iterator[tuple[Condition, ...]]:
    """Yield conditions that exclude where rules tend to be wrong, the weakest first: negative indices, kinks, sides."""
    kinds = dict(zip(operation.names, operation.equation.real, strict=True))
    floats = [n for n, real in kinds.items() if real]
    for name in (n for n, real in kinds.items() if not real):
        yield ((name, ">=", "0"),)
        yield from (((name, ">=", "0"), (name, "<", size)) for size in _sizes(operation))
    numbers = sorted(_compared(proof), key=lambda c: (c != 0, c))[: NUMBERS + 1]
    texts = [str(int(c)) if c == int(c) else repr(float(c)) for c in numbers]
    for sign in _SIGNS:
        for name in floats:
            yield from (((name, sign, number),) for number in texts)
    for a, b in combinations(floats, 2):
        yield from (((a, sign, b),) for sign in _SIGNS)
    for name in floats:
        for low, high in combinations(sorted(texts, key=float), 2):
            yield (name, ">", low), (name, "<", high)


def _sizes(operation: Operation) -> list[str]:
    """Return the sizes that are numbers, as bounds of an index. A domain cannot name symbolic sizes."""
    return [str(d) for d in sorted({d for v in operation.equation.variables for d in v.aval.shape if _is_number(d)})]


def _is_number(size: Any) -> bool:
    return isinstance(size, int) and size > 1


def _compared(proof: Proof) -> set[float]:
    """Return 0 and the numbers that the programs of a lemma compare with."""
    assert proof.programs is not None
    equations = (e for p in proof.programs.all().values() for e in equations_of(p.jaxpr) if e.primitive.name in ORDERS)
    values = {float(x.val) for e in equations for x in e.invars if is_literal(x) and not getattr(x.val, "shape", ())}
    return {0.0, *(c for c in values if abs(c) < 1e6)}


def _holds(condition: Condition, inputs: Mapping[str, Any]) -> bool:
    """Return whether the condition holds of all entries of a witness; true where their numbers do not match."""
    name, sign, bound = condition
    left = _entries(inputs.get(name, []))
    right = _entries(inputs[bound]) if bound in inputs else [Fraction(bound)]
    if len(right) == 1:
        right = right * len(left)
    return len(left) != len(right) or all(relations.COMPARES[sign](a, b) for a, b in zip(left, right, strict=True))


_TRUTHS = {"False": "0", "True": "1"}


def _entries(value: Any) -> list[Fraction]:
    if isinstance(value, list):
        return [x for v in value for x in _entries(v)]
    text = str(value)
    return [Fraction(_TRUTHS.get(text, text))]
