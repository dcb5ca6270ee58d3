"""Conditions on the entries of an axis in order, as conditions on their places: the same at drawn entries, ties too."""

from contextlib import suppress
from random import Random

import pytest
from flint import fmpq

from certgrad.obligations.assume.index_cases import Indices
from certgrad.obligations.decide.evaluate import evaluate
from certgrad.obligations.laws.order import place_in_order
from certgrad.obligations.laws.thresholds import with_equal_conditions, with_places
from certgrad.obligations.terms.atoms import Dim, access
from certgrad.obligations.terms.functions import UndecidedError
from certgrad.obligations.terms.index import of_atom, of_const, of_var
from certgrad.obligations.terms.index_terms import index_condition, index_number
from certgrad.obligations.terms.integers import Chosen, undone
from certgrad.obligations.terms.polynomials import ONE, number, poly_of
from certgrad.obligations.terms.power import power, pred
from certgrad.obligations.terms.predicates import Pred
from certgrad.obligations.terms.rounded import as_rounded_index
from certgrad.obligations.terms.session import intern
from certgrad.obligations.terms.sums import sum_over
from certgrad.obligations.terms.variables import fresh
from certgrad.obligations.terms.walk import deep_atoms

N = poly_of(intern(Dim("n")))
I = ("u", 0, 0)
INDICES = Indices({I: N})
RIGHT = (1, 1, 1), (1, 1, 1)
"""The coefficients of a projection onto the simplex."""


def x(ix):
    return access("x", (ix,))


def rank(v, down=False):
    w = fresh()
    place = place_in_order([-x(of_var(w)) if down else x(of_var(w))], w, N, of_var(v)).only_term()
    assert isinstance(place, Chosen)
    return undone(place, of_var(v))


def greatest(v, number_of, down=False):
    """[v is one of so many entries that come last, or first]."""
    ix = rank(v, down)
    last = ix.plus(number_of).shifted(-N)
    return index_condition(number_of.minus(ix).shifted(-ONE) if down else last)


def own(coefficients, divided=False, down=False):
    """How many a + b·m·x_v − c·Σ of the m greatest are positive, where the entry v is the m-th greatest."""
    a, b, c = map(number, coefficients)
    v, j = fresh(), fresh()
    m = rank(v, down).shifted(ONE) if down else rank(v).scaled(-1).shifted(N)
    total = sum_over(greatest(j, m, down) * x(of_var(j)), [(j, N)])
    p = a + b * index_number(m) * x(of_var(v)) - c * total
    return as_rounded_index(sum_over(pred(p * power(index_number(m), -1) if divided else p), [(v, N)]))


def masked(coefficients, k, down=False):
    """The entries, or [i is one], where a + b·k·x_i − c·Σ of the k greatest is positive."""
    a, b, c = map(number, coefficients)

    def positive(v):
        j = fresh()
        total = sum_over(greatest(j, k, down) * x(of_var(j)), [(j, N)])
        return pred(a + b * index_number(k) * x(of_var(v)) - c * total)

    v = fresh()
    return sum_over(positive(v) * access("y", (of_var(v),)), [(v, N)]) + positive(I).scale(3)


def compares(poly):
    return any(isinstance(a, Pred) and a.free for a in deep_atoms(poly))


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("divided", [False, True])
def test_the_entries_above_a_threshold_are_as_many_as_the_sorted_ones(divided, down):
    poly = masked(RIGHT[1], own(RIGHT[0], divided, down), down)
    placed = with_places(poly, INDICES)
    assert not any(isinstance(a, Pred) for m in placed for b, _ in m for a in deep_atoms(poly_of(b)) if a.free)


def points(draw, count):
    for _ in range(count):
        n = draw.randint(1, 5)
        xs = [fmpq(draw.randint(-4, 4), 2) for _ in range(n)]
        yield {"n": n}, lambda name, at, xs=xs: xs[at[0]] if name == "x" else fmpq(at[0] + 7), {I: draw.randrange(n)}


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", range(40))
def test_what_is_rewritten_has_the_same_values(seed):
    """Whatever is compared: other coefficients, most of which count nothing that goes on along the order."""
    draw = Random(seed)
    first, second = ([draw.randint(-1, 2) for _ in range(3)] for _ in range(2))
    if seed < 8:
        second = first
    k = own(first, draw.random() < 0.5, down := draw.random() < 0.5)
    if k is None:
        return
    poly = masked(second, k, down if draw.random() < 0.7 else not down)
    placed = with_places(poly, INDICES)
    compared = 0
    for point in points(draw, 30):
        with suppress(UndecidedError):  # a quotient that is not exact, on a boundary
            assert (evaluate(poly, *point) - evaluate(placed, *point)).contains(0), (first, second)
            compared += 1
    assert compared > 10


def test_the_number_is_that_of_its_own_places():
    """A count itself, whether it is a number or an index, is not looked at anew."""
    k = own(RIGHT[0])
    assert with_places(index_number(k), INDICES) == index_number(k)


def test_another_axis_of_the_same_size_is_none_in_order():
    j = fresh()
    k = own(RIGHT[0])
    total = sum_over(greatest(j, k) * x(of_var(j)), [(j, N)])
    p = ONE + index_number(k) * access("y", (of_var(I),)) - total
    assert compares(with_places(pred(p), INDICES))


def test_conditions_beside_each_other():
    """[i ≥ 2] is [i ≥ 3] + [i = 2], and neither is negative."""
    two, three = (index_condition(of_var(I).shifted(number(-k))) for k in (2, 3))
    form = with_equal_conditions(two * x(of_var(I)) - three * x(of_var(I)))
    for at in range(5):
        value = evaluate(form, {"n": 5}, lambda name, place: fmpq(1), {I: at})
        assert value == (at == 2)


def test_a_number_of_places_is_within_the_axis():
    k = own(RIGHT[0])
    assert not INDICES.feasible((k.scaled(-1), ">="))
    assert not INDICES.feasible((k.shifted(-N - ONE), ">="))
    assert INDICES.feasible((k.shifted(-N), "="))
    nothing_sure = own((-1, 1, 1))
    assert INDICES.feasible((nothing_sure, "="))
    assert of_atom(k.only_term()) == k
    assert of_const(N).minus(k) == k.scaled(-1).shifted(N)
