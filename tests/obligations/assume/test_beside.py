"""Conditions decided by those beside them, and sums less their last term: as values, at every place of small axes."""

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from certgrad.obligations.assume.index_cases import Indices, by_those_beside
from certgrad.obligations.decide.evaluate import evaluate
from certgrad.obligations.laws.sum_ends import with_ends, without_last
from certgrad.obligations.terms.atoms import access, dimension
from certgrad.obligations.terms.budget import limited
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.index_terms import index_condition, index_equal, index_number
from certgrad.obligations.terms.polynomials import ONE, number
from certgrad.obligations.terms.power import exp_of, fn
from certgrad.obligations.terms.session import clear_caches
from certgrad.obligations.terms.sums import sum_over
from certgrad.obligations.terms.variables import fresh

I, J = ("u", 0, 0), ("u", 1, 0)
N = dimension("n")
X = (fmpq(2), fmpq(-3), fmpq(5), fmpq(7))


@pytest.fixture(autouse=True)
def _terms():
    clear_caches()
    with limited():
        yield


def x(v):
    return access("x", (of_var(v),))


def below(v, w, shift):
    """[v + shift ≤ w]."""
    return index_condition(of_var(w).minus(of_var(v)).shifted(number(-shift)))


def value(poly, n, i, j):
    return evaluate(poly, {"n": n}, lambda tensor, at: X[at[0]], {I: i, J: j})


def alike(one, other):
    """They are equal at every place of axes of 1 to 4 entries."""
    for n in range(1, 5):
        for i in range(n):
            for j in range(n):
                assert value(one, n, i, j).overlaps(value(other, n, i, j)), (n, i, j)


shifts = st.integers(-1, 1)
conditions = st.tuples(
    st.sampled_from(["i", "j", "v", "w"]), st.sampled_from(["i", "j", "v", "w"]), shifts, st.booleans()
)


def condition(spec, names):
    a, b, shift, equal = spec
    v, w = names[a], names[b]
    if v == w:
        return ONE
    return index_equal(of_var(v).minus(of_var(w))) if equal and not shift else below(v, w, shift)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.lists(conditions, min_size=1, max_size=3), st.lists(conditions, min_size=1, max_size=3), st.booleans())
def test_what_is_decided_by_those_beside_has_the_same_value(outer, inner, in_exponent):
    v, w = fresh(), fresh()
    names = {"i": I, "j": J, "v": v, "w": w}
    inside = x(w)
    for one in inner:
        inside = inside * condition(one, names)
    total = sum_over(inside, [(w, N)])
    body = x(v) * (exp_of(total.scale(fmpq(1, 8))) if in_exponent else total)
    for a, b, shift, equal in outer:
        body = body * condition(tuple("v" if c == "w" else c for c in (a, b)) + (shift, equal), names)
    poly = sum_over(body, [(v, N)]) + x(I) * below(I, J, 0) * sum_over(x(v) * below(v, I, 0) * below(v, J, 0), [(v, N)])
    indices = Indices({I: N, J: N})
    form = by_those_beside(poly, indices)
    alike(poly, form)
    alike(poly, without_last(form, indices))


def test_a_condition_that_others_imply_is_left_out():
    v = fresh()
    poly = below(I, J, 0) * exp_of(sum_over(x(v) * below(v, I, 0) * below(v, J, 0), [(v, N)]))
    assert by_those_beside(poly, Indices({I: N, J: N})) == below(I, J, 0) * exp_of(
        sum_over(x(v) * below(v, I, 0), [(v, N)])
    )
    other = below(J, I, 0) * exp_of(sum_over(x(v) * below(v, I, 0) * below(v, J, 0), [(v, N)]))
    assert (
        other
        != by_those_beside(other, Indices({I: N, J: N}))
        != below(J, I, 0) * exp_of(sum_over(x(v) * below(v, I, 0), [(v, N)]))
    )


def test_the_last_of_several_indices_is_taken_away():
    v, w = fresh(), fresh()
    pairs = [(v, N), (w, N)]
    y = access("y", (of_var(w), of_var(v)))
    whole = sum_over(y * below(v, I, 0), pairs)
    last = sum_over(access("y", (of_var(w), of_var(I))), [(w, N)])
    indices = Indices({I: N})
    assert without_last(whole - last, indices) == sum_over(y * below(v, I, 1), pairs)
    assert without_last(whole + last, indices) == whole + last
    assert with_ends(whole - last, indices) == without_last(whole - last, indices)


def test_what_is_0_at_the_place_that_a_condition_excludes_needs_no_condition():
    gap = index_number(of_var(J).minus(of_var(I)))
    indices = Indices({I: N, J: N})
    where = below(I, J, 0)
    assert by_those_beside(where * fn("erf", gap * below(I, J, 1)), indices) == where * fn("erf", gap)
    for other in (gap + ONE, gap - ONE):
        poly = where * fn("erf", other * below(I, J, 1))
        found = by_those_beside(poly, indices)
        assert found != where * fn("erf", other)
        alike(poly, found)
    poly = fn("erf", gap * below(I, J, 1))  # where e may be negative
    assert by_those_beside(poly, indices) == poly
