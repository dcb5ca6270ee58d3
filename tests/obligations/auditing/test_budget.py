"""Budgets count what is done: products and rewritten monomials alike, the same on every machine."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.obligations.auditing import attempts as _attempts
from certgrad.obligations.terms.atoms import access
from certgrad.obligations.terms.budget import SHARE, STEPS, STEPS_A_SECOND, BudgetError, auditing, budget, limited
from certgrad.obligations.terms.exponents import FractionalExponent, exponent
from certgrad.obligations.terms.index import of_const, of_var
from certgrad.obligations.terms.polynomials import Accumulator, monomial, number
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.variables import template

I, J = template(0), template(1)

pytestmark = pytest.mark.usefixtures("own_terms")


def wide(entries: int):
    """x0[i] + x1[i] + …"""
    total = Accumulator()
    for k in range(entries):
        total.add_poly(access(f"x{k}", (of_var(I),)))
    return total.poly()


def spent(work) -> int:
    with limited():
        work()
        return STEPS - budget.left


def test_rewriting_counts_each_monomial():
    poly = wide(50)
    assert spent(lambda: Rewriter({I: of_const(number(0))})(poly)) == 50
    with limited(steps=49), pytest.raises(BudgetError, match="steps"):
        Rewriter({I: of_const(number(1))})(poly)


def test_what_does_not_change_counts_nothing():
    poly = wide(50)
    assert spent(lambda: Rewriter({J: of_const(number(0))})(poly)) == 0


def test_fractional_exponents_are_fractions():
    half = exponent(Fraction(1, 2))
    assert half == Fraction(1, 2) == exponent(Fraction(2, 4))
    assert hash(half) == hash(Fraction(1, 2))
    assert half is exponent(Fraction(3, 2) - 1)
    assert type(exponent(half + Fraction(1, 2))) is int
    assert exponent(half + half) == 1
    ((mono, _),) = monomial({access("x", ()).atom(): Fraction(-3, 2)}).items()
    assert type(mono[0][1]) is FractionalExponent
    assert mono[0][1] == Fraction(-3, 2)


def _rule(backward):
    """√½·sin(x), with √½ as a float."""

    @jax.custom_vjp
    def f(x):
        return 0.7071067811865476 * jnp.sin(x)

    f.defvjp(lambda x: (f(x), x), lambda x, g: (backward(x, g),))
    return f


def test_the_second_reading_ends_with_the_first_obligation_that_is_open(monkeypatch):
    """Where an obligation is open with the literals as closed forms, the others are not tried with them."""
    tried: list[tuple[bool, str]] = []
    prove, build = _attempts.prove, _attempts.build
    meant = [False]

    def built(*args):
        meant[0] = bool(args[-1].reading.meant)
        return build(*args)

    def proved(problem, kind):
        tried.append((meant[0], kind))
        return prove(problem, kind)

    monkeypatch.setattr(_attempts, "build", built)
    monkeypatch.setattr(_attempts, "prove", proved)
    off = 1 + 2.0**-44  # too little for a witness, too much for a rounding
    report = certgrad.check(_rule(lambda x, g: 0.7071067811865476 * off * jnp.cos(x) * g), "*s -> *s", sizes=None)
    assert report.verdict == "unproved"
    kinds = {kind for of_meant, kind in tried if not of_meant}
    again = [kind for of_meant, kind in tried if of_meant]
    assert len(kinds) > 1
    assert len(again) == 1


def test_work_outside_of_a_proof_does_not_add_up():
    before = budget.left
    budget.spend(10 * STEPS)
    budget.left = before
    with pytest.raises(BudgetError), limited(10):
        budget.spend(11)
    assert budget.left == before


def test_a_proof_takes_a_part_of_what_is_left_of_an_audit():
    with auditing(seconds=1.0):
        all_of_it = budget.steps
        assert all_of_it == STEPS_A_SECOND
        for _ in range(2):
            left = budget.steps
            with limited():
                budget.spend(int(SHARE * left))
                with pytest.raises(BudgetError, match=r"share of the 1 s of an audit; .*timeout"):
                    budget.spend(1)
            assert budget.steps == left - int(SHARE * left) - 1
        with limited(10):  # what it does not use is left
            budget.spend(4)
        with auditing(seconds=100.0):  # a part of the same audit
            assert budget.steps < all_of_it
            assert not budget.share
    assert budget.steps is None
    assert budget.seconds_left() == float("inf")


def test_an_audit_inside_of_another_takes_no_more_than_it_is_given(monkeypatch):
    now = 0.0
    monkeypatch.setattr("certgrad.obligations.terms.budget.time.thread_time", lambda: now)
    with auditing(seconds=20.0):
        with auditing(seconds=5.0):
            assert (budget.steps, budget.seconds_left()) == (5 * STEPS_A_SECOND, 5.0)
            with limited():
                budget.spend(1000)
            now = 6.0
            assert "took its share of the 20 s before this" in budget.over("this")
        assert (budget.steps, budget.seconds_left()) == (20 * STEPS_A_SECOND - 1000, 14.0)
        assert not budget.over("this")
        with auditing(seconds=100.0):
            assert budget.seconds_left() == 14.0
            now = 21.0
            assert "took its 20 s before this" in budget.over("this")
        assert budget.over("this")
    assert budget.seconds_left() == float("inf")


def test_a_proof_ends_with_the_seconds_of_its_audit(monkeypatch):
    now = 0.0
    monkeypatch.setattr("certgrad.obligations.terms.budget.time.thread_time", lambda: now)
    with auditing(seconds=60.0):
        for began in (0.0, 30.0):
            now = began
            with limited():
                now = began + 0.9 * (60.0 - began) * SHARE
                budget.spend(1024)
                now = began + 1.1 * (60.0 - began) * SHARE
                with pytest.raises(BudgetError, match="exceeded its seconds"):
                    budget.spend(1024)
        assert not budget.over("this")
        assert budget.until(1e6) == 60.0
        now = 100.0
        assert "took its 60 s before this" in budget.over("this")
        assert budget.seconds_left() == 0.0
    assert not budget.over("this")


@pytest.mark.parametrize(
    ("backward", "seconds", "verdict"),
    [
        (lambda x, g: g * jnp.cos(x), 20.0, "proved"),
        (lambda x, g: g * jnp.cos(x), 0.0, "unproved"),
    ],
)
def test_a_rule_that_is_given_no_time_says_how_to_give_it_more(backward, seconds, verdict):
    f = jax.custom_vjp(jnp.sin)
    f.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (backward(x, g),))
    report = certgrad.check(f, "*s -> *s", seconds=seconds)
    assert report.verdict == verdict
    assert (verdict == "proved") != ("gives it more" in report.reason)
