"""Lemmas: one operation with its parameters, at one pattern of shapes, proved for all sizes of its dimensions.

A certification has a budget, as an audit has (`terms/budget.py`), of `seconds` of the thread's processor time. Each
lemma may take half of them, whatever was proved before, so that its result is the same in every graph. All lemmas that
come to no proof may together take half of them, and a little more for each lemma that is proved; after that no further
proof is begun. So proofs that succeed are never charged: a long chain, or a model of many layers, takes what its nodes
take; a graph whose failing attempts take less than half of the seconds never meets the limit; and a certification that
fails ends after about the seconds that were given.
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
    """A lemma at a node. `sizes` gives each of its dimensions: a number, or an expression over the graph's."""

    proof: Proof
    sizes: dict[str, Any]
    nonempty: tuple[str, ...] = ()
    """Sizes of the node that can be 0, while the lemma holds where they are at least 1."""


_proved = Kept()
"""The lemmas about JAX's own primitives, for as long as the thread lives: they depend on no function of the user."""


_same = Kept()
"""Whether JAX's rules at a node's sizes are the lemma's programs at these sizes (`Lemmas._runs_there`)."""


_signs = Kept()
"""The signs of the outputs of JAX's own primitives without real values."""


_instances = Kept()
"""The lemmas at nodes of JAX's own primitives whose sizes are numbers, by `_at_numbers` of the equation."""


def _at_numbers(equation: Equation) -> Any:
    """Return a key of an equation, the same in all graphs; None where it has symbolic sizes or holds a program."""
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
"""The part of a lemma's seconds for an attempt without a search for a witness, as at one of many possible regions."""
STEPS_A_SECOND = 270_000
"""Steps for each second: more than proofs take, so that the seconds end a slow proof and not the steps."""
MORE_A_LEMMA = 0.1
"""Seconds that lemmas without a proof get in addition for each one that is proved: as long as most lemmas take."""


