"""Counts: what is shown to vanish does, at every array of a few entries; the laws of counts, and their wrong twins."""

from __future__ import annotations

from itertools import product
from math import prod

import jax.numpy as jnp
import pytest
from flint import fmpq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import certgrad
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.decide.cases import Region, nonzero_part
from certgrad.obligations.decide.evaluate import evaluate
from certgrad.obligations.laws.range_products import product_over
from certgrad.obligations.terms.atoms import access, dimension
from certgrad.obligations.terms.budget import limited
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.index_terms import index_equal
from certgrad.obligations.terms.polynomials import ONE, number
from certgrad.obligations.terms.power import pred
from certgrad.obligations.terms.session import clear_caches
from certgrad.obligations.terms.sums import sum_over
from certgrad.obligations.terms.variables import fresh

J = ("u", 0, 0)
ENTRIES = (-2, 0, 3)


@pytest.fixture(autouse=True)
def _terms():
    clear_caches()
    with limited():
        yield


def x(ix):
    return access("x", (ix,))


def positive(e):
    return pred(e)


def zero(e):
    return ONE - pred(e) - pred(-e)


def summed(body):
    k = fresh()
    return sum_over(body(of_var(k)), [(k, dimension("n"))])


def multiplied(body, but=False):
    k = fresh()
    where = ONE - index_equal(of_var(k).minus(of_var(J))) if but else ONE
    return product_over(body(of_var(k)), [(k, dimension("n"))], where)


def count(of):
    return summed(lambda k: of(x(k)))


def equal(p, c):
    return ONE - pred(p - number(c)) - pred(number(c) - p)


def clipped(p):
    """max(p, 1)"""
    return ONE + pred(p - ONE) * (p - ONE)


PIECES = {
    "#+": (lambda: count(positive), lambda v, j: sum(e > 0 for e in v)),
    "#0": (lambda: count(zero), lambda v, j: v.count(0)),
    "#0 > 0": (lambda: pred(count(zero)), lambda v, j: v.count(0) > 0),
    "#0 > 1": (lambda: pred(count(zero) - ONE), lambda v, j: v.count(0) > 1),
    "#0 = 0": (lambda: equal(count(zero), 0), lambda v, j: v.count(0) == 0),
    "#0 = 1": (lambda: equal(count(zero), 1), lambda v, j: v.count(0) == 1),
    "#+ < 1": (lambda: pred(ONE - count(positive)), lambda v, j: sum(e > 0 for e in v) < 1),
    "#+ > ½": (lambda: pred(count(positive).scale(2) - ONE), lambda v, j: sum(e > 0 for e in v) > 0),
    "max(#+, 1)": (lambda: clipped(count(positive)), lambda v, j: max(sum(e > 0 for e in v), 1)),
    "Σ+": (lambda: summed(lambda k: pred(x(k)) * x(k)), lambda v, j: sum(e for e in v if e > 0)),
    "Πx": (lambda: multiplied(x), lambda v, j: prod(v)),
    "Πx but j": (lambda: multiplied(x, but=True), lambda v, j: prod(e for k, e in enumerate(v) if k != j)),
    "Π of x ≠ 0": (lambda: multiplied(lambda k: zero(x(k)) + x(k)), lambda v, j: prod(e or 1 for e in v)),
    "xj": (lambda: x(of_var(J)), lambda v, j: v[j]),
    "xj = 0": (lambda: zero(x(of_var(J))), lambda v, j: v[j] == 0),
    "xj > 0": (lambda: pred(x(of_var(J))), lambda v, j: v[j] > 0),
    "1": (lambda: ONE, lambda v, j: 1),
}


def term(combination):
    total = ONE - ONE
    for c, names in combination:
        piece = number(c)
        for name in names:
            piece = piece * PIECES[name][0]()
        total = total + piece
    return total


def value(combination, v, j):
    return sum(c * prod(PIECES[name][1](v, j) for name in names) for c, names in combination)


def everywhere():
    for n in (1, 2, 3):
        for v in product(ENTRIES, repeat=n):
            for j in range(n):
                yield v, j


def is_shown(combination):
    return nonzero_part(term(combination), Region(Facts()).over({J: dimension("n")})) is None


