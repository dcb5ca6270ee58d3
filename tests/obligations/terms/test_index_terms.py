"""Conditions on indices: what is decided or simplified by form is what counting gives."""

from hypothesis import given, settings
from hypothesis import strategies as st

from certgrad.obligations.decide import evaluate as _evaluate
from certgrad.obligations.terms.atoms import dimension
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.index_terms import (
    as_index,
    at_least,
    index_condition,
    index_equal,
    index_number,
    index_pred,
    index_within,
)
from certgrad.obligations.terms.polynomials import ONE, ZERO, number

quick = settings(max_examples=50, derandomize=True, deadline=None)
I, J = ("u", 0, 0), ("u", 1, 0)
N, M = dimension("n"), dimension("m")
RANGES = {I: N, J: M.scale(2)}
small = st.integers(-4, 4)


@st.composite
def affine(draw):
    a, b, c, d, e = (draw(small) for _ in range(5))
    ix = of_var(I).scaled(a).plus(of_var(J).scaled(b)).shifted(number(c) + N.scale(d) + M.scale(e))
    return ix, lambda i, j, n, m: a * i + b * j + c + d * n + e * m


def everywhere():
    return [(i, j, n, m) for n in (1, 2, 3) for m in (1, 2) for i in range(n) for j in range(2 * m)]


def value(poly, i, j, n, m):
    return _evaluate.evaluate(poly, {"n": n, "m": m}, lambda tensor, index: None, {I: i, J: j})


@quick
@given(affine(), st.booleans())
def test_conditions_have_their_values_in_range(pair, with_ranges):
    ix, at = pair
    ranges = RANGES if with_ranges else {}
    forms = [index_condition(ix, ranges), index_pred(ix, ranges), index_equal(ix, ranges), index_within(ix, N, ranges)]
    for point in everywhere():
        k, n = at(*point), point[2]
        assert [value(f, *point) for f in forms] == [int(k >= 0), int(k >= 0), int(k == 0), int(0 <= k < n)]


@quick
@given(small, small, small)
def test_a_size_is_compared_by_form(c, d, e):
    poly = number(c) + N.scale(d) + M.scale(e)
    decided = at_least(poly)
    for n in (1, 2, 5):
        for m in (1, 3):
            assert value(decided, 0, 0, n, m) == int(c + d * n + e * m >= 0)


def test_an_even_number_is_not_odd():
    doubled = of_var(I).scaled(2).plus(of_var(J).scaled(2))
    assert index_equal(doubled.shifted(ONE - N.scale(2))).is_zero
    assert index_equal(doubled.shifted(-N.scale(2))) == index_equal(of_var(I).plus(of_var(J)).shifted(-N))
    odd = index_equal(doubled.shifted(ONE - N))
    assert not odd.is_zero
    assert value(odd, 0, 1, 3, 1) == 1


@quick
@given(affine())
def test_a_number_is_the_index_again(pair):
    ix, _ = pair
    assert as_index(index_number(ix)) == ix


def test_no_condition_is_decided_for_a_slot():
    assert index_condition(of_var(("s", 0, 0))) not in (ONE, ZERO)
