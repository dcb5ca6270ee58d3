"""Values that do not move where they are 0, and what maxima over them ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from certgrad.accel import verify_graph
from certgrad.graph import certify, trace
from certgrad.graph.certificate import GraphCertificate, decode, encode
from certgrad.graph.induction import induction

pytestmark = pytest.mark.usefixtures("proofs_alone")

X = jax.ShapeDtypeStruct((3, 4), jnp.float32)
UNIQUE, OR_ZERO = "is unique", "is unique, or the maximum is 0"


def largest(x: Any) -> Any:
    return jnp.sum(jnp.max(x, axis=1) ** 2)


def pooled(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2), (1, 2), "VALID")


def asked_of_maxima(certificate: GraphCertificate) -> list[str]:
    """What is asked of maxima, up to what they are taken of."""
    texts = [h.text for h in certificate.hypotheses if UNIQUE in h.text]
    return [text[text.index(UNIQUE) :].split(" for ")[0].split(", where")[0] for text in texts]


def certified(function: Callable[..., Any], *specs: Any) -> GraphCertificate:
    certificate = certify(trace(function, *specs))
    assert certificate.verdict == "proved under hypotheses"
    return certificate


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: largest(jax.nn.relu(x)),
        lambda x: largest(jax.nn.relu6(x)),
        lambda x: largest(jnp.maximum(x, 0)),
        lambda x: largest(jax.nn.relu(x) * jnp.array([1.0, 0.0, -2.0, 1.0])),
        lambda x: largest(jnp.pad(jax.nn.relu(x), ((0, 0), (1, 1)))),
        lambda x: largest(jnp.concatenate([jax.nn.relu(x), jnp.zeros((3, 1))], 1)),
        lambda x: largest(jax.nn.relu(x)[::-1].reshape(2, 6)),
        lambda x: jnp.sum(pooled(jax.nn.relu(x)) ** 2),
        lambda x: largest(pooled(jax.nn.relu(x))),
        lambda x: largest(x**2),
    ],
)
def test_a_maximum_of_what_rests_at_0_may_be_0(function: Callable[..., Any]) -> None:
    certificate = certified(function, X)
    assert set(asked_of_maxima(certificate)) == {OR_ZERO}
    found = verify_graph(certificate, function, X)
    assert (found.outcome, found.problems) == ("verified", ())
    assert found.points > 0


def test_a_minimum_too() -> None:
    certificate = certified(lambda x: jnp.sum(jnp.min(-jax.nn.relu(x), axis=1) ** 2), X)
    assert asked_of_maxima(certificate) == ["is unique, or the minimum is 0"]


def test_dropout_between() -> None:
    mask = jax.ShapeDtypeStruct((3, 4), jnp.bool_)
    certificate = certified(lambda x, m: largest(jnp.where(m, jax.nn.relu(x) / 0.9, 0.0)), X, mask)
    assert asked_of_maxima(certificate) == [OR_ZERO]


def test_at_all_sizes() -> None:
    certificate = certify(trace(lambda x: largest(jax.nn.relu(x)), "n d"))
    assert asked_of_maxima(certificate) == [OR_ZERO]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: largest(x),
        lambda x: largest(jnp.sin(x)),
        lambda x: largest(jax.nn.relu(x) - 1),
        lambda x: largest(jax.nn.relu(x) @ jnp.arange(8.0).reshape(4, 2)),
        lambda x: largest(jnp.concatenate([jax.nn.relu(x), 2 * x], 1)),
        lambda x: largest(jnp.abs(x) * x - x),
    ],
)
def test_a_maximum_of_what_moves_is_attained_once(function: Callable[..., Any]) -> None:
    assert asked_of_maxima(certified(function, X)) == [UNIQUE]


def test_the_hypotheses_hold_on_data_with_many_zeros() -> None:
    x = np.random.default_rng(0).normal(size=(64, 6))
    certificate = certify(trace(lambda x: jnp.sum(pooled(jax.nn.relu(x))), jnp.asarray(x, jnp.float32)))
    assert (jnp.asarray(x).reshape(64, 3, 2) < 0).all(-1).any(), "some windows hold zeros alone"
    assert [(a.failing, a.unknown) for a in certificate.at_arrays] == [(0, "")] * 2


def with_tangent(function: Callable[..., Any], tangent: Callable[..., Any]) -> Callable[..., Any]:
    rule = jax.custom_jvp(function)
    rule.defjvp(lambda primals, tangents: (rule(*primals), tangent(*primals, *tangents)))
    return rule


def greatest(x: Any) -> Any:
    return jnp.max(x, axis=1)


def hits(y: Any) -> Any:
    return (y == jnp.max(y, 1, keepdims=True)).astype(y.dtype)


ties_move_the_first_entry = with_tangent(
    greatest, lambda x, dx: jnp.where(hits(x).sum(1) == 1, (hits(x) * dx).sum(1), dx.sum(1))
)
"""Where it is attained twice, its JVP is the sum of all tangents."""
ties_divide_by_zero = with_tangent(greatest, lambda x, dx: (hits(x) * dx).sum(1) / (2 - hits(x).sum(1)))
"""Its JVP is no number where it is attained twice."""


def ties_pull_back_more(x: Any) -> Any:
    """The greatest entry of each row, with a VJP that gives all of the cotangent to each entry that attains it."""

    @jax.custom_vjp
    def top(x: Any) -> Any:
        return jnp.max(x, axis=1)

    def fwd(x: Any) -> Any:
        return top(x), (x == jnp.max(x, axis=1, keepdims=True)).astype(x.dtype)

    top.defvjp(fwd, lambda hit, g: (hit * g[:, None],))
    return top(x)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("top", [ties_move_the_first_entry, ties_divide_by_zero, ties_pull_back_more])
def test_a_rule_that_does_something_else_at_ties_is_asked_for_none(top: Callable[[Any], Any]) -> None:
    certificate = certified(lambda x: jnp.sum(top(jax.nn.relu(x)) ** 2), X)
    assert OR_ZERO not in asked_of_maxima(certificate)


def test_a_rule_that_shares_ties_may_have_them() -> None:
    top = with_tangent(greatest, lambda x, dx: (hits(x) * dx).sum(1))
    assert asked_of_maxima(certified(lambda x: jnp.sum(top(jax.nn.relu(x)) ** 2), X)) == [OR_ZERO]


def test_what_is_said_to_rest_and_moves_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(induction, "is_still", lambda *_: True)
    small = jax.ShapeDtypeStruct((2, 2), jnp.float32)
    certificate = certify(trace(lambda x: largest(x), small))
    assert asked_of_maxima(certificate) == [OR_ZERO]
    found = verify_graph(certificate, lambda x: largest(x), small, draws=40)
    assert found.outcome == "failed"
    assert "does not move where it is 0" in found.problems[0]


def test_it_survives_as_data() -> None:
    certificate = certified(lambda x: largest(jax.nn.relu(x)), X)
    again = decode(encode(certificate))
    assert again == certificate
    assert [lemma.given for lemma in again.lemmas if lemma.given] == [["x does not move where it is 0"]]


KEPT = jax.ShapeDtypeStruct((3, 4), jnp.bool_)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: jnp.sum(jnp.abs(jax.nn.relu(x))),
        lambda x: jnp.sum(jax.nn.relu(jax.nn.relu(x))),
        lambda x: jnp.sum(jnp.maximum(0.0, jax.nn.relu(x))),
        lambda x: jnp.sum(jnp.abs(x**3)),
    ],
)
def test_what_bends_at_0_asks_nothing_of_what_rests_there(function: Callable[..., Any]) -> None:
    certificate = certify(trace(function, X))
    assert {text.split(" at ")[0] for text in texts_of(certificate)} <= {"relu"}, "of the first relu's argument alone"
    assert len(certificate.hypotheses) < 2
    found = verify_graph(certificate, function, X)
    assert (found.outcome, found.problems) == ("verified", ())
    assert found.points > 0


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("function", "asked"),
    [
        (lambda x: jnp.sum(jnp.sqrt(jax.nn.relu(x))), "sqrt"),
        (lambda x: jnp.sum(jnp.sign(jax.nn.relu(x)) * x), "sign"),
        (lambda x: jnp.sum(jnp.sqrt(jax.nn.relu(x) ** 2)), "sqrt"),
        (lambda x: jnp.sum(jnp.where(jax.nn.relu(x) > 0, x, x**2)), "gt"),
        (lambda x: jnp.sum(jnp.abs(jax.nn.relu(x) - 1)), "abs"),
        (lambda x: jnp.sum(jnp.abs(jax.nn.relu(x) + x)), "abs"),
        (lambda x: jnp.sum(jnp.floor(jax.nn.relu(x)) * x), "floor"),
    ],
)
def test_what_jumps_or_is_steep_at_0_asks_as_before(function: Callable[..., Any], asked: str) -> None:
    assert asked in {text.split(" at ")[0] for text in texts_of(certify(trace(function, X)))}


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    ("function", "specs", "asked"),
    [
        (lambda x, k: jnp.sum(jnp.abs(k * x)), (X, KEPT), "`x` ≠ 0 or `k` = 0 at every element"),
        (lambda x, k: jnp.sum(jax.nn.relu(jnp.where(k, x, 0.0))), (X, KEPT), "z ≠ 0 wherever x > 0"),
        (lambda x: jnp.sum(jax.nn.relu(jnp.pad(x, 1))), (X,), "every element of `x` ≠ 0"),
        (lambda x, k: jnp.sum(jax.nn.relu((k * x / 0.7).T)), (X, KEPT), "`x` ≠ 0 or `k` = 0 at every element"),
        (lambda x, k: largest(jnp.abs(k * x)), (X, KEPT), "`x` ≠ 0 or `k` = 0 at every element"),
    ],
)
def test_a_mask_excuses_what_it_makes_0(function: Callable[..., Any], specs: Any, asked: str) -> None:
    """What is 0 because of a mask does not move; it is asked that nothing else is 0."""
    certificate = certified(function, *specs)
    kinks = [text for text in texts_of(certificate) if UNIQUE not in text]
    assert len(kinks) == 1
    assert asked in kinks[0]
    found = verify_graph(certificate, function, *specs)
    assert (found.outcome, found.problems) == ("verified", ())
    assert found.points > 0


def test_dropout_before_a_relu() -> None:
    def function(key: Any, x: Any) -> Any:
        return jnp.sum(jax.nn.relu(jax.random.bernoulli(key, 0.7, x.shape) * x / 0.7))

    certificate = certified(function, jax.random.key(0), X)
    assert ["`x` ≠ 0 or `bernoulli(key, 0.7)` = 0" in text for text in texts_of(certificate)] == [True]
    assert verify_graph(certificate, function, jax.random.key(0), X).not_evaluated == "it takes a random key"


def test_inside_a_loop() -> None:
    def function(x: Any, keep: Any) -> Any:
        return lax.scan(lambda c, row: (c + jnp.sum(jax.nn.relu(row[1] * row[0])), None), 0.0, (x, keep))[0]

    certificate = certified(function, X, KEPT)
    assert len(certificate.hypotheses) == 1
    assert "= 0 at every element" in certificate.hypotheses[0].text


def texts_of(certificate: GraphCertificate) -> list[str]:
    return [h.text for h in certificate.hypotheses]


@jax.custom_jvp
def root(x: Any) -> Any:
    """The cube root, with a JVP that says 0 at 0."""
    return jnp.cbrt(x)


@root.defjvp
def _(primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    y = root(x)
    return y, jnp.where(x == 0, 0.0, dx / (3 * jnp.where(x == 0, 1.0, y) ** 2))


@jax.custom_jvp
def steep_where(x: Any, keep: Any) -> Any:
    """The cube root where a mask is true, and the entry elsewhere."""
    return jnp.where(keep, jnp.cbrt(x), x)


@steep_where.defjvp
def _(primals: Any, tangents: Any) -> Any:
    (x, keep), (dx, _) = primals, tangents
    y = jnp.cbrt(x)
    steep = jnp.where(x == 0, 0.0, dx / (3 * jnp.where(x == 0, 1.0, y) ** 2))
    return steep_where(x, keep), jnp.where(keep, steep, dx)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("function", "specs"),
    [
        (lambda x: jnp.sum(root(x**3)), (X,)),
        (lambda x: jnp.sum(root(x) ** 2), (X,)),
        (lambda x, k: jnp.sum(steep_where(x**3, k)), (X, KEPT)),
        (lambda x, k: jnp.sum(steep_where(jax.nn.relu(x) ** 3, k)), (X, KEPT)),
    ],
)
def test_what_is_steep_at_0_may_move_however_slow_its_argument_is(function: Callable[..., Any], specs: Any) -> None:
    """The cube root of x³ has the derivative 1 at 0, where a JVP of its own says 0: that entry is excluded."""
    certificate = certify(trace(function, *specs))
    assert certificate.verdict in ("proved under hypotheses", "unproved")
    if certificate.verdict != "unproved":
        assert any("≠ 0" in text for text in texts_of(certificate) if not text.startswith("relu"))


LONG, WEIGHTS = jax.ShapeDtypeStruct((5,), jnp.float32), jnp.arange(1.0, 5.0)
WHOLE = jax.ShapeDtypeStruct((4,), jnp.int32)


def divided(x: Any, k: Any) -> Any:
    """x[i + 1] + k[i], at the first two places divided by itself: that it is not 0 is asked there alone."""
    return (x[1:] + k) / jnp.concatenate([x[1:3] + k[:2], jnp.ones(2, x.dtype)])


def with_jvp(tangent: Callable[..., Any]) -> Callable[..., Any]:
    rule = jax.custom_jvp(divided)
    rule.defjvp(lambda primals, tangents: (rule(*primals), tangent(primals, tangents)))
    return rule


def with_vjp(factor: Callable[..., Any], fwd: Callable[..., Any] = divided) -> Callable[..., Any]:
    rule = jax.custom_vjp(divided)
    rule.defvjp(lambda x, k: (fwd(x, k), (x, k)), lambda s, g: jax.vjp(divided, *s)[1](g * factor(s[0][1:] + s[1])))
    return rule


ANYWHERE = {
    "a bend after it": lambda x, k: jnp.abs(with_jvp(lambda p, t: jax.jvp(divided, p, t)[1])(x, k)),
    "a division in the jvp": with_jvp(
        lambda p, t: jax.jvp(divided, p, t)[1] * (p[0][1:] + p[1]) / (p[0][1:] + p[1]),
    ),
    "a division in the vjp": with_vjp(lambda s: s / s),
    "a test in the vjp": with_vjp(lambda s: s != 0),
    "a division in the fwd": with_vjp(lambda s: 1.0, lambda x, k: divided(x, k) * (x[1:] + k) / (x[1:] + k)),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", ANYWHERE)
def test_what_is_asked_at_some_places_is_not_known_of_the_others(name: str) -> None:
    """x[4] + k[3] may be 0 as far as the first two places are asked; the gradient is wrong there, or is none."""
    function = lambda x, k: jnp.sum(ANYWHERE[name](x, k.astype(jnp.float32)) * WEIGHTS)
    certificate = certify(trace(function, LONG, WHOLE))
    if certificate.verdict == "proved under hypotheses":
        x, k = jnp.array([1.0, 2.0, 3.0, 5.0, 7.0]), jnp.array([1, 2, 3, -7])
        there = certify(trace(function, x, k))
        assert any(one.failing or one.unknown for one in there.at_arrays), texts_of(there)
    else:
        assert certificate.verdict in ("unproved", "refuted")


READS_OTHERS = {
    "a neighbour": with_tangent(jnp.abs, lambda y, dy: jnp.where(y[:, ::-1] == 0, 0.0, 1.0) * jnp.sign(y) * dy),
    "whether any is 0": with_tangent(jnp.abs, lambda y, dy: jnp.where(jnp.any(y == 0), 0.0, jnp.sign(y)) * dy),
    "their product": with_tangent(jnp.abs, lambda y, dy: jnp.sign(y) * dy * jnp.sign(jnp.prod(y)) ** 2),
    "the first": with_tangent(jnp.abs, lambda y, dy: jnp.where(y[0, 0] == 0, 0.0, 1.0) * jnp.sign(y) * dy),
    "whether any is 0, by a loop": with_tangent(
        jnp.abs,
        lambda y, dy: (
            jnp.where(lax.fori_loop(0, 3, lambda i, c: c + (y[:, i] == 0).sum(), 0) > 0, 0.0, jnp.sign(y)) * dy
        ),
    ),
    "how many are 0 so far": with_tangent(
        jnp.abs, lambda y, dy: jnp.where(jnp.cumsum(y == 0, axis=1)[:, -1:] > 0, 0.0, jnp.sign(y)) * dy
    ),
    "the least, by sorting": with_tangent(
        jnp.abs, lambda y, dy: jnp.where(jnp.sort(jnp.abs(y), axis=1)[:, :1] == 0, 0.0, jnp.sign(y)) * dy
    ),
    "ties of other rows": with_tangent(
        lambda y: jnp.max(y, 1), lambda y, dy: (hits(y) * dy).sum(1) * jnp.where(hits(y).sum() > 2, 5.0, 1.0)
    ),
    "ties of the next row": with_tangent(
        lambda y: jnp.max(y, 1),
        lambda y, dy: (hits(y) * dy).sum(1) * jnp.where(hits(y[::-1]).sum(1) > 1, 5.0, 1.0),
    ),
}


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", READS_OTHERS)
@pytest.mark.parametrize("before", [lambda x: x**3, jax.nn.relu])
def test_a_rule_that_reads_other_entries_is_asked_of_all(name: str, before: Callable[..., Any]) -> None:
    """It is right where no entry is 0, or no row has a tie, and wrong at one entry because of another."""
    small = jax.ShapeDtypeStruct((2, 3), jnp.float32)
    certificate = certify(trace(lambda x: jnp.sum(READS_OTHERS[name](before(x))), small))
    kept = [text for text in texts_of(certificate) if not text.startswith("relu")]
    assert certificate.verdict == "unproved" or kept
    assert not any(OR_ZERO in text for text in kept)


def test_one_condition_does_not_imply_the_same_at_other_places() -> None:
    """1/(x[i + 1] + k[i]) needs x[i + 1] ≠ −k[i] for i < 4; what the JVP divides by stands at the next four."""

    def tangent(x: Any, k: Any, dx: Any, _: Any) -> Any:
        s = x[1:] + k
        return -dx[1:5] / s[:4] ** 2 * (s[4:8] / s[4:8])

    rule = with_tangent(lambda x, k: 1 / (x[1:5] + k[:4]), tangent)
    specs = jax.ShapeDtypeStruct((11,), jnp.float32), jax.ShapeDtypeStruct((10,), jnp.int32)
    certificate = certify(trace(lambda x, k: jnp.sum(rule(x, k.astype(jnp.float32))), *specs))
    asked = texts_of(certificate)
    assert certificate.verdict == "unproved" or any("x[i+5]" in t or "for every index" in t for t in asked)
