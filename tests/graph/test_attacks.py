"""Attacks on the induction: what a node may be given that its lemma does not speak of. No wrong one is proved, and each
right one is, with no more hypotheses than it needs."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import pytest
from jax import lax

from certgrad.errors import TraceError
from certgrad.graph import GraphCertificate, certify, trace
from certgrad.graph.ir import Ref
from certgrad.graph.lemmas import lemma as lemmas


def rule(f, backward, forward=None):
    """`f` with this custom VJP, whose residuals are its arguments."""
    g = jax.custom_vjp(f)
    g.defvjp(forward or (lambda *args: (f(*args), args)), backward)
    return g


def shaped(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, np.float32)


def certified(fn, *specs) -> GraphCertificate:
    return certify(trace(fn, *specs))


def asked(found: GraphCertificate) -> list[str]:
    return [h.text.split(": ", 1)[1] for h in found.hypotheses]


def is_refuted(found: GraphCertificate, where: str) -> bool:
    """It is refuted, by a point at these sizes."""
    return found.verdict == "refuted" and any(f"is refuted where {where}: " in text for text in found.findings)


NO_PROOF = ("unproved", "refuted")
wrong = rule(lambda x: x * x, lambda r, g: (3 * r[0] * g,))
right = rule(lambda x: x * x, lambda r, g: (2 * r[0] * g,))
product = rule(lambda x, y: x * y, lambda r, g: (g * r[1], g * r[0]))


class TestEmptyRanges:
    """A lemma speaks of sizes of at least 1."""

    def test_a_sum_of_nothing_is_not_positive(self) -> None:
        found = certified(lambda x: jnp.log(jnp.sum(jnp.exp(x[3:]))), shaped(3))
        assert found.verdict == "unproved"

    def test_a_sum_over_a_range_that_may_be_empty(self) -> None:
        found = certified(lambda x: jnp.log(jnp.sum(jnp.exp(x[1:]))), "n")
        assert found.verdict == "proved under hypotheses"
        assert asked(found) == ["every element of `sum(exp(gather(x, 1)))` > 0"], "which fails at n = 1"

    def test_a_maximum_needs_an_entry(self) -> None:
        found = certified(lambda x: jnp.max(x[1:], initial=0.0), "n")
        assert found.verdict == "proved under hypotheses"
        assert any(text.startswith("n - 1 ≥ 1 (in the rule of %") for text in found.dimensions)

    def test_a_range_that_is_never_empty(self) -> None:
        assert certified(lambda x: jnp.log(jnp.sum(jnp.exp(jnp.repeat(x, 2)))), "n").verdict == "proved"


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "place",
    [
        lambda f: jax.jit(lambda x: lax.scan(lambda c, v: (c + f(v), None), 0.0, x)[0]),
        lambda f: lambda x: jnp.sum(jax.checkpoint(lambda y: jnp.sin(f(y)))(x)),
        lambda f: lambda x: lax.switch(x.shape[0] * 0 + 1, [jnp.sum, lambda y: jnp.sum(f(y))], x),
        lambda f: lambda x: jnp.sum(jax.vmap(lambda y: f(y) * y)(x)),
        lambda f: lambda x: jnp.sum(rule(lambda y: f(y) + y, lambda r, g: (jax.vjp(f, *r)[1](g)[0] + g,))(x)),
    ],
    ids=["scan in jit", "remat", "switch", "vmap", "another rule"],
)
def test_a_rule_inside(place) -> None:
    assert certified(place(right), "n").verdict == "proved"
    assert certified(place(wrong), "n").verdict in ("refuted", "unproved")


def test_a_wrong_rule_inside_a_function_with_a_right_one_does_not_run() -> None:
    outer = rule(lambda y: wrong(y) + y, lambda r, g: (2 * r[0] * g + g,))
    assert certified(lambda x: jnp.sum(outer(x)), "n").verdict == "proved"


def test_a_rule_on_a_number_and_on_one_value_twice() -> None:
    assert certified(lambda x: jnp.sum(x * right(2.0)), "n").verdict == "proved"
    assert certified(lambda x: jnp.sum(product(x, x)), "n").verdict == "proved"


def test_what_a_cache_of_jax_asks_makes_no_other_lemma(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of JAX's caches are compared as chance has it: a question about sizes that changes no program."""
    monkeypatch.setattr(lemmas, "broken", lambda programs, sizes: {"n": str(sizes["n"])})
    found = certified(lambda x: x.T, shaped(4, 5))
    assert [one.signature for one in found.lemmas] == ["x [n, m] -> [m, n]"]


