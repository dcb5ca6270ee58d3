"""Whole graphs in Coq: a right one is accepted, and no theorem about one with a wrong lemma, size or wire."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest

from certgrad.coq import DEFINED_SUFFIX, Judged, NotPrintedError, export_graph
from certgrad.graph import trace
from certgrad.graph.certifying.certify import certification
from certgrad.graph.coq.printed import print_graph, read_graph

WHOLE = ("tangents_are_derivatives", "sweep_is_adjoint", "sweep_is_gradient")


def loss(x, weight, labels):
    kept = jnp.where(labels[:, None] > 0, x @ weight, 0.0)
    return jnp.sum(jnp.tanh(kept) * kept)


@pytest.fixture(scope="module")
def done():
    with jax.enable_x64(True):
        return certification(trace(loss, "n d", "d k", "n:int"))


def whole(judged: tuple[Judged, ...]) -> dict[str, bool]:
    """Which theorems about the whole graph are accepted, by kind."""
    return {j.kind: j.accepted for j in judged if j.kind in WHOLE}


def test_a_right_graph_is_accepted(kernel, done):
    file = print_graph(done)
    judged = kernel.judge(file).judged
    assert {j.name: j.reason for j in judged if j.stated and not j.accepted} == {}
    assert whole(judged) == dict.fromkeys(WHOLE, True)


def test_what_does_not_move_is_defined_before_the_nodes(done):
    text = print_graph(done).text()
    assert "(v2' : Z -> Z)" in text  # the labels, of which the theorems speak whatever they are
    assert "loss_nodes (n d k : Z) (v2' : Z -> Z) : list node" in text
    assert "%" in text  # each node says which one it is


def test_the_theorems_are_about_the_nodes_of_the_certificate(done):
    text = print_graph(done).text()
    moving = [s for s in done.certificate.steps if s.role == "moving"]
    assert text.count("{| does := loss_") - text.count("lawful {| does := ") == len(moving)


@pytest.mark.slow
def test_a_wrong_lemma_is_not_accepted(kernel, done):
    file = print_graph(done)
    section = next(s for s in file.sections if any(d.name.endswith("tanh_vjp") for d in s.definitions))
    definitions = tuple(replace(d, text=d.text.replace("(1 - ", "(1 + ")) for d in section.definitions)
    assert definitions != section.definitions
    changed = replace(section, definitions=definitions)
    file = replace(file, sections=tuple(changed if s is section else s for s in file.sections))
    judged = kernel.judge(file).judged
    assert not any(whole(judged).values())
    assert [j.accepted for j in judged if j.kind == "nodes_are_wired"] == [True]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("change", ["reads", "sizes", "outputs"])
def test_a_wrong_wire_is_not_accepted(kernel, done, change):
    graph = read_graph(done)
    k, node = next((k, n) for k, n in enumerate(graph.nodes) if n.lemma and len(n.lemma.inputs) == 2 and n.sizes)
    if change == "reads":
        wrong = replace(graph, nodes=_with(graph.nodes, k, replace(node, reads=node.reads[::-1])))
    elif change == "sizes":
        turned = dict(
            zip(node.sizes, [*list(node.sizes.values())[1:], node.sizes[next(iter(node.sizes))]], strict=True)
        )
        wrong = replace(graph, nodes=_with(graph.nodes, k, replace(node, sizes=turned)))
    else:
        wrong = replace(graph, outputs=((0, 0),), nodes=_with(graph.nodes, 0, graph.nodes[0]))
        wrong = replace(wrong, nodes=_with(wrong.nodes, 0, replace(wrong.nodes[0], outputs=wrong.nodes[1].outputs)))
    file = export_graph(wrong)
    judged = kernel.judge(file).judged
    found = whole(judged)
    assert not found["sweep_is_adjoint"]
    assert [j.accepted for j in judged if j.kind == "nodes_are_wired"] == [False]


def recurrence(h, w, rows):
    return jnp.sum(jax.lax.scan(lambda h, row: (jnp.tanh(h @ w + row), h), h, rows)[1])


def root(x):
    return jnp.sum(jnp.sqrt(jnp.sum(x * x, axis=1) + 1.0))


def certified(fn, *specs):
    with jax.enable_x64(True):
        return certification(trace(fn, *specs))


@pytest.mark.slow
def test_a_loop_of_any_length_is_accepted(kernel):
    file = print_graph(certified(recurrence, "d", "d d", "t d"))
    judged = kernel.judge(file).judged
    left = {j.name: j.reason for j in judged if j.stated and not j.accepted}
    assert left == {"recurrence_program_is_run": "not printed: a program with a loop"}
    assert whole(judged) == dict.fromkeys(WHOLE, True)
    assert "does := loop [[d; d]] [[d]] [[d]] [[d]] (of_graph" in file.text()


@pytest.mark.slow
def test_a_loop_with_a_wrong_step_is_not_accepted(kernel):
    graph = read_graph(certified(recurrence, "d", "d d", "t d"))
    k, node = next((k, n) for k, n in enumerate(graph.nodes) if n.loop)
    body = replace(node.loop.body, outputs=node.loop.body.outputs[::-1])  # of two that are carried, in another order
    wrong = replace(graph, nodes=_with(graph.nodes, k, replace(node, loop=replace(node.loop, carries=2, body=body))))
    found = whole(kernel.judge(export_graph(wrong)).judged)
    assert not found["sweep_is_adjoint"]
    assert not found["sweep_is_gradient"]


@pytest.mark.slow
def test_what_signs_discharge_is_discharged(kernel):
    graph = read_graph(certified(root, "n d"))
    file = export_graph(graph)
    (theorem,) = (t for t in file.theorems if t.kind == "hypotheses_are_discharged")
    assert "left_to_ask" not in theorem.statement  # nothing is left
    assert all(j.accepted for j in kernel.judge(file).judged if j.stated)
    k, node = next((k, n) for k, n in enumerate(graph.nodes) if n.claim.tells == ("Positive",))
    wrong = replace(node, claim=replace(node.claim, knows=("Any",)))
    judged = kernel.judge(export_graph(replace(graph, nodes=_with(graph.nodes, k, wrong)))).judged
    assert [j.accepted for j in judged if j.kind == "hypotheses_are_discharged"] == [False]
    assert whole(judged) == dict.fromkeys(WHOLE, True)


@pytest.mark.slow
def test_a_wire_to_another_slot_of_the_same_shape_is_another_program(kernel):
    """The theorems about the passes are true of that graph as well; that it is the function's program is not."""
    graph = read_graph(certified(lambda x: jnp.sum(jnp.tanh(x) - x), "n"))
    judged = kernel.judge(export_graph(graph)).judged
    assert [j.accepted for j in judged if j.kind == "program_is_run"] == [True]
    k, node = next((k, n) for k, n in enumerate(graph.nodes) if n.lemma and len(n.lemma.inputs) == 2)
    wrong = replace(graph, nodes=_with(graph.nodes, k, replace(node, reads=node.reads[::-1])))
    judged = kernel.judge(export_graph(wrong)).judged
    assert [j.accepted for j in judged if j.kind == "program_is_run"] == [False]
    assert whole(judged) == dict.fromkeys(WHOLE, True)


