"""A witness against a whole graph: a point at which JAX's derivative of the function, or its value, is wrong.

A wrong rule does not make the graph wrong: its result may be multiplied by 0, cancel, or stand in a pattern of symbolic
zeros in which nothing calls it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import prod
from typing import Any

import numpy as np

from certgrad._subject import OF_RULES
from certgrad.errors import CertgradError
from certgrad.graph.certificate import Lemma, Step, all_steps
from certgrad.graph.induction.induction import Induction
from certgrad.graph.points.satisfiable import holding
from certgrad.graph.tracing.subject import GraphSubject
from certgrad.obligations.auditing.witnesses import as_data, programs_at
from certgrad.obligations.balls import BallError, Criterion, Scope, SearchLimits, find_witness
from certgrad.obligations.balls._draw import MOST_ENTRIES
from certgrad.obligations.certificate import Witness
from certgrad.obligations.generality.instances import family
from certgrad.obligations.generality.patterns import pattern_text, sees_zeros
from certgrad.obligations.points import inputs_of
from certgrad.obligations.terms.budget import budget

LARGEST = 4096
"""Entries of an input, at most, of a graph of fixed sizes that is evaluated."""
SECONDS = 5.0
"""Seconds for all searches for a witness against one graph; after them only its step is refuted."""
PATTERNS = 16
"""Choices of active arguments and used outputs that are tried, at most: first all of both, then single ones."""
SHOWN = 400
"""Characters of a point in a finding; the rest is cut."""
NO_POINT_FOUND = (
    "no point was found at which the graph itself is wrong: what is wrong at its nodes may have no part in it"
)


@dataclass(frozen=True)
class OwnWitness:
    """A witness against a whole graph; `where` names the active arguments and used outputs, "" if all are."""

    kind: str
    witness: Witness
    where: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: the two sides differ at the witness" + (f", where {self.where}" if self.where else "")


def refuted_kinds(steps: Sequence[Step], lemmas: Mapping[str, Lemma]) -> list[str]:
    """Return the obligations that refuted steps may violate: the adjoint law, and those that fail in their lemmas."""
    obligations = (o for s in all_steps(steps) if s.lemma in lemmas for o in lemmas[s.lemma].obligations)
    refuted = {o.kind for o in obligations if o.verdict == "refuted"}
    return ["vjp_is_adjoint", *(k for k in OF_RULES if k in refuted and k != "vjp_is_adjoint")]


def own_witness(induction: Induction, kinds: Sequence[str]) -> OwnWitness | None:
    """Return the first witness against an obligation in `kinds` that satisfies all the graph's hypotheses, or None.

    Where a rule sees symbolic zeros, the function is also evaluated with one active argument and with one used output:
    a user runs `jax.grad` with `argnums`, and of one output.
    """
    traced = induction.traced
    if traced.fn is None:
        return None
    hypotheses_hold, names = holding(traced, induction.asked), [a.name for a in traced.specs.arguments]

    met = False

    def domain(values: Mapping[str, Any]) -> bool:
        nonlocal met
        satisfied = hypotheses_hold([_array(values[n]) for n in names])
        met = met or satisfied
        return satisfied

    fixed_shapes = [] if traced.ir.dims else [v.aval.shape for v in traced.program.jaxpr.invars]
    largest = max(map(prod, fixed_shapes), default=0)
    if largest > LARGEST:
        return None
    until = budget.until(SECONDS)
    for moving, used, where in islice(_patterns(induction), PATTERNS):
        for kind in kinds:
            if time.thread_time() > until:
                return None
            subject = GraphSubject(traced, moving, used, forward_mode=kind == "jvp_is_derivative")
            try:
                instance = family(subject, subject.cases[0]).prove[0]
                witness = find_witness(
                    kind,
                    programs_at(subject, instance, traced.specs.wide),
                    inputs_of(subject, instance),
                    name=subject.name,
                    scope=Scope(domain, further=instance.names, least=largest),
                    criterion=Criterion(undefined=False, loose=True),
                    limits=SearchLimits(
                        seconds=until - time.thread_time(), precision=256, shrink=largest <= MOST_ENTRIES
                    ),
                )
            except (BallError, CertgradError):
                continue
            if witness is not None:
                return OwnWitness(kind, as_data(witness, instance.keywords(witness.dims.sizes)), where)
            if not met:  # no drawn point satisfies the hypotheses, which all choices share
                return None
    return None


def at_witness(witness: Witness) -> str:
    """Return the point of a witness and the values of the two sides: `x = [1]; the two sides are 2.0 against 1.0`."""
    point = ", ".join(f"{k} = {_flat(v)}" for k, v in witness.inputs.items())
    point = point if len(point) <= SHOWN else f"{point[:SHOWN]}…"
    return f"{point}; the two sides are {witness.lhs.midpoint} against {witness.rhs.midpoint}"


def _flat(value: object) -> str:
    return "[" + ", ".join(map(_flat, value)) + "]" if isinstance(value, list) else str(value)


Places = list[int] | None


def _patterns(induction: Induction) -> Iterator[tuple[Places, Places, str]]:
    """Yield choices of moving arguments and used outputs, None for all, with a text; all of both come first."""
    traced = induction.traced
    yield None, None, ""
    if not sees_zeros(traced.program.jaxpr):
        return
    outputs = sum(traced.ir.type_of(o).real for o in traced.ir.outputs)
    arguments = GraphSubject(traced)
    for used in (None, *(range(outputs) if outputs > 1 else ())):
        for moving in (None, *(arguments.moving if len(arguments.moving) > 1 else ())):
            moving_alone, used_alone = None if moving is None else [moving], None if used is None else [used]
            if moving_alone or used_alone:
                yield (
                    moving_alone,
                    used_alone,
                    pattern_text(moving_alone and [arguments.arg_names[k] for k in moving_alone], used_alone),
                )


def _array(value: Any) -> np.ndarray:
    """Return nested lists of numbers as an array: of bools, of ints, or of rationals as objects."""
    array = np.asarray(value, dtype=object)
    kinds = {type(x) for x in array.reshape(-1)}
    return array.astype(bool) if kinds == {bool} else array.astype(int) if kinds == {int} else array
