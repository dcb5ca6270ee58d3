"""A last look at custom rules in a graph: the lemma of each is evaluated at points inside its own hypotheses.

It uses balls, and nothing of the calculus (`obligations/verify`). A failure is a defect of the proof; no failure proves
nothing.
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
"""A rule is not looked at where an array of it has more entries: a ball for each takes long."""


def defects(induction: Induction, there: TracedGraph, fixed: Mapping[str, Size], outside: bool) -> list[str]:
    """Return the failures of a graph's custom rules; `there` is the graph at the sizes in `fixed`, which are numbers.

    With `outside`, also where hypotheses that are left to the graph do not hold.
    """
    return list(dict.fromkeys(_defects(induction, there, fixed, outside, {})))


def _defects(
    induction: Induction, there: TracedGraph, fixed: Mapping[str, Size], outside: bool, known: dict[Any, str]
) -> Iterator[str]:
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
    """Return whether a function of a rule is in no file of JAX's. Ops have audits of their own."""
    if not equation.name.startswith("custom_") or title.startswith("op "):
        return False
    parts = [jaxpr_of(v) if hasattr(v, "jaxpr") else v for v in equation.eqn.params.values()]
    infos = [info for part in parts if (info := getattr(part, "debug_info", None)) is not None]
    return not all(from_library(str(getattr(info, "func_filename", ""))) for info in infos)


def _failing(judgement: Judgement, equation: Equation, fixed: Mapping[str, Size], left: Set[Statement]) -> str:
    """Return, in words, a point at which a lemma fails inside its own hypotheses, or at which the rule is wrong where a
    hypothesis in `left` excludes it; "" if none is found or nothing is evaluated.

    Not evaluated are large arrays, and a lemma that assumes how its arguments move, as it is not about single points.
    """
    operation, lemma = replace(judgement.operation, equation=equation), judgement.instance.proof.lemma
    sizes = {mine: parse_size(size).at(fixed).value for mine, size in judgement.instance.sizes.items()}
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
    if any(most_entries(program) > LARGEST for program in traced.all().values()):
        return ""
    programs = Programs(traced.forward, traced.jvp, traced.vjp, traced.primal, shapes, traced.out_shapes)
    shape = Shape({mine: n for mine, n in sizes.items() if n is not None}, {}, shapes)
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
    """Return the points that a lemma's hypotheses exclude and the graph does not: those of discharged hypotheses hold
    anyway.
    """
    kinds = dict(zip(asked.names, asked.kinds, strict=True))
    excluding = [h for h in lemma.statements if h in left and not verify.bounds_no_gradient(h, kinds)]
    domain = [*asked.constraints, *(question(h) for h in lemma.statements if h not in excluding)]
    return [verify.Look(o.kind, domain, [(h, question(h)) for h in excluding]) for o in lemma.obligations]


def _claims(operation: Operation, kinds: list[str], signs: tuple[int, ...], lemma: Lemma) -> verify.PointClaims:
    """Return the laws of a lemma as claims at points, all under its hypotheses.

    What moves is active; the other real arguments are held. `signs` are the known bounds of the arguments, in order.
    """
    held = tuple("held" if kind == "float" and k not in operation.active else kind for k, kind in enumerate(kinds))
    hypotheses = [question(statement) for statement in lemma.statements]
    told = zip(operation.names, signs, strict=False)
    given = [question(one) for name, where in told for one in bounds.statements(name, where)]
    return verify.PointClaims(lemma.name, operation.names, held, {o.kind: hypotheses for o in lemma.obligations}, given)