class Lemmas:
    """All lemmas of one certification, each proved once."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = SHARE * (allotted_seconds() if seconds is None else seconds)
        self.left = self.seconds
        """Seconds that lemmas without a proof may still take, in sum."""
        self.not_begun = ""
        """Why lemmas were not begun, if some were not."""
        self.cut_short: dict[Any, Proof] = {}
        """Proofs that ended with their budget or were not begun: another certification may have more of it."""
        self.rules = jaxpr.installed_rules()
        self.instances: dict[Operation, Instance] = {}
        self.proofs: dict[Any, Proof] = {}
        self.judged: dict[Any, Proof] = {}
        """Proofs of programs at a node's own sizes, shared by nodes with equal programs."""
        self.families: dict[Equation, list[Family]] = {}
        self.signs_at_nodes: dict[Any, tuple[int, ...]] = {}

    def of(self, operation: Operation) -> Instance:
        """Return the instance of a lemma for an operation. Operations of one family of shapes share the lemma.

        It is looked for in this certification, then in the thread's table, and else proved on the clock.
        """
        instance = self.instances.get(operation) or self._without_search(operation)
        if instance is None:
            at_numbers = _at_numbers(operation.equation)
            key = None if at_numbers is None else (self.rules, at_numbers, operation.request)
            instance = None if key is None else _instances.table.get(key)
            if instance is None:
                start, cut_before = time.thread_time(), budget.cut_short
                with self.allowance(1.0 if operation.search else GUESS), wide_floats(operation.equation.wide):
                    instance = self._instance(operation)
                key = key if budget.cut_short == cut_before else None  # a proof cut short must not serve others
                self.left -= 0 if instance.proof.holds else time.thread_time() - start
            if key is not None:
                _instances.table[key] = instance
            self.instances[operation] = instance
            self.left += MORE_A_LEMMA if instance.proof.holds else 0
        return instance

    def allowance(self, share: float = 1.0) -> AbstractContextManager[None]:
        """Return the budget of one lemma, or a share of it, in force inside the block."""
        return auditing(share * self.seconds, A_LEMMA, HOW_A_GRAPH_GETS_MORE, STEPS_A_SECOND)

    def _once(self, operation: Operation, store: dict[Any, Proof], key: Any, prove: Callable[[], Proof]) -> Proof:
        """Return the proof of this key, made by `prove` if need be; one that is cut short is not put into `store`."""
        proof = store.get(key) or self.cut_short.get(key)
        if proof is None:
            cut_before = budget.cut_short
            proof = prove() if self.left > 0 else self._not_begun(operation)
            (store if budget.cut_short == cut_before else self.cut_short)[key] = proof
        return proof

    def _not_begun(self, operation: Operation) -> Proof:
        """Return the unproved lemma for an operation when the time of failed lemmas is over."""
        budget.cut_short += 1
        over = f"budget: lemmas that came to no proof took {self.seconds:g} s and more before this one"
        self.not_begun = f"{over}; {HOW_A_GRAPH_GETS_MORE}"
        return Proof(failed_lemma(operation, ActiveShapes((), ()), self.not_begun), ())

    def _without_search(self, operation: Operation) -> Instance | None:
        """Return the instance of the operation without a search for a witness, if that is proved; else None."""
        instance = self.instances.get(replace(operation, search=False)) if operation.search else None
        return instance if instance is not None and instance.proof.lemma.verdict in PROVED_AS_WRITTEN else None

    def _instance(self, operation: Operation) -> Instance:
        """Return the operation's lemma by its widest family of shapes that holds, else at the node's own sizes.

        Families that need a size of the node to be at least 1, though it can be 0, are tried last.
        """
        families = self._families(operation.equation)
        for family in families:
            instance = None if family.possibly_empty else self._in_family(operation, family)
            if instance is not None and (instance.proof.holds or (instance.proof.programs and not operation.search)):
                return instance  # an attempt that fails for all sizes is not repeated at some
        at_own_sizes = self._as_it_stands(operation)
        for family in (f for f in families if f.possibly_empty and not at_own_sizes.proof.holds):
            instance = self._in_family(operation, family)
            if instance is not None and instance.proof.holds:
                return instance
        return at_own_sizes

    def _families(self, equation: Equation) -> list[Family]:
        if equation not in self.families:
            self.families[equation] = families_of(equation)
        return self.families[equation]

    def _in_family(self, operation: Operation, family: Family) -> Instance | None:
        """Return the family's lemma if it covers the node's sizes, else that of a narrower family that contains them.

        None where neither is found. At sizes that are numbers, the lemma is proved without its cases; instead it is
        checked that the rules at the node are the lemma's programs.
        """
        if any(is_symbolic(size) for size in family.sizes.values()):
            return Instance(self._proved(operation, family, everywhere=True), family.sizes, family.possibly_empty)
        for _ in range(CASES):
            proof = self._proved(operation, family, everywhere=False)
            if proof.programs is None or (proof.holds and self._runs_there(operation, family, proof)):
                return Instance(proof, family.sizes)
            # The programs differ: take the answers that tracing relied on and the node's sizes contradict. They are not
            # looked at earlier, since JAX's caches ask such questions too, and not in every trace.
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
        is_same = _same.table.get(key)
        if is_same is None:
            assert proof.programs is not None
            sizes = {n: parse_size(size) for n, size in family.sizes.items()}
            is_same = _same.table[key] = runs_as(proof.programs, operation, of_family(family.at(sizes)), sizes)
        return is_same

    def _proved(self, operation: Operation, family: Family, everywhere: bool) -> Proof:
        """Return the proof over a family's symbols; with `everywhere`, also in the cases that tracing decided."""
        key = (self.rules, operation_key(operation), family.key, everywhere)

        def at(case: Fixed) -> Proof:
            return in_general(operation, family.at(case) if case else family)

        return self._once(operation, _proved.table, key, lambda: at_all_sizes(at) if everywhere else at({}))

    def _as_it_stands(self, operation: Operation) -> Instance:
        """Return the lemma at the node's own sizes: numbers stay numbers."""
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
        proof = self._once(operation, store, key, lambda: own_sizes(operation, table, self.judged))
        return Instance(proof, {mine: name for name, mine in table.items()})

    def nothing(self, operation: Operation) -> Proof:
        """Return an empty proof, for an operation on values without known properties (random keys)."""
        return Proof(failed_lemma(operation, ActiveShapes((), ()), ""), ())

    def signs(self, operation: Operation, base: Proof) -> tuple[int, ...]:
        """Return the signs of the operation's outputs, given those of its arguments; `base` is its lemma's proof."""
        if base.programs is None:
            return ()
        signs = base.signs.get(operation.signs)
        if signs is None:
            with self.allowance():
                signs = base.signs[operation.signs] = output_signs(operation, base.programs.forward)
        return signs

    def signs_alone(self, operation: Operation) -> tuple[int, ...]:
        """Return the signs of the outputs of an operation without real values, which has no derivative and no lemma."""
        at_numbers = _at_numbers(operation.equation)
        store = self.signs_at_nodes if at_numbers is None else _signs.table
        key = at_numbers or operation.equation, operation.names, operation.signs
        signs = store.get(key)
        if signs is None:
            with self.allowance(), wide_floats(operation.equation.wide):
                signs = store[key] = self._signs_alone(operation)
        return signs

    def _signs_alone(self, operation: Operation) -> tuple[int, ...]:
        """Return the outputs' signs, by the forward over a family or at the node's sizes; () if it does not trace."""
        family = next((f for f in self._families(operation.equation) if not f.possibly_empty), None)
        setting = of_node(operation, own_table(operation), {}) if family is None else of_family(family)
        try:
            return output_signs(operation, traced_forward(operation, setting.run, setting.shapes))
        except UNTRACEABLE:
            return ()
