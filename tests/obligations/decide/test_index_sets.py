"""What is said to vanish does, at small sizes; sums written in other ways do."""

from dataclasses import replace
from random import Random

import pytest
from flint import fmpq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.decide.cases import Region, nonzero_part
from certgrad.obligations.decide.index_sets import vanishes
from certgrad.obligations.terms.atoms import access
from certgrad.obligations.terms.budget import BudgetError, limited
from certgrad.obligations.terms.index import of_const
from certgrad.obligations.terms.polynomials import ZERO
from certgrad.obligations.terms.power import fn
from tests.obligations.index_strategy import (
    FREE_RANGES,
    SHAPES,
    Factor,
    Index,
    Summed,
    Values,
    all_points,
    changed,
    evaluated,
    rewritten,
    sums,
)

quick = settings(max_examples=15, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
PLAIN = ("a", "a", "b", "number", ">=", "=", "=")


def total(terms, free, sizes, values):
    return sum((t.at(free, sizes, values) for t in terms), fmpq(0))


def differs(terms):
    """The terms do not add up to 0 at some small sizes, indices and entries."""
    return any(
        total(terms, free, sizes, values) != 0
        for sizes in SHAPES
        for values in (Values(0), Values(1))
        for free in all_points(sizes)
    )


def difference(term, seed):
    """The term minus itself written otherwise, and sometimes changed."""
    draw = Random(seed)
    others = rewritten(term, draw)
    if draw.random() < 0.5:
        others[0] = changed(others[0], draw)
    return [term, *(replace(o, coefficient=-o.coefficient) for o in others)]


def shown(decide):
    """Whether the term is shown to be 0 within a budget."""
    try:
        with limited(steps=50_000, seconds=5):
            return decide()
    except BudgetError:
        return False


@quick
@given(sums(PLAIN), st.integers(0, 3))
def test_a_sum_has_the_value_that_counting_gives(term, seed):
    poly, values = term.poly(), Values(seed)
    for sizes in SHAPES:
        for free in all_points(sizes):
            assert evaluated(poly, free, sizes, values) == total([term], free, sizes, values)


@quick
@given(sums(), st.integers(0, 10**6))
def test_what_vanishes_is_zero(term, seed):
    terms = difference(term, seed)
    poly = sum((t.poly() for t in terms[1:]), start=terms[0].poly())
    if shown(lambda: vanishes(poly, FREE_RANGES, (), lambda entry: [])):
        assert not differs(terms), (poly, terms)


@quick
@given(sums(), st.integers(0, 10**6))
def test_what_the_case_split_shows_is_zero(term, seed):
    terms = difference(term, seed)
    poly = sum((t.poly() for t in terms[1:]), start=terms[0].poly())
    if shown(lambda: nonzero_part(poly, Region(Facts()).over(FREE_RANGES)) is None):
        assert not differs(terms), (poly, terms)


def entry(*coefficients, constant=(0, 0, 0, 0)):
    return Factor("a", (Index(tuple(coefficients), constant),))


def vanish(*terms):
    assert not differs(terms)
    poly = sum((t.poly() for t in terms[1:]), start=terms[0].poly())
    return vanishes(poly, FREE_RANGES, (), lambda e: [])


def test_a_reversed_sum_is_the_sum():
    there = Summed(1, (("d", "n"),), (entry(("d", 1)), entry(("d", 2))))
    back = Summed(
        -1,
        (("d", "n"),),
        (entry(("d", -1), constant=(-1, 1, 0, 0)), entry(("d", -2), constant=(-2, 2, 0, 0))),
    )
    assert vanish(there, back)


def test_a_sum_over_pairs_counts_each_entry_as_often_as_it_occurs():
    below = Factor(">=", (Index((("d", 1), ("e", -1))),))
    pairs = Summed(1, (("d", "n"), ("e", "n")), (below, entry(("e", 1))))
    counted = Summed(-1, (("e", "n"),), (Factor("number", (Index((("e", -1),), (0, 1, 0, 0)),)), entry(("e", 1))))
    assert vanish(pairs, counted)


def test_half_of_an_odd_number_is_no_index():
    doubled = Factor("=", (Index((("d", 2), ("u", 2)), (1, -2, 0, 0)),))
    assert Summed(1, (("d", "n"),), (doubled, entry(("d", 1)))).poly().is_zero


@pytest.mark.slow
def test_a_term_whose_parts_are_shared_at_many_levels_is_left_undecided_soon():
    """Written out it has 2^40 parts."""
    term = access("x", (of_const(ZERO),))
    for _ in range(40):
        term = fn("sin", term) * fn("erf", term)
    with limited(steps=50_000):
        assert not vanishes(term, {}, (), lambda entry: [])