VANISH = {
    "a masked sum over max(count, 1), times the count": [(1, ("Σ+", "#+")), (-1, ("Σ+", "max(#+, 1)"))],
    "max(count, 1)": [(1, ("max(#+, 1)",)), (-1, ("#+",)), (-1, ("#+ < 1",))],
    "a half is as good as 1": [(1, ("#+ > ½",)), (1, ("#+ < 1",)), (-1, ("1",))],
    "an entry is counted": [(1, ("xj > 0", "#+ < 1"))],
    "an entry that is counted, once": [(1, ("xj = 0", "#0 = 0"))],
    "one or more": [(1, ("#0 > 0",)), (-1, ("#0 > 1",)), (-1, ("#0 = 1",))],
    "a product with a zero": [(1, ("Πx", "#0 > 0"))],
    "a product without its zeros": [(1, ("Π of x ≠ 0", "#0 = 0")), (-1, ("Πx",))],
    "a product but for one factor": [
        (1, ("#0 = 1", "xj = 0", "Π of x ≠ 0")),
        (-1, ("xj = 0", "Πx but j")),
    ],
}
STAND = {
    "a masked sum over max(count, 1)": [(1, ("Σ+",)), (-1, ("Σ+", "max(#+, 1)"))],
    "max(count, 1), of none": [(1, ("max(#+, 1)",)), (-1, ("#+",))],
    "an entry is counted, and another": [(1, ("xj = 0", "#0 = 1"))],
    "another entry is counted": [(1, ("xj = 0", "#+ < 1"))],
    "more than one": [(1, ("#0 > 0",)), (-1, ("#0 > 1",))],
    "a product with two zeros": [(1, ("Πx but j", "#0 > 0"))],
    "a product but for one factor, of two zeros": [(1, ("xj = 0", "Π of x ≠ 0")), (-1, ("xj = 0", "Πx but j"))],
}


@pytest.mark.parametrize("name", VANISH)
def test_laws(name):
    assert all(value(VANISH[name], v, j) == 0 for v, j in everywhere())
    assert is_shown(VANISH[name])


@pytest.mark.parametrize("name", STAND)
def test_wrong_twins(name):
    assert any(value(STAND[name], v, j) != 0 for v, j in everywhere())
    assert not is_shown(STAND[name])


@pytest.mark.parametrize("name", PIECES)
def test_pieces_are_what_they_are_said_to_be(name):
    poly = PIECES[name][0]()
    for v, j in everywhere():
        found = evaluate(poly, {"n": len(v)}, lambda t, at, v=v: fmpq(v[at[0]]), {J: j})
        assert found.contains(fmpq(int(value([(1, (name,))], v, j)))), (v, j)


@pytest.mark.parametrize(
    ("other", "verdict"),
    [(lambda k, m: k, "proved"), (lambda k, m: m, "unproved")],
    ids=["one of those that are counted", "one of others"],
)
def test_a_count_of_which_a_place_is_known_is_not_0(other, verdict):
    report = certgrad.equal(
        lambda x, k, m: jnp.where(other(k, m), x / jnp.sum(k), 0.0),
        lambda x, k, m: jnp.where(other(k, m), x / jnp.maximum(jnp.sum(k), 1), 0.0),
        "n, n:bool, n:bool",
    )
    assert (report.verdict, report.hypotheses) == (verdict, [])


@pytest.mark.parametrize(
    ("divisor", "proved"),
    [
        (lambda k, m: jnp.where(k, jnp.sum(k), 1), True),
        (lambda k, m: jnp.where(m, jnp.sum(k), 1), False),
        (lambda k, m: jnp.where(k, jnp.sum(k) - 1, 1), False),
    ],
    ids=["of those that are counted", "of others", "one less"],
)
def test_a_count_that_is_a_divisor_where_one_of_its_places_is_known(divisor, proved):
    report = certgrad.equal(
        lambda x, k, m: jnp.where(k, x / divisor(k, m), 0.0),
        lambda x, k, m: jnp.where(k, x / jnp.maximum(jnp.sum(k), 1), 0.0),
        "n, n:bool, n:bool",
    )
    assert (report.verdict == "proved") is proved


monomials = st.tuples(st.sampled_from([1, 1, -1, -1, 2]), st.lists(st.sampled_from(list(PIECES)), max_size=3))


@settings(max_examples=8, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from([*VANISH.values(), *STAND.values()]), st.sampled_from(list(PIECES)), monomials, st.booleans())
def test_what_is_shown_to_vanish_does(combination, times, further, more):
    combination = [(c, (*names, times)) for c, names in combination] + [further] * more
    if is_shown(combination):
        assert all(value(combination, v, j) == 0 for v, j in everywhere()), combination