def test_hypotheses_that_hold_at_one_size_alone_prove_nothing() -> None:
    found = certified(lambda x: jnp.sum(jnp.log(x)) + jnp.sum(jnp.log(-x[1:])), "n")
    assert found.findings[-1].endswith("nothing shows that they can hold together")


class TestSizes:
    """Code that asks of sizes what a symbol answers one way."""

    @pytest.mark.parametrize(
        "test",
        [lambda n: type(n) is int, lambda n: {7: True}.get(n, False), lambda n: str(n) == "7"],
        ids=["a number", "a look-up", "its text"],
    )
    def test_what_no_other_size_answers(self, test) -> None:
        assert certified(lambda x: jnp.sum(wrong(x) if test(x.shape[0]) else x), "n").verdict in NO_PROOF
        hidden = rule(lambda x: x * x, lambda r, g: ((3 if test(r[0].shape[0]) else 2) * r[0] * g,))
        assert certified(lambda x: jnp.sum(hidden(x)), "n").verdict in NO_PROOF

    def test_a_size_is_a_number_as_it_is_where_the_code_runs(self) -> None:
        def is_seven(n) -> bool:
            return isinstance(n, int) and n == 7

        found = certified(lambda x: jnp.sum(wrong(x) if is_seven(x.shape[0]) else x), "n")
        assert is_refuted(found, "n = 7")
        hidden = rule(lambda x: x * x, lambda r, g: ((3 if is_seven(r[0].shape[0]) else 2) * r[0] * g,))
        assert is_refuted(certified(lambda x: jnp.sum(hidden(x)), "n"), "n = 7")

    def test_another_right_program_at_numbers(self) -> None:
        found = certified(lambda x: jnp.sum(jnp.log(x) if type(x.shape[0]) is int else x), "n")
        assert found.verdict == "unproved"  # what runs at every size is not the graph
        assert found.findings == [
            "<lambda> compares the type of a value: a trace has other types, so it may do other things"
        ]
        assert any("where sizes are numbers, such as n = 5: log at " in text for text in found.dimensions)

    def test_a_residue_class(self) -> None:
        found = certified(lambda x: jnp.sum(wrong(x) if x.shape[0] % 2 == 0 else x), "n")
        assert is_refuted(found, "n = 2*j for some j")

    def test_what_a_rule_asks_of_sizes_in_a_case(self) -> None:
        hidden = rule(lambda x: x * x, lambda r, g: ((3 if r[0].shape[1] == 4 else 2) * r[0] * g,))
        found = certified(lambda x: jnp.sum(hidden(x) if x.shape[0] == 7 else x), "n d")
        assert is_refuted(found, "d = 4 and n = 7")

    @pytest.mark.one_in(3)
    @pytest.mark.parametrize(
        "asks",
        [
            lambda shape: shape[0] == 3,
            lambda shape: shape[0] in (1, 4),
            lambda shape: shape[0] % 2 == 0,
            lambda shape: shape[0] == shape[1],
        ],
        ids=["a number", "two", "even", "another size"],
    )
    @pytest.mark.parametrize(
        "fn",
        [jnp.sum, lambda x: lax.scan(lambda c, w: (c + w, None), x[0], x)[0]],
        ids=["a node", "inside a loop"],
    )
    def test_a_rule_that_is_another_one_at_some_sizes_is_certified_there(self, asks, fn) -> None:
        def ruled(factor: int) -> Callable:
            def backward(r, g):
                return (jnp.cos(r[0]) * g * factor if asks(r[0].shape) else g * jnp.cos(r[0]),)

            f = rule(jnp.sin, backward)
            return lambda x: fn(f(x))

        right, wrong = (certified(ruled(factor), "n d") for factor in (1, 2))
        assert (right.verdict, right.dimensions) == ("proved", [])
        assert any(text.startswith("Where ") for text in right.assumptions)
        assert wrong.verdict == "refuted"

    def test_a_size_that_function_and_rule_ask_for_is_certified_once(self) -> None:
        alike = rule(jnp.sin, lambda r, g: (g * jnp.cos(r[0]) if r[0].shape[0] != 3 else jnp.cos(r[0]) * g,))
        found = certified(lambda x: jnp.sum(alike(x)) if x.shape[0] != 3 else jnp.sum(x), "n")
        assert sum(text.startswith("Where n = 3, ") for text in found.assumptions) == 1

    def test_a_graph_that_is_refuted_is_refuted_by_its_own_point(self) -> None:
        found = certified(lambda x: jnp.sum(wrong(x) + (x if x.shape[0] == 7 else 0.0)), "n")
        assert found.verdict == "refuted"
        assert not any("is refuted where" in text for text in found.findings)

    def test_where_such_a_rule_asks_for_more_there_it_is_a_hypothesis(self) -> None:
        def backward(r, g):
            return (g * r[0] / r[0] if r[0].shape[0] == 3 else g,)

        found = certified(lambda x: jnp.sum(rule(lambda x: x, backward)(x)), "n")
        assert found.verdict == "proved under hypotheses"
        (text,) = found.dimensions
        assert text.startswith("where n = 3: ")
        assert text.endswith("every element of `x` ≠ 0")


