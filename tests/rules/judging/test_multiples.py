"""Rules of axes that are cut into groups: proved for every size that divides, which is listed."""

import math

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.rules.judging.multiples import multiples
from certgrad.rules.subject.user_rule import UserRule

pytestmark = pytest.mark.usefixtures("verdicts_alone")


def rule(forward, backward, **options):
    function = jax.custom_vjp(forward, **options)
    keep = (lambda x, k: (forward(x, k), x)) if options else (lambda *x: (forward(*x), x))
    function.defvjp(keep, backward)
    return function


def centred(x, k):
    y = x.reshape(x.shape[0], -1, k)
    return (y - y.mean(-1, keepdims=True)).reshape(x.shape)


def over_groups(k, _, g):
    return (centred(g, k),)


def over_all(k, _, g):
    return (g - g.mean(-1, keepdims=True),)


def repeated(q, w):
    return q * jnp.repeat(w, q.shape[0] // w.shape[0])


def back(order):
    def bwd(saved, g):
        q, w = saved
        each = (g * q).reshape(order(w.shape[0], q.shape[0] // w.shape[0]))
        return g * jnp.repeat(w, q.shape[0] // w.shape[0]), each.sum(each.shape.index(w.shape[0]) ^ 1)

    return bwd


def halves(x):
    return jnp.tanh(x.reshape(2, x.shape[0] // 2)).reshape(-1)


@pytest.mark.slow
def test_groups_of_a_given_size():
    right = certgrad.check(rule(centred, over_groups, nondiff_argnums=(1,)), "n c -> n c", static={"k": 4})
    assert right.verdict == "proved under hypotheses"
    assert {h.text for claim in right.claims for h in claim.hypotheses} == {"((axis 1 of x) mod 4) = 0"}
    wrong = certgrad.check(rule(centred, over_all, nondiff_argnums=(1,)), "n c -> n c", static={"k": 4})
    assert wrong.verdict == "refuted"


def test_a_size_that_divides_another():
    right = certgrad.check(rule(repeated, back(lambda g, r: (g, r))), "h, g -> h")
    assert right.verdict == "proved under hypotheses"
    assert {h.text for claim in right.claims for h in claim.hypotheses} == {"((axis 0 of q) mod axis 0 of w) = 0"}
    assert certgrad.check(rule(repeated, back(lambda g, r: (r, g))), "h, g -> h").verdict == "refuted"


@pytest.mark.parametrize(("function", "signature", "expected"), [(halves, "n", {"n": "2"}), (jnp.sin, "n", {})])
def test_which_sizes_must_divide(function, signature, expected):
    def made(chosen):
        return UserRule(function, signature, multiples=chosen)

    assert multiples(made({}), made) == expected


def test_where_other_sizes_run_too_they_are_looked_at():
    """A reshape whose failure is caught: at odd sizes the rule is another one, and wrong."""

    def backward(factor):
        def pulled_back(x, g):
            try:
                return (2 * g * x.reshape(-1, 2).reshape(x.shape),)
            except (TypeError, ValueError):
                return (factor * g * x,)

        return pulled_back

    def squares(factor):
        rule = jax.custom_vjp(lambda x: jnp.sum(x * x))
        rule.defvjp(lambda x: (jnp.sum(x * x), x), backward(factor))
        return certgrad.check(rule, "n -> ")

    wrong, right = squares(1), squares(2)
    assert (wrong.verdict, wrong.witness is not None) == ("refuted", True)
    assert (right.verdict, right.hypotheses) == ("proved under hypotheses", ["((axis 0 of x) mod 2) = 0"])


BLOCK = 4


def in_blocks(q, k):
    """q times the sum of k's rows, in blocks: those of k are clamped at its end, and those of q must fit."""

    def total(i, _):
        return i + min(BLOCK, len(k)), jax.lax.dynamic_slice(k, (i, 0), (min(BLOCK, len(k)), k.shape[1])).sum(0)

    def rows(i, _):
        return i + min(BLOCK, len(q)), jax.lax.dynamic_slice(q, (i, 0), (min(BLOCK, len(q)), q.shape[1]))

    sums = jax.lax.scan(total, 0, None, length=math.ceil(len(k) / BLOCK))[1].sum(0)
    return jax.lax.scan(rows, 0, None, length=math.ceil(len(q) / BLOCK))[1].reshape(q.shape) * sums


def back_in_blocks(saved, g):
    q, k = saved
    each = jnp.broadcast_to((g * q).sum(0), (math.ceil(len(k) / BLOCK), min(BLOCK, len(k)), k.shape[1]))
    return g * k.sum(0), each.reshape(k.shape)


def test_a_backward_that_fails_where_one_size_alone_does_not_divide():
    """The function runs with five keys, twice some of them, and the backward cannot reshape what it writes."""
    report = certgrad.check(rule(in_blocks, back_in_blocks), "n d, m d -> n d")
    assert report.verdict == "refuted"
    assert "the function runs and its rule fails: TypeError: cannot reshape" in report.reason
    assert "m = 5" in report.claims[0].cases[0].scope
