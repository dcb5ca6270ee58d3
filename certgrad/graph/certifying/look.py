"""The last look at custom rules in a graph: the lemma of each is evaluated at points inside its own hypotheses.

It uses balls, and nothing of the calculus (`obligations/verify`). A failure is a defect of the proof; that no
failure is found proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from math import prod
from typing import Any

from certgrad.errors import CertgradError
from certgrad.graph.certificate import Lemma
from certgrad.graph.certifying.own_witness import at_witness
from certgrad.graph.induction.induction import Induction
from certgrad.graph.induction.walk import Judgement
from certgrad.graph.lemmas import bounds
from certgrad.graph.lemmas.operation import KINDS, Operation, traced_programs
from certgrad.graph.tracing.jaxpr import Equation
from certgrad.graph.tracing.trace import TracedGraph
from certgrad.jaxpr.at_shapes import Programs
from certgrad.language.arithmetic import UnfitError
from certgrad.language.tree import Statement
from certgrad.obligations import verify
from certgrad.obligations.auditing.witnesses import as_data
from certgrad.obligations.balls._draw import seeded
from certgrad.obligations.balls.statements import question
from certgrad.obligations.certificate import PROVED_AS_WRITTEN
from certgrad.obligations.conformance import most_entries
from certgrad.obligations.meaning.semantics import UnprovedError
from certgrad.obligations.tracing.jax_internals import from_library, jaxpr_of, kind_of, wide_floats
from certgrad.signatures.cases import Shape
from certgrad.signatures.sizes import Size, parse_size

DRAWS = range(2)
LARGEST = 10_000
"""Entries of a rule's arrays, at most, at which it is evaluated: a ball for each entry takes long."""


def defects(induction: Induction, there: TracedGraph, fixed: Mapping[str, Size], outside: bool) -> list[str]:
    """Return the failures of a graph's custom rules; `there` is the graph at the sizes in `fixed`, which are numbers.

    Each failure is a text. With `outside`, rules are also evaluated where hypotheses that are left to the graph fail.
    """
    return list(dict.fromkeys(_defects(induction, there, fixed, outside, {})))


def _defects(
    induction: Induction, there: TracedGraph, fixed: Mapping[str, Size], outside: bool, known: dict[Any, str]
) -> Iterator[str]:
    """Yield the failures of custom rules, node by node; `known` has those, or "", of rules evaluated before."""
    nodes = induction.traced.nodes
    rules = {k for k, equation in there.equations.items() if equation.name.startswith("custom_")}
    for node in (nodes[k] for k in sorted(rules.union(induction.inside)) if k < len(nodes)):
        judgement, equation = induction.judged.get(node.id), there.equations.get(node.id)
        if judgement is not None and equation is not None and _is_own(equation, judgement.operation.title):
            proof = judgement.instance.proof
            at_node = (h for h in induction.steps[node.id].hypotheses if h.node == node.id)
            left = frozenset(h.tree for h in at_node if outside)
            key = (proof.lemma.digest, left, *(tuple(v.aval.shape) for v in equation.variables))
            if key not in known:
                known[key] = _failing(judgement, equation, fixed, left)
            if known[key]:
                yield f"%{node.id} {node.name}: {known[key]}"
        for inside, body in zip(induction.inside.get(node.id, []), there.bodies.get(node.id, []), strict=False):
            yield from _defects(inside, body, fixed, outside, known)


def _is_own(equation: Equation, title: str) -> bool:
    """Return whether an equation calls a rule with a function outside of JAX's files; not an op, which has an audit."""
    if not equation.name.startswith("custom_") or title.startswith("op "):
        return False
    parts = [jaxpr_of(v) if hasattr(v, "jaxpr") else v for v in equation.eqn.params.values()]
    infos = [info for part in parts if (info := getattr(part, "debug_info", None)) is not None]
    return not all(from_library(str(getattr(info, "func_filename", ""))) for info in infos)


def _failing(judgement: Judgement, equation: Equation, fixed: Mapping[str, Size], left: Set[Statement]) -> str:
    """Return in words a point at which a rule is wrong: inside its lemma's hypotheses, or where one in `left` fails.

    "" if no such point is found, or the rule is not evaluated: its arrays are large, or its lemma assumes how arguments
    move, and so is not about single points.
    """
    operation, lemma = replace(judgement.operation, equation=equation), judgement.instance.proof.lemma
    sizes = {name: parse_size(size).at(fixed).value for name, size in judgement.instance.sizes.items()}
    kinds = [KINDS.get(kind_of(v.aval.dtype), "") for v in equation.variables]
    shapes = tuple(tuple(v.aval.shape) for v in equation.variables)
    all_numbers = None not in sizes.values() and all(isinstance(n, int) for s in shapes for n in s)
    of_points = lemma.verdict in PROVED_AS_WRITTEN and not operation.still and not operation.resting
    if not of_points or not all_numbers or not all(kinds) or any(prod(map(int, s)) > LARGEST for s in shapes):
        return ""
    try:
        claims = _claims(operation, kinds, judgement.informed, lemma)
        with wide_floats(equation.wide):
            traced = traced_programs(operation, equation.run, shapes)
    except (CertgradError, UnprovedError, UnfitError, KeyError, NotImplementedError, TypeError):
        return ""
    if any(most_entries(program) > LARGEST for program in traced.all().values()):  # also on the way
        return ""
    programs = Programs(traced.forward, traced.jvp, traced.vjp, traced.primal, shapes, traced.out_shapes)
    shape = Shape({name: n for name, n in sizes.items() if n is not None}, {}, shapes)
    rng = seeded(lemma.digest, "a last look")
    failed = verify.failing(claims, shape, programs, DRAWS, rng)
    if failed is not None:
        claim, point = failed
        return f"defect: its lemma was proved, and does not hold {point} ({claim})"
    outside = verify.Outside()
    verify.look_outside(outside, verify.AtShape(claims, shape, programs), _excluded_points(claims, lemma, left), rng)
    wrong = outside.wrong
    return "" if wrong is None else f"{wrong.kind}: {wrong} ({at_witness(as_data(wrong.witness, {}))})"


def _excluded_points(asked: verify.PointClaims, lemma: Lemma, left: Set[Statement]) -> list[verify.Look]:
    """Return where to look outside of a lemma's hypotheses: where one in `left`, which the graph leaves open, fails.

    The other hypotheses, which are discharged, still hold there.
    """
    kinds = dict(zip(asked.names, asked.kinds, strict=True))
    excluding = [h for h in lemma.statements if h in left and not verify.bounds_no_gradient(h, kinds)]
    domain = [*asked.constraints, *(question(h) for h in lemma.statements if h not in excluding)]
    return [verify.Look(o.kind, domain, [(h, question(h)) for h in excluding]) for o in lemma.obligations]


def _claims(operation: Operation, kinds: list[str], signs: tuple[int, ...], lemma: Lemma) -> verify.PointClaims:
    """Return the laws of a lemma as claims at points, all under its hypotheses.

    The active arguments move, the other real ones are fixed. `signs` are the known bounds of the arguments, in order.
    """
    sorts = tuple("held" if kind == "float" and k not in operation.active else kind for k, kind in enumerate(kinds))
    hypotheses = [question(statement) for statement in lemma.statements]
    bounds_by_name = zip(operation.names, signs, strict=False)
    constraints = [question(bound) for name, where in bounds_by_name for bound in bounds.statements(name, where)]
    return verify.PointClaims(
        lemma.name, operation.names, sorts, {o.kind: hypotheses for o in lemma.obligations}, constraints
    )
