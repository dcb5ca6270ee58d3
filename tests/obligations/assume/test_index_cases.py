"""Index conditions decided by ranges and facts, and split into cases that cover every index."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certgrad.obligations.assume.fact import Fact
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.index_cases import Indices, choices, in_rows, resolved, split_by_condition
from certgrad.obligations.assume.signs import NONNEG
from certgrad.obligations.terms.atoms import access, dimension
from certgrad.obligations.terms.index import of_atom, of_var
from certgrad.obligations.terms.index_terms import index_condition, index_equal
from certgrad.obligations.terms.integers import Entry, quotient, remainder
from certgrad.obligations.terms.polynomials import ONE
from certgrad.obligations.terms.predicates import IxEq
from tests.obligations.index_strategy import FREE, FREE_RANGES, SHAPES, Values, all_points, evaluated, sums

quick = settings(max_examples=50, derandomize=True, deadline=None)
U, W = FREE["u"], FREE["w"]
N, M = dimension("n"), dimension("m")
HERE = Indices(FREE_RANGES)
PLAIN = ("a", "b", "number", ">=", "=", ">=")


@quick
@given(sums(PLAIN))
def test_resolved_terms_have_the_same_values_in_range(term):
    poly, values = term.poly(), Values(0)
    found = resolved(poly, HERE)
    for sizes in SHAPES:
        for free in all_points(sizes):
            assert evaluated(found, free, sizes, values) == evaluated(poly, free, sizes, values)


@pytest.mark.slow
@quick
@given(sums(PLAIN), st.data())
def test_the_cases_of_a_split_cover_every_index(term, data):
    poly, values = resolved(term.poly(), HERE), Values(0)
    found = choices(poly)
    if not found:
        return
    condition = data.draw(st.sampled_from(found))
    parts = split_by_condition(poly, condition, HERE)
    for sizes in SHAPES:
        for free in all_points(sizes):
            wanted = evaluated(poly, free, sizes, values)
            holds = evaluated(_as_poly(condition), free, sizes, values) == 1
            matching = [part for part, here, _ in parts if _case(here, condition) == holds]
            if wanted != 0:
                assert any(evaluated(part, free, sizes, values) == wanted for part in matching)


def _as_poly(condition):
    return index_equal(condition.ix) if isinstance(condition, IxEq) else index_condition(condition.ix)


def _case(here, condition):
    """Whether this is the case where the condition holds: its last condition, or a substitution, says so."""
    return here.ranges.keys() != FREE_RANGES.keys() or here.conditions[-1] in (
        (condition.ix, ">="),
        (condition.ix, "="),
    )


def test_a_condition_beyond_the_range_is_decided():
    term = index_condition(of_var(U).shifted(-N)) * access("a", (of_var(U),))
    assert not term.is_zero
    assert resolved(term, HERE).is_zero


def test_facts_of_an_integer_tensor_decide():
    entry = of_atom(Entry("k", (of_var(U),)))
    term = index_condition(entry)
    fact = Fact(access("k", (of_var(("t", 0, 0)),)), NONNEG)
    assert resolved(term, HERE) == term
    assert resolved(term, Indices(FREE_RANGES, (), Facts([fact]))) == ONE
    other = index_condition(of_atom(Entry("l", (of_var(U),))))
    assert resolved(other, Indices(FREE_RANGES, (), Facts([fact]))) == other


def test_a_divided_index_runs_over_rows_and_columns():
    v = ("u", 7, 0)
    flat = access("b", (quotient(of_var(v), M), remainder(of_var(v), M)))
    poly, indices = in_rows(flat, Indices({v: N * M}))
    assert sorted(r.key for r in indices.ranges.values()) == sorted([N.key, M.key])
    (atom,) = [a for mono in poly for a, _ in mono]
    assert all(ix.variable() in indices.ranges for ix in atom.index)
