"""The programs of a lemma, found again by its digest among all settings in which the operation may be proved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from certgrad.graph.certificate import Lemma
from certgrad.graph.lemmas.lemma import Instance
from certgrad.graph.lemmas.operation import UNTRACEABLE, Operation, own_table
from certgrad.graph.lemmas.proof import CASES, of_family, of_node, traced_only
from certgrad.graph.tracing.family import Family, families_of, is_symbolic
from certgrad.obligations.generality.decisions import broken
from certgrad.obligations.tracing.jax_internals import wide_floats


class Programs:
    """The traced programs of lemmas, found by the lemmas' digests, each once."""

    def __init__(self) -> None:
        self.found: dict[Any, Instance | None] = {}
        self.kept: list[Any] = []

    def of(self, operation: Operation, lemma: Lemma) -> Instance | None:
        """Return the instance of the lemma at the operation, whose programs have the lemma's digest; or None."""
        key = id(operation.equation), operation.active, operation.signs, lemma.digest
        if key not in self.found:
            self.kept.append(operation.equation)
            with wide_floats(operation.equation.wide):
                traces = _settings(operation)
                self.found[key] = next(
                    (instance for instance in traces if instance.proof.lemma.digest == lemma.digest), None
                )
        return self.found[key]


def _settings(operation: Operation) -> Iterator[Instance]:
    """Yield the operation over each family of shapes that it belongs to, the widest first, then at its own sizes."""
    for family in families_of(operation.equation):
        yield from _in_family(operation, family)
    table = own_table(operation)
    try:
        proof = traced_only(operation, of_node(operation, table, {}))
    except UNTRACEABLE:
        return
    yield Instance(proof, {mine: name for name, mine in table.items()})


def _in_family(operation: Operation, family: Family) -> Iterator[Instance]:
    """Yield the operation over the family, then over narrower ones in which tracing decides as at the node's sizes."""
    for _ in range(CASES):
        try:
            proof = traced_only(operation, of_family(family))
        except UNTRACEABLE:
            return
        yield Instance(proof, family.sizes)
        if proof.programs is None or any(is_symbolic(size) for size in family.sizes.values()):
            return
        case = broken(proof.programs, family.sizes)
        if not case:
            return
        family = family.at(case)
