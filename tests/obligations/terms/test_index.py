"""Quotients, remainders and row-major places: simplified forms have the values of plain integer arithmetic."""

from hypothesis import given, settings
from hypothesis import strategies as st

from certgrad.obligations.decide import evaluate as _evaluate
from certgrad.obligations.terms.atoms import access, dimension
from certgrad.obligations.terms.index import Ix, of_const, of_var
from certgrad.obligations.terms.integers import quotient, remainder, row_major
from certgrad.obligations.terms.polynomials import ONE, ZERO, number

quick = settings(max_examples=100, derandomize=True, deadline=None)
I, J = ("u", 0, 0), ("u", 1, 0)
N = dimension("n")
small = st.integers(-4, 4)


def value(ix: Ix, i: int, j: int, n: int) -> int:
    dims = {"n": n}
    return _evaluate.Evaluation(dims, lambda tensor, index: None).index(ix, {I: i, J: j})


@st.composite
def affine(draw):
    """An expression and its value."""
    a, b, c, d = (draw(small) for _ in range(4))
    ix = of_var(I).scaled(a).plus(of_var(J).scaled(b)).shifted(number(c) + N.scale(d))
    return ix, lambda i, j, n: a * i + b * j + c + d * n


DIVISORS = st.sampled_from([(number(k), lambda n, k=k: k) for k in (1, 2, 3, 4)] + [(N, lambda n: n)])


@quick
@given(affine(), DIVISORS, DIVISORS, st.integers(0, 6), st.integers(0, 6), st.integers(1, 5))
def test_division(pair, divisor, second, i, j, n):
    (ix, at), (m, m_at), (k, k_at) = pair, divisor, second
    whole, rest = divmod(at(i, j, n), m_at(n))
    assert value(quotient(ix, m), i, j, n) == whole
    assert value(remainder(ix, m), i, j, n) == rest
    assert value(quotient(quotient(ix, m), k), i, j, n) == whole // k_at(n)
    assert value(remainder(remainder(ix, m), k), i, j, n) == rest % k_at(n)
    assert value(row_major(quotient(ix, m), remainder(ix, m), m), i, j, n) == at(i, j, n)


@quick
@given(affine(), DIVISORS, st.integers(0, 6), st.integers(0, 6), st.integers(1, 5))
def test_row_major_places_are_taken_apart_again(pair, divisor, i, j, n):
    (ix, at), (m, m_at) = pair, divisor
    column = j % m_at(n)
    place = row_major(ix, of_var(J) if m != ONE else of_const(ZERO), m)
    major = at(i, column, n)
    assert value(place, i, column, n) == major * m_at(n) + column
    assert value(quotient(place, m), i, column, n) == major
    assert value(remainder(place, m), i, column, n) == column


@quick
@given(affine(), affine(), DIVISORS, st.integers(0, 6), st.integers(0, 6), st.integers(1, 5))
def test_substitution_is_composition(pair, inner, divisor, i, j, n):
    (ix, at), (other, other_at), (m, m_at) = pair, inner, divisor
    moved = quotient(ix, m).subst({I: other})
    assert value(moved, i, j, n) == at(other_at(i, j, n), j, n) // m_at(n)


def test_equal_expressions_have_one_key():
    one = of_var(I).plus(of_var(J)).minus(of_var(I))
    assert one == of_var(J)
    assert of_var(I).scaled(0) == of_const(ZERO)


def test_a_scalar_and_the_first_entry_of_an_array_are_two_atoms():
    """Their keys differ, so that none stands for the other."""
    scalar, first = access("x", ()), access("x", (of_const(ZERO),))
    assert scalar != first
    assert scalar.key != first.key
