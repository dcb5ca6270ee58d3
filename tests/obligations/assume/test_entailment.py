"""Conditions that follow from others, and conditions in simplest form."""

from certgrad.obligations.assume.conditions import Atomic, Clause, discharged
from certgrad.obligations.assume.entailment import entailed
from certgrad.obligations.assume.fact import Fact
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import POS
from certgrad.obligations.assume.simplify import simplified
from certgrad.obligations.terms.atoms import access
from certgrad.obligations.terms.polynomials import ONE, number
from certgrad.obligations.terms.power import exp_of, fn, power, pred

X, Y = access("x", ()), access("y", ())
NOTHING = Facts()


def clause(relation, poly, *guards):
    return Clause((Atomic(relation, poly),), guards)


def only(relation, poly):
    (found,) = simplified([clause(relation, poly)], NOTHING)
    return found.alternatives[0]


def test_exponentials_compare_as_their_exponents():
    assert only("> 0", exp_of(X) - ONE) == Atomic("> 0", X)
    assert only("> 0", ONE - exp_of(X)) == Atomic("> 0", -X)
    assert only("!= 0", exp_of(X) - exp_of(Y)).poly in (X - Y, Y - X)
    assert only("> 0", exp_of(X.scale(2)) - exp_of(-Y)) == Atomic("> 0", X.scale(2) + Y)


def test_other_terms_with_exponentials_are_left():
    for poly in (exp_of(X) - number(2), exp_of(X).scale(2) - ONE, exp_of(X) - Y, exp_of(X) * Y - ONE):
        assert only("> 0", poly).poly == poly


def test_what_is_no_integer_is_no_value_of_floor():
    ratio = X * power(Y, -1)
    known = [clause("not integer", ratio)]
    assert entailed(clause("!= 0", X + Y * fn("floor", -ratio)), NOTHING, known)
    assert entailed(clause("!= 0", X - Y * fn("floor", ratio) - Y), NOTHING, known)
    assert entailed(clause("!= 0", X - Y.scale(3)), NOTHING, known)
    for other in (X + X * fn("floor", ratio), X - Y.scale(2) * fn("sin", X), X.scale(2) - Y, X + Y - ONE):
        assert not entailed(clause("!= 0", other), NOTHING, known)
    half = number(1).scale(1) * power(number(2), -1)
    assert not entailed(clause("!= 0", X - half * fn("floor", X)), NOTHING, [clause("not integer", X)])


def test_a_guard_of_several_predicates_fails_where_they_are_known():
    outside = ONE - pred(X) * pred(Y) - pred(-X)
    impossible = clause("!= 0", number(0), (outside, True))
    positive = [Fact(X, POS, universal=False), Fact(Y, POS, universal=False)]
    assert discharged(impossible, Facts(positive))
    assert not discharged(impossible, Facts(positive[:1]))
    assert not discharged(clause("!= 0", number(0), (outside, False)), Facts(positive))


def test_what_has_no_value_in_a_case_does_not_hold_there():
    """1/([y > 0] + [y > 0]·exp(x)) ≠ 1 has no value where y is not above 0."""
    inverse = power(pred(Y) + pred(Y) * exp_of(X), -1)
    assert not discharged(clause("!= 0", inverse - ONE), NOTHING)
    assert not discharged(clause("!= 0", number(0), (inverse - ONE, True)), NOTHING)


def test_a_divisor_that_is_zero_in_every_lane_that_is_left():
    """[y ≤ 0]/([y > 0] + [y > 0]·exp(x)): multiplied by its divisor nothing is left."""
    inverse = power(pred(Y) + pred(Y) * exp_of(X), -1)
    assert not discharged(clause("> 0", inverse * (ONE - pred(Y))), NOTHING)
