"""The second check of graph certificates: passes those that are right, and none that is changed or of other code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace as replace_fields
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import pytest
from jax import lax

from certgrad import ops
from certgrad.accel import verify_graph
from certgrad.graph import GraphCertificate, certify, trace
from certgrad.graph.certificate import Lemma, NodeHypothesis, Step, sealed
from certgrad.graph.certifying import certify as _certify
from certgrad.graph.certifying import look
from certgrad.graph.lemmas import interpreted, lemma, proof, refutation
from certgrad.language.canonical import canonical
from certgrad.language.text import text
from certgrad.language.tree import Add, Number
from certgrad.obligations.prove import problem
from certgrad.obligations.prove.statements import Outcome
from certgrad.obligations.terms.polynomials import number
from certgrad.obligations.tracing.jax_internals import Decision, dim_poly
from tests.graph.models import MLP, mlp, right_vjp, wrong_mask

replace = msgspec.structs.replace


def softmax_loss(x, w, labels):
    logits = x @ w
    shifted = logits - lax.stop_gradient(jnp.max(logits, axis=1, keepdims=True))
    log_p = shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis=1, keepdims=True))
    return -jnp.mean(jnp.take_along_axis(log_p, labels[:, None], axis=1))


def elman(w, u, xs):
    def step(h, x):
        h = jnp.tanh(w @ h + u @ x)
        return h, jnp.sum(h**2)

    return jnp.sum(lax.scan(step, jnp.zeros(w.shape[0]), xs)[1])


def relus_in_a_loop(xs):
    return jnp.sum(lax.scan(lambda c, x: (jnp.maximum(c + x, 0), c), jnp.ones(xs.shape[1]), xs)[1])


def branch(x, k):
    return lax.switch(k, [jnp.sin, lambda v: v**3, jnp.abs], x).sum()


def fan_out(x):
    y = jnp.sin(x)
    return (y * y + y).sum() + jnp.sum(x / (1 + y**2))


GRAPHS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "mlp": (mlp, MLP),
    "softmax": (softmax_loss, ("x: n d", "w: d c", "labels: n:int")),
    "elman": (elman, ("w: h h", "u: h d", "xs: t d")),
    "loop": (relus_in_a_loop, ("xs: t d",)),
    "switch": (branch, ("x: n", "k: :int")),
    "fan-out": (fan_out, ("x: n",)),
    "pool": (lambda x: jnp.sum(lax.reduce_window(x, -jnp.inf, lax.max, (2,), (2,), "VALID")), ("x: 6",)),
    "ops": (lambda x, t: ops.mse(ops.softmax(x, axis=-1), t), ("x: n c", "t: n c")),
    "outputs": (lambda x, y: (x @ y, jnp.exp(x), x.astype(jnp.int32)), ("x: n m", "y: m")),
    "numbers": (mlp, ("x: 2 3", "W1: 3 2", "b1: 2", "W2: 2 2", "b2: 2", "target: 2 2")),
}


@cache
def certified(name: str) -> GraphCertificate:
    fn, specs = GRAPHS[name]
    return certify(trace(fn, *specs))


@pytest.fixture(scope="module")
def perceptron() -> GraphCertificate:
    return certified("mlp")


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", GRAPHS)
def test_what_is_certified_is_verified(name: str) -> None:
    fn, specs = GRAPHS[name]
    result = verify_graph(certified(name), fn, *specs)
    assert (result.outcome, result.problems, result.not_evaluated) == ("verified", (), "")
    assert result.points >= 5
    assert result.nodes == len(certified(name).graph.nodes)
    assert 0 < result.lemmas <= len(certified(name).lemmas)


def test_it_uses_nothing_of_the_calculus(perceptron: GraphCertificate, monkeypatch: pytest.MonkeyPatch) -> None:
    def used(*args: object, **kwargs: object) -> None:
        raise AssertionError("the calculus is used")

    for module, names in (
        (proof, ("prove", "build", "_judged", "_prove_at")),
        (interpreted, ("interpret",)),
        (refutation, ("find_witness",)),
        (lemma, ("output_signs",)),
    ):
        for name in names:
            monkeypatch.setattr(module, name, used)
    monkeypatch.setattr(_certify, "Induction", used)
    monkeypatch.setattr("certgrad.obligations.differentiate.derivative.Differentiator.__call__", used)
    monkeypatch.setattr("certgrad.obligations.decide.cases.nonzero_part", used)
    assert verify_graph(perceptron, mlp, *MLP).outcome == "verified"


def test_what_a_cache_of_jax_asks_of_a_size_by_chance_is_traced(
    perceptron: GraphCertificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asking(fn: Callable, specs: Any) -> Any:
        program = problem_trace(fn, specs)
        sizes = [d for v in program.jaxpr.invars for d in v.aval.shape if not isinstance(d, int)]
        asked = tuple(Decision(dim_poly(d) - number(7), "library") for d in sizes[:1])
        return replace_fields(program, decisions=program.decisions + asked)

    problem_trace = problem.trace
    monkeypatch.setattr(problem, "trace", asking)
    assert verify_graph(perceptron, mlp, *MLP).outcome == "verified"


@pytest.mark.slow
def test_the_same_call_draws_the_same_points(perceptron: GraphCertificate) -> None:
    assert verify_graph(perceptron, mlp, *MLP) == verify_graph(perceptron, mlp, *MLP)
    assert verify_graph(perceptron, mlp, *MLP, seed="other", draws=3).outcome == "verified"


# --- other code


def test_another_function_is_another_graph(perceptron: GraphCertificate) -> None:
    def other(x, W1, b1, W2, b2, target):
        return jnp.mean((jnp.maximum(x @ W1 + b1, 0) @ W2 - b2 - target) ** 2)

    result = verify_graph(perceptron, other, *MLP)
    assert result.outcome == "failed"
    assert "the function traces to another graph: node" in result.problems[0]


def test_other_shapes_are_another_graph(perceptron: GraphCertificate) -> None:
    result = verify_graph(perceptron, mlp, "x: n d", "W1: d d", "b1: d", "W2: d c", "b2: c", "target: n c")
    assert result.outcome == "failed"


def test_a_function_that_does_not_trace(perceptron: GraphCertificate) -> None:
    result = verify_graph(perceptron, mlp, "x: n d", "W1: h d", "b1: h", "W2: h c", "b2: c", "target: n c")
    assert result.outcome == "failed"
    assert "does not trace" in result.problems[0]


def of(activation: Callable[[Any], Any]) -> Callable[..., Any]:
    def loss(x, w):
        return jnp.sum(activation(x @ w))

    return loss


def test_another_rule_of_a_node_has_another_digest() -> None:
    certificate = certify(trace(of(right_vjp), "x: n d", "w: d"))
    assert verify_graph(certificate, of(right_vjp), "x: n d", "w: d").outcome == "verified"
    result = verify_graph(certificate, of(wrong_mask), "x: n d", "w: d")
    assert result.outcome == "failed"
    assert "is about other programs than the node's: no digest fits (the node comes from" in result.problems[0]


@pytest.mark.parametrize("rule", [wrong_mask, jax.custom_jvp(lambda x: x * x)])
def test_a_wrong_rule_with_a_forged_proof_is_found_by_evaluation(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if isinstance(rule, jax.custom_jvp):
        rule.defjvp(lambda p, t: (rule(p[0]), 3 * p[0] * t[0]))
    monkeypatch.setattr(proof, "prove", lambda problem, kind: Outcome())
    monkeypatch.setattr(lemma._proved, "table", {})
    traced = trace(of(rule), "x: n d", "w: d")
    monkeypatch.setattr(_certify, "defects", look.defects)
    assert any("defect: its lemma was proved, and does not hold at " in text for text in certify(traced).findings)
    monkeypatch.setattr(_certify, "defects", lambda induction, there, fixed, outside: [])
    certificate = certify(traced)
    assert certificate.verdict == "proved"
    result = verify_graph(certificate, of(rule), "x: n d", "w: d")
    assert result.outcome == "failed"
    assert "at x = [[" in result.problems[0]


# --- changed certificates, each sealed again


def steps(certificate: GraphCertificate, change: Callable[[Step], Step]) -> GraphCertificate:
    return replace(certificate, steps=[change(s) for s in certificate.steps])


def at(certificate: GraphCertificate, operation: str, **fields: object) -> GraphCertificate:
    """The first step whose operation begins like this, changed."""
    first = next(s.node for s in certificate.steps if s.operation.startswith(operation))
    return steps(certificate, lambda s: replace(s, **fields) if s.node == first else s)


def step_of(certificate: GraphCertificate, operation: str) -> Step:
    return next(s for s in certificate.steps if s.operation.startswith(operation))


def lemmas(certificate: GraphCertificate, change: Callable[[Lemma], Lemma]) -> GraphCertificate:
    return replace(certificate, lemmas=[change(one) for one in certificate.lemmas])


def without_hypothesis(certificate: GraphCertificate) -> GraphCertificate:
    """The hypothesis of the only lemma that has one is dropped everywhere: verdicts fit."""
    bare = lemmas(certificate, lambda one: replace(one, hypotheses=[], statements=[], verdict="proved"))
    bare = steps(bare, lambda s: replace(s, hypotheses=[], verdict="proved"))
    return replace(bare, hypotheses=[], verdict="proved")


def with_other_formula(certificate: GraphCertificate) -> GraphCertificate:
    """What is evaluated says x ≠ −1, and what a user reads says x ≠ 0."""
    (tree,) = {h.tree for h in certificate.hypotheses}
    moved_tree = canonical(replace(tree, left=Add((tree.left, Number("1")))))

    def moved(hypotheses: list[NodeHypothesis]) -> list[NodeHypothesis]:
        return [replace(h, tree=moved_tree, formula=text(moved_tree)) for h in hypotheses]

    said = {"statements": [moved_tree], "hypotheses": [text(moved_tree)]}
    changed = lemmas(certificate, lambda one: replace(one, **said) if one.statements else one)
    changed = steps(changed, lambda s: replace(s, hypotheses=moved(s.hypotheses)))
    return replace(changed, hypotheses=moved(certificate.hypotheses))


def with_swapped_sizes(certificate: GraphCertificate) -> GraphCertificate:
    step = next(s for s in certificate.steps if len(set(s.instantiation.values())) > 1)
    names, sizes = list(step.instantiation), list(step.instantiation.values())
    swapped = dict(zip(names, sizes[::-1], strict=True))
    return steps(certificate, lambda s: replace(s, instantiation=swapped) if s.node == step.node else s)


def with_operand(certificate: GraphCertificate) -> GraphCertificate:
    nodes = list(certificate.graph.nodes)
    k = next(n.id for n in nodes if n.name == "add")
    nodes[k] = replace(nodes[k], operands=nodes[k].operands[::-1])
    return replace(certificate, graph=replace(certificate.graph, nodes=nodes))


CHANGED: dict[str, tuple[Callable[[GraphCertificate], GraphCertificate], str]] = {
    "a step is left out": (lambda c: replace(c, steps=c.steps[:-1]), "18 steps for 19 nodes"),
    "another lemma": (lambda c: at(c, "add", lemma=step_of(c, "dot_general").lemma), "no digest fits"),
    "no lemma": (lambda c: at(c, "add", lemma=""), "no lemma has the digest (none)"),
    "sizes swapped": (with_swapped_sizes, "its instantiation is"),
    "arguments swapped": (
        lambda c: at(c, "add", arguments=dict(zip("yx", step_of(c, "add").arguments.values(), strict=True))),
        "its arguments is",
    ),
    "a held node": (lambda c: at(c, "max", role="constant"), "its role is 'constant'"),
    "another line": (lambda c: at(c, "max", source="models.py:1"), "its source is 'models.py:1'"),
    "a cotangent is lost": (
        lambda c: at(c, "input", cotangents=[]),
        "the cotangents that it adds up are not those of its readers: none",
    ),
    "a hypothesis of the lemma is not stated": (
        lambda c: replace(at(c, "max", hypotheses=[], verdict="proved"), hypotheses=[], verdict="proved"),
        "neither stated nor discharged",
    ),
    "a hypothesis is not listed": (lambda c: replace(c, hypotheses=[]), "its hypotheses are not those of its steps"),
    "its verdict": (lambda c: replace(c, verdict="proved"), "it says proved, and has 1 hypotheses"),
    "a conclusion": (lambda c: replace(c, conclusions=c.conclusions[1:]), "its conclusions"),
    "a theorem": (lambda c: replace(c, theorems=[]), "its theorems are none"),
    "a theorem's text": (
        lambda c: replace(c, theorems=[replace(c.theorems[0], statement="1 = 1")]),
        "is not the one that is proved",
    ),
    "an assumption": (lambda c: replace(c, assumptions=c.assumptions[1:]), "it leaves out the assumption"),
    "its digest": (lambda c: replace(c, digest="0" * 64), "its digest is not that of"),
    "a lemma's name": (lambda c: lemmas(c, lambda one: replace(one, name=f"{one.name}!")), "calls itself"),
    "a lemma given more": (lambda c: lemmas(c, lambda one: replace(one, given=["x > 0"])), "no digest fits"),
    "a lemma twice": (lambda c: replace(c, lemmas=[*c.lemmas, c.lemmas[0]]), "have one digest"),
    "an operand of the graph": (with_operand, "has another operands than in the certificate"),
    "a node of the graph": (
        lambda c: replace(c, graph=replace(c.graph, nodes=c.graph.nodes[:-1])),
        "it has 19 nodes, and the certificate 18",
    ),
    "where a value is": (lambda c: at(c, "add", sign="> 0"), "what is said of a value is false: add > 0"),
    "a sign in other words": (lambda c: at(c, "add", sign="positive"), "does not say where a value is"),
    "a hypothesis dropped everywhere": (without_hypothesis, "at x = [["),
    "another formula evaluated": (with_other_formula, "at x = [["),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_certificate_fails(name: str, perceptron: GraphCertificate) -> None:
    change, said = CHANGED[name]
    changed = sealed(change(perceptron))
    assert changed != perceptron
    result = verify_graph(changed, mlp, *MLP)
    assert result.outcome == "failed"
    assert any(said in problem for problem in result.problems), result.problems


def test_a_hypothesis_dropped_inside_a_loop_is_found_by_evaluation() -> None:
    def bare(s: Step) -> Step:
        inside = [replace(part, steps=[bare(one) for one in part.steps]) for part in s.inside]
        return replace(s, hypotheses=[], verdict="proved", inside=inside)

    changed = lemmas(certified("loop"), lambda one: replace(one, hypotheses=[], statements=[], verdict="proved"))
    changed = replace(steps(changed, bare), hypotheses=[], verdict="proved")
    fn, specs = GRAPHS["loop"]
    result = verify_graph(sealed(changed), fn, *specs, draws=40)
    assert result.outcome == "failed"
    assert "at xs = [[" in result.problems[0]


def test_regions_that_the_function_does_not_have() -> None:
    certificate, (fn, specs) = certified("softmax"), GRAPHS["softmax"]
    (region,) = (n for n in certificate.graph.nodes if n.kind == "region")
    for members in ("", "0", "900", region.params["members"].rsplit(" ", 1)[0]):
        nodes = [
            replace(n, params=n.params | {"members": members}) if n.id == region.id else n
            for n in certificate.graph.nodes
        ]
        changed = sealed(replace(certificate, graph=replace(certificate.graph, nodes=nodes)))
        result = verify_graph(changed, fn, *specs)
        assert result.outcome == "failed"
        assert "traces to another graph" in result.problems[0]


def test_what_does_not_pass_without_a_look(perceptron: GraphCertificate) -> None:
    edited = replace(perceptron, assumptions=[])
    assert verify_graph(edited, mlp, *MLP).problems == ("its checksum does not fit: it was edited, or is not whole",)
    other = sealed(replace(perceptron, versions=perceptron.versions | {"jax": "0.0.1"}))
    result = verify_graph(other, mlp, *MLP)
    assert result.outcome == "not checked"
    assert "jax 0.0.1 (here" in result.problems[0]
    certificate = certify(trace(of(wrong_mask), "x: n d", "w: d"))
    assert certificate.verdict == "refuted"
    assert verify_graph(certificate, of(wrong_mask), "x: n d", "w: d").outcome == "not a proof"


@pytest.mark.slow
def test_a_graph_that_is_too_large_says_so() -> None:
    def long(x):
        for _ in range(450):
            x = jnp.sin(x)
        return x.sum()

    result = verify_graph(certify(trace(long, "x: n")), long, "x: n")
    assert (result.outcome, result.points) == ("verified", 0)
    assert result.not_evaluated == "the graph has more than 400 nodes"


@pytest.mark.parametrize(
    "function, specs",
    [
        (lambda x: jnp.linalg.cholesky((x + x.T) / 2), ("x: 2 2",)),
        (lambda x, y: (jnp.log(jnp.float32(3)) + x) * (y + jnp.log(jnp.float32(5))), ("x: ", "y: ")),
    ],
    ids=["a region at its own sizes", "a number on the left and on the right"],
)
def test_a_lemma_is_told_by_its_digest(function, specs) -> None:
    found = verify_graph(certify(trace(function, *specs)), function, *specs)
    assert (found.outcome, found.problems) == ("verified", ())