@pytest.mark.slow
def test_branches_over_symbolic_sizes_are_evaluated_at_numbers() -> None:
    """JAX's rule of det has a `cond` inside, and another program at n = 1, where this one is not looked at."""
    found = certified(jnp.linalg.det, "n n")
    assert found.verdict == "unproved"


def test_an_impure_rule() -> None:
    calls: list[int] = []
    impure = rule(lambda x: x * x, lambda r, g: (calls.append(1) or (2 + len(calls) % 2) * r[0] * g,))
    found = certified(lambda x: jnp.sum(impure(x)), "n")
    assert found.verdict == "unproved"
    assert "it is impure" in found.findings[0]


def test_branches_without_operations() -> None:
    found = certified(lambda x: lax.cond(x > 0, lambda: 1.0, lambda: 2.0), "")
    assert found.verdict == "proved under hypotheses"


class TestPlantedFaults:
    """Faults that keep all types: the graph is well formed, and not the function's."""

    def changed(self, fn, *specs: str, **changes):
        traced = trace(fn, *specs)
        node = next(n for n in traced.nodes if n.source)
        nodes = [msgspec.structs.replace(n, **changes) if n is node else n for n in traced.nodes]
        traced.ir = msgspec.structs.replace(traced.ir, nodes=nodes)
        return traced

    def refused(self, traced) -> str:
        with pytest.raises(TraceError, match="is not well formed") as error:
            certify(traced)
        return str(error.value)

    def test_swapped_parents(self) -> None:
        fault = self.changed(lambda x, y: x - y, "n", "n", operands=[Ref(node=1), Ref(node=0)])
        assert "node 2 (sub) has other operands than the function's (the node" in self.refused(fault)

    def test_another_parameter(self) -> None:
        fault = self.changed(lambda x: x**3, "n", params={"y": "2"})
        assert "node 1 (integer_pow) has other params than the function's" in self.refused(fault)

    def test_another_body(self) -> None:
        def loop(f):
            return trace(lambda x: lax.scan(lambda c, r: (c + f(r), None), 0.0, x)[0], "n")

        traced, other = loop(jnp.sin), loop(jnp.cos)
        traced.bodies = other.bodies
        assert "node 1 (scan) holds another graph than the function's" in self.refused(traced)

    def test_swapped_outputs(self) -> None:
        traced = trace(lambda x, y: (jnp.sin(x), jnp.cos(y)), "n", "n")
        traced.ir = msgspec.structs.replace(traced.ir, outputs=traced.ir.outputs[::-1])
        assert "other nodes or outputs" in self.refused(traced)

    def test_another_constant(self) -> None:
        traced = trace(lambda x: x * np.arange(3.0), shaped(3))
        traced.constants = {k: np.ones(3) for k in traced.constants}
        assert "(c0) has another value" in self.refused(traced)


class TestNoNumbers:
    """NaN and infinities are no real numbers, wherever they come from."""

    @pytest.mark.parametrize(
        "fn",
        [
            lambda x: x + np.array([0.0, np.nan]),
            lambda x: jnp.sum(x) + jnp.sum(np.array([np.nan])),
            lambda x: jnp.where(np.array([True, False]), x, np.array([1.0, np.nan])),
            lambda x: jnp.var(x[:1], ddof=1),
            lambda x: (jnp.sum(x), jnp.nan),
            lambda x: lax.scan(lambda c, r: (c + r, None), jnp.inf, x)[0],
            lambda x: lax.scan(lambda c, r: (c + r, None), np.array(np.inf), x)[0],
            lambda x: lax.scan(lambda c, r: (jnp.nan, c * r), 0.0, x)[1],
            lambda x: lax.cond(x[0] > 0, lambda: x[0], lambda: jnp.nan),
        ],
        ids=["entry", "sum", "selected", "output", "second output", "carry", "array", "handed on", "branch"],
    )
    def test_reaches_the_result(self, fn) -> None:
        found = certified(fn, shaped(2))
        assert found.verdict == "unproved"
        assert "NaN or an infinity, which is no real number" in " ".join(found.findings)

    def test_never_selected(self) -> None:
        assert certified(lambda x: jnp.where(np.array([True, True]), x, jnp.nan), shaped(2)).verdict == "proved"
