"""Lemmas: one operation with its parameters, at one pattern of shapes, proved for all sizes of its dimensions.

A certification has a budget, as an audit has (`terms/budget.py`), of `seconds` of the thread's processor time. Half of
them has each lemma, whatever was proved before, so that a lemma comes to the same in every graph; it has so many steps
that a proof has all that it would have alone. Half of them have all lemmas together that come to no proof, and a little
more for each one that is proved: once that is used up, no further proof is begun. So what is proved is never charged:
a long chain, or a model of many layers, takes what its nodes take; a graph whose attempts that fail take less than half
of the seconds does not see the budget; and what is not proved is said after about as many seconds as were given.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from certgrad.graph.lemmas.rules import ActiveShapes
from certgrad.graph.tracing import jaxpr
from certgrad.graph.tracing.family import Family, families_of, is_symbolic, structure
from certgrad.graph.tracing.jaxpr import Equation, bytes_of
from certgrad.obligations.certificate import PROVED_AS_WRITTEN
from certgrad.obligations.generality.decisions import Fixed, broken
from certgrad.obligations.terms.budget import A_LEMMA, HOW_A_GRAPH_GETS_MORE, allotted_seconds, auditing, budget
from certgrad.obligations.tracing.jax_internals import is_literal, wide_floats
from certgrad.process.threads import Kept
from certgrad.signatures.sizes import parse_size

from .interpreted import output_signs
from .operation import UNTRACEABLE, Operation, operation_key, own_table, traced_forward, with_renamed
from .proof import CASES, Proof, at_all_sizes, failed_lemma, in_general, of_family, of_node, own_sizes, runs_as


@dataclass
class Instance:
    """A lemma at a node: what each of its dimensions is there, a number or an expression over the graph's."""

    proof: Proof
    sizes: dict[str, Any]
    nonempty: tuple[str, ...] = ()
    """Sizes of the node that the lemma takes to be at least 1, though they can be 0."""


_proved = Kept()
"""The lemmas about JAX's own primitives, for as long as the thread lives: they depend on no function of the user."""


_same = Kept()
"""Whether JAX's rules are those of the lemma at the sizes of a node."""


_signs = Kept()
"""The signs of the outputs of JAX's own primitives without real values."""


_instances = Kept()
"""The lemmas at nodes of JAX's own primitives whose sizes are numbers, by all that such a node is."""


def _at_numbers(equation: Equation) -> Any:
    """Return a key of an equation for all threads and graphs; None where it has symbolic sizes or a program."""
    atoms = (*equation.eqn.invars, *equation.eqn.outvars)
    if equation.holds_program or any(is_symbolic(d) for v in atoms for d in getattr(v.aval, "shape", ())):
        return None
    slots = {v: k for k, v in enumerate(equation.variables)}
    reads = (slots[v] if not is_literal(v) else bytes_of(v.val) for v in equation.eqn.invars)
    key = equation.primitives, equation.wide, *reads, *(v.aval for v in atoms), *equation.eqn.params.items()
    try:
        hash(key)
    except TypeError:
        return None
    return key


SHARE = 0.5
"""The part of a certification's seconds that each lemma has, and that all lemmas without a proof have together."""
GUESS = 0.25
"""An attempt at one of many guesses, as which operations are certified together, has this part of what a lemma has."""
STEPS_A_SECOND = 270_000
"""Steps for each second: more than proofs take, so that the seconds end a slow proof and not the steps."""
MORE_A_LEMMA = 0.1
"""Seconds that these have besides for each lemma that is proved: as long as most lemmas take."""