def test_a_graph_with_another_node_inside_says_why_it_is_not_printed():
    done = certified(lambda x, k: jax.lax.cond(k > 0, jnp.sin, jnp.cos, x), "", ":int")
    with pytest.raises(NotPrintedError, match="a node cond with graphs inside"):
        print_graph(done)


def _with(nodes, k, node):
    return (*nodes[:k], node, *nodes[k + 1 :])


def test_a_graph_that_is_not_proved_is_not_printed():
    @jax.custom_jvp
    def wrong(x):
        return jnp.sin(x)

    wrong.defjvp(lambda xs, dxs: (jnp.sin(xs[0]), dxs[0]))
    with pytest.raises(NotPrintedError, match="its verdict is 'refuted'"):
        print_graph(certification(trace(lambda x: jnp.sum(wrong(x)), "n")))


@pytest.mark.slow
def test_what_a_proof_uses_is_proved_again_though_it_is_known(kernel, done):
    """The theorem about the whole is asked for alone: those of the lemmas have to be there all the same."""
    file = print_graph(done)
    last = file.sections[-1]
    known = {t.name: Judged(t.name, t.kind, True) for s in file.sections[:-1] for t in s.theorems}
    assert not any(t.kind.endswith(DEFINED_SUFFIX) for t in last.theorems)
    asked = kernel.known
    kernel.known = lambda f: {**known, **asked(f)}
    try:
        judged = kernel.judge(file).judged
    finally:
        del kernel.known
    assert whole(judged) == dict.fromkeys(WHOLE, True)
