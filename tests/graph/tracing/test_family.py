"""Families of shapes: what is made a symbol, and that a family contains the node that it was made for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.graph import certify, trace
from certgrad.graph.tracing.family import families_of
from certgrad.obligations.generality.decisions import broken

pytestmark = pytest.mark.usefixtures("proofs_alone")


def arrays(*shapes: tuple) -> list:
    return [jax.ShapeDtypeStruct(s, np.float32) for s in shapes]


def signature(fn, *shapes: tuple, at: int = -1) -> str:
    """The signature of the lemma of one node."""
    found = certify(trace(fn, *arrays(*shapes)))
    step = [s for s in found.steps if s.lemma][at]
    return next(one.signature for one in found.lemmas if one.digest == step.lemma)


@pytest.mark.parametrize(
    "fn, shapes, expected",
    [
        (lambda x, y: x @ y, [(3, 5), (5, 7)], "x [n, m], y [m, k] -> [n, k]"),
        (lambda x, y: x @ y, [(5, 5), (5, 5)], "x [n, m], y [m, k] -> [n, k]"),
        (
            lambda x, y: jnp.einsum("bij,bkj->bik", x, y),
            [(2, 3, 4), (2, 5, 4)],
            "x [n, m, k], y [n, l, k] -> [n, m, l]",
        ),
        (lambda x: x.reshape(6, 2, 4), [(12, 4)], "x [n*m, k] -> [m, n, k]"),
        (lambda x: x.reshape(12, 4), [(6, 2, 4)], "x [n, m, k] -> [m*n, k]"),
        (lambda x: jnp.broadcast_to(x, (3, 5)), [(5,)], "x [n] -> [m, n]"),
        (lambda x: jnp.exp(x)[:, 1:3], [(4, 5)], "x [n, 5] -> [n, 2]"),
        (lambda x: x.T, [(4, 5)], "x [n, m] -> [m, n]"),
        (lambda x, y: jnp.concatenate([x, y]), [(2, 5), (3, 5)], "x [2, n], y [3, n] -> [5, n]"),
        (lambda x, y: x + y, [(4, 5), (1, 5)], "x [n, m], y [1, m] -> [n, m]"),
    ],
)
def test_what_is_a_symbol(fn, shapes: list, expected: str) -> None:
    assert signature(fn, *shapes) == expected


def test_convolutions_of_images_of_any_size() -> None:
    def conv(x, w):
        return jax.lax.conv_general_dilated(x, w, (1,), "SAME")

    assert signature(conv, (2, 3, 8), (4, 3, 3)) == "x [n, m, k], y [l, m, 3] -> [n, l, k]"


def test_with_a_stride_at_the_size_of_the_node() -> None:
    def conv(x, w):
        return jax.lax.conv_general_dilated(x, w, (2,), "VALID")

    assert signature(conv, (2, 3, 9), (4, 3, 3)) == "x [n, m, 9], y [k, m, 3] -> [n, k, 4]"


def test_a_family_contains_its_node() -> None:
    traced = trace(lambda x: jnp.sum(x.reshape(6, 2, 4), axis=1), *arrays((12, 4)))
    for equation in traced.equations.values():
        (family,) = families_of(equation)
        found = [tuple(d._evaluate(family.sizes) for d in s) for s in family.shapes]
        assert found == [tuple(v.aval.shape) for v in equation.variables]


def test_a_primitive_without_a_rule_is_proved_at_its_sizes() -> None:
    def f(x):
        return jnp.linalg.cholesky(x @ x.T + jnp.eye(3))

    found = certify(trace(f, *arrays((3, 3))))
    assert found.verdict == "proved under hypotheses"
    assert any(
        "cholesky" in one.name or one.name.startswith("region") for one in found.lemmas if "[3, 3]" in one.signature
    )


def test_sizes_that_a_rule_treats_on_their_own() -> None:
    """A rule that asks whether n = 7 has another lemma at 7, and this one elsewhere."""

    def program(size: int):
        traced = trace(lambda x, y: x + y, *arrays((size, 5), (size, 5)))
        return traced.equations[2]

    from certgrad.graph.lemmas.lemma import Lemmas
    from certgrad.graph.lemmas.operation import Operation

    proof = Lemmas().of(Operation(program(4), ("x", "y"), (0, 1))).proof
    assert proof.programs is not None
    assert broken(proof.programs, {"n": 4, "m": 5}) is None


def test_nodes_of_one_kind_share_their_lemma() -> None:
    def f(x, a, b, c):
        return jnp.tanh(jnp.tanh(x @ a) @ b) @ c

    found = certify(trace(f, *arrays((2, 3), (3, 4), (4, 5), (5, 6))))
    assert {one.name: one.signature for one in found.lemmas} == {
        "dot_general(x, y)": "x [n, m], y [m, k] -> [n, k]",
        "tanh(x)": "x [n, m] -> [n, m]",
    }


def test_a_rule_that_is_another_at_numbers_is_not_proved_for_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule of a primitive tells a symbol from a number, and is wrong at numbers."""
    from jax.interpreters import ad

    sin = next(e.primitive for e in jax.make_jaxpr(jnp.sin)(1.0).eqns)
    right = ad.primitive_jvps[sin]

    def rule(primals, tangents, **params):
        out, tangent = right(primals, tangents, **params)
        return out, tangent * 3 if all(isinstance(d, int) for d in primals[0].shape) else tangent

    monkeypatch.setitem(ad.primitive_jvps, sin, rule)
    found = certify(trace(lambda x: jnp.sum(jnp.sin(x)), *arrays((3,))))
    assert found.verdict == "refuted"
    assert "sin at test_family.py:" in found.findings[0]