class Lemmas:
    """All lemmas of one certification, each proved once."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = SHARE * (allotted_seconds() if seconds is None else seconds)
        self.left = self.seconds
        """What lemmas may still take that come to no proof."""
        self.not_begun = ""
        """Why lemmas were not begun, if some were not."""
        self.cut_short: dict[Any, Proof] = {}
        """Proofs that ended with their budget, or were not begun: another certification may have more of it."""
        self.rules = jaxpr.installed_rules()
        self.instances: dict[Operation, Instance] = {}
        self.proofs: dict[Any, Proof] = {}
        self.judged: dict[Any, Proof] = {}
        """What was proved of programs at a node's own sizes: nodes with the same ones share it."""
        self.families: dict[Equation, list[Family]] = {}
        self.signs_at_nodes: dict[Any, tuple[int, ...]] = {}

    def of(self, operation: Operation) -> Instance:
        """The lemma for an operation. Operations of one family of shapes share it."""
        found = self.instances.get(operation) or self._without_search(operation)
        if found is None:
            at_numbers = _at_numbers(operation.equation)
            known = None if at_numbers is None else (self.rules, at_numbers, operation.request)
            found = None if known is None else _instances.table.get(known)
            if found is None:
                start, before = time.thread_time(), budget.cut_short
                with self.allowance(1.0 if operation.search else GUESS), wide_floats(operation.equation.wide):
                    found = self._instance(operation)
                known = known if budget.cut_short == before else None
                self.left -= 0 if found.proof.holds else time.thread_time() - start
            if known is not None:
                _instances.table[known] = found
            self.instances[operation] = found
            self.left += MORE_A_LEMMA if found.proof.holds else 0
        return found

    def allowance(self, share: float = 1.0) -> AbstractContextManager[None]:
        """Return the budget of one lemma, or a share of it, in force inside the block."""
        return auditing(share * self.seconds, A_LEMMA, HOW_A_GRAPH_GETS_MORE, STEPS_A_SECOND)

    def _once(self, operation: Operation, store: dict[Any, Proof], key: Any, prove: Callable[[], Proof]) -> Proof:
        """A proof of an operation, kept for all certifications of the thread unless it was cut short."""
        found = store.get(key) or self.cut_short.get(key)
        if found is None:
            before = budget.cut_short
            found = prove() if self.left > 0 else self._not_begun(operation)
            (store if budget.cut_short == before else self.cut_short)[key] = found
        return found

    def _not_begun(self, operation: Operation) -> Proof:
        """Return the unproved lemma for an operation when the time of failed lemmas is over."""
        budget.cut_short += 1
        over = f"budget: lemmas that came to no proof took {self.seconds:g} s and more before this one"
        self.not_begun = f"{over}; {HOW_A_GRAPH_GETS_MORE}"
        return Proof(failed_lemma(operation, ActiveShapes((), ()), self.not_begun), ())

    def _without_search(self, operation: Operation) -> Instance | None:
        """Return an instance whose proof needs no search for a witness; None where there is none."""
        found = self.instances.get(replace(operation, search=False)) if operation.search else None
        return found if found is not None and found.proof.lemma.verdict in PROVED_AS_WRITTEN else None

    def _instance(self, operation: Operation) -> Instance:
        families = self._families(operation.equation)
        for family in families:
            found = None if family.possibly_empty else self._in_family(operation, family)
            if found is not None and (found.proof.holds or (found.proof.programs and not operation.search)):
                return found  # an attempt that fails for all sizes is not repeated at some
        own = self._as_it_stands(operation)
        for family in (f for f in families if f.possibly_empty and not own.proof.holds):
            found = self._in_family(operation, family)
            if found is not None and found.proof.holds:
                return found
        return own

    def _families(self, equation: Equation) -> list[Family]:
        if equation not in self.families:
            self.families[equation] = families_of(equation)
        return self.families[equation]

    def _in_family(self, operation: Operation, family: Family) -> Instance | None:
        """The family's lemma where it speaks of the node's sizes; else that of a narrower family that contains them."""
        if any(is_symbolic(size) for size in family.sizes.values()):
            return Instance(self._proved(operation, family, everywhere=True), family.sizes, family.possibly_empty)
        for _ in range(CASES):
            proof = self._proved(operation, family, everywhere=False)
            if proof.programs is None or (proof.holds and self._runs_there(operation, family, proof)):
                return Instance(proof, family.sizes)
            # JAX's caches ask of dimensions too, now and then: what was asked is looked at where programs differ.
            case = broken(proof.programs, family.sizes)
            if not case:
                return None if proof.holds or case is not None else Instance(proof, family.sizes)
            family = family.at(case)
        return None

    def _runs_there(self, operation: Operation, family: Family, proof: Proof) -> bool:
        """Return whether JAX's rules, traced at the node's own sizes, are the lemma's programs with its symbols
        set to these.
        """
        key = (self.rules, operation_key(operation), family.key, tuple(family.sizes.items()))
        found = _same.table.get(key)
        if found is None:
            assert proof.programs is not None
            sizes = {n: parse_size(size) for n, size in family.sizes.items()}
            found = _same.table[key] = runs_as(proof.programs, operation, of_family(family.at(sizes)), sizes)
        return found

    def _proved(self, operation: Operation, family: Family, everywhere: bool) -> Proof:
        key = (self.rules, operation_key(operation), family.key, everywhere)

        def at(case: Fixed) -> Proof:
            return in_general(operation, family.at(case) if case else family)

        return self._once(operation, _proved.table, key, lambda: at_all_sizes(at) if everywhere else at({}))

    def _as_it_stands(self, operation: Operation) -> Instance:
        """The lemma at the node's own sizes: numbers stay numbers."""
        table = own_table(operation)
        if operation.equation.holds_program:
            key: Any = operation
            store = self.proofs
        else:
            params, shapes = (
                structure(x, lambda size: with_renamed(size, table))
                for x in (operation.equation.eqn.params, [v.aval.shape for v in operation.equation.variables])
            )
            key, store = (self.rules, operation_key(operation), params, shapes), _proved.table
        found = self._once(operation, store, key, lambda: own_sizes(operation, table, self.judged))
        return Instance(found, {mine: name for name, mine in table.items()})

    def nothing(self, operation: Operation) -> Proof:
        """Return an empty proof, for an operation on values without known properties (random keys)."""
        return Proof(failed_lemma(operation, ActiveShapes((), ()), ""), ())

    def signs(self, operation: Operation, base: Proof) -> tuple[int, ...]:
        """The signs of the operation's outputs, given those of its arguments."""
        if base.programs is None:
            return ()
        found = base.signs.get(operation.signs)
        if found is None:
            with self.allowance():
                found = base.signs[operation.signs] = output_signs(operation, base.programs.forward)
        return found

    def signs_alone(self, operation: Operation) -> tuple[int, ...]:
        """The signs of the outputs of an operation without real values: it has no derivative, and needs no lemma."""
        at_numbers = _at_numbers(operation.equation)
        store = self.signs_at_nodes if at_numbers is None else _signs.table
        key = at_numbers or operation.equation, operation.names, operation.signs
        found = store.get(key)
        if found is None:
            with self.allowance(), wide_floats(operation.equation.wide):
                found = store[key] = self._signs_alone(operation)
        return found

    def _signs_alone(self, operation: Operation) -> tuple[int, ...]:
        family = next((f for f in self._families(operation.equation) if not f.possibly_empty), None)
        setting = of_node(operation, own_table(operation), {}) if family is None else of_family(family)
        try:
            return output_signs(operation, traced_forward(operation, setting.run, setting.shapes))
        except UNTRACEABLE:
            return ()
