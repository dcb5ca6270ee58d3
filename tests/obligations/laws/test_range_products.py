"""Products over index variables: what is said to be equal is, zeros included; the laws by which they are compared."""

from fractions import Fraction
from itertools import product
from math import prod

import pytest
from flint import fmpq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certgrad.obligations.assume.fact import Fact
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import POS, ZERO
from certgrad.obligations.decide.cases import Region, nonzero_part
from certgrad.obligations.decide.evaluate import evaluate
from certgrad.obligations.differentiate.derivative import Differentiator
from certgrad.obligations.laws.range_products import product_over
from certgrad.obligations.terms.atoms import access, dimension
from certgrad.obligations.terms.budget import limited
from certgrad.obligations.terms.index import of_const, of_var
from certgrad.obligations.terms.index_terms import index_equal, index_pred
from certgrad.obligations.terms.polynomials import ONE, number
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.power import power, pred
from certgrad.obligations.terms.rewriting import substitute
from certgrad.obligations.terms.session import clear_caches
from certgrad.obligations.terms.sums import sum_over
from certgrad.obligations.terms.variables import fresh
from certgrad.obligations.wording.present import show

quick = settings(max_examples=15, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True)
def _terms():
    """Terms of this test alone: other tests clear the table by which equal atoms are one object."""
    global N, REGION
    clear_caches()
    N = dimension("n")
    REGION = Region(Facts()).over({J: N, I: N})
    with limited():
        yield


N, J, I = dimension("n"), ("u", 0, 0), ("u", 1, 0)
REGION = Region(Facts()).over({J: N, I: N})
ENTRIES = [Fraction(k) for k in (0, 2, -3, 5, -1, 7, 0, 3)]


def x(ix, name="x"):
    return access(name, (ix,))


SETS = {
    "all": (lambda k: ONE, lambda k, j, i, n: True),
    "not j": (lambda k: ONE - index_equal(k.minus(of_var(J))), lambda k, j, i, n: k != j),
    "j": (lambda k: index_equal(k.minus(of_var(J))), lambda k, j, i, n: k == j),
    "below j": (lambda k: index_pred(of_var(J).minus(k).shifted(-ONE)), lambda k, j, i, n: k < j),
    "above j": (lambda k: index_pred(k.minus(of_var(J)).shifted(-ONE)), lambda k, j, i, n: k > j),
    "up to j": (lambda k: index_pred(of_var(J).minus(k)), lambda k, j, i, n: k <= j),
    "from j": (lambda k: index_pred(k.minus(of_var(J))), lambda k, j, i, n: k >= j),
    "up to i": (lambda k: index_pred(of_var(I).minus(k)), lambda k, j, i, n: k <= i),
    "up to i, not j": (
        lambda k: index_pred(of_var(I).minus(k)) * (ONE - index_equal(k.minus(of_var(J)))),
        lambda k, j, i, n: k <= i and k != j,
    ),
    "mirrored, below j": (
        lambda k: index_pred(of_var(J).minus(k).shifted(-ONE)),
        lambda k, j, i, n: k < j,
    ),
    "after j, mirrored": (
        lambda k: index_pred(of_const(N - ONE).minus(k).minus(of_var(J)).shifted(-ONE)),
        lambda k, j, i, n: n - 1 - k - j >= 1,
    ),
    "past the end": (lambda k: index_equal(k.shifted(-N)), lambda k, j, i, n: False),
    "but the first": (lambda k: ONE - index_equal(k), lambda k, j, i, n: k != 0),
}
MIRRORED = ("after j, mirrored",)
BODIES = {
    "x": (lambda e: e, lambda v, k: v[k]),
    "2x": (lambda e: e.scale(2), lambda v, k: 2 * v[k]),
    "-x": (lambda e: -e, lambda v, k: -v[k]),
    "x²": (lambda e: e * e, lambda v, k: v[k] ** 2),
    "x-2": (lambda e: e - number(2), lambda v, k: v[k] - 2),
    "2-x": (lambda e: number(2) - e, lambda v, k: 2 - v[k]),
    "relu": (lambda e: pred(e) * e, lambda v, k: max(v[k], 0)),
    "1": (lambda e: ONE, lambda v, k: Fraction(1)),
    "0": (lambda e: NOTHING, lambda v, k: Fraction(0)),
    "-1": (lambda e: -ONE, lambda v, k: Fraction(-1)),
}
factor = st.tuples(st.sampled_from([*BODIES, "x", "x"]), st.sampled_from(list(SETS)), st.sampled_from([1, 1, 1, 2]))
points = st.lists(st.tuples(st.sampled_from(list(BODIES)), st.sampled_from("ij")), max_size=2)
sides = st.tuples(st.lists(factor, min_size=1, max_size=3), points)


def term(side):
    total = ONE
    for body, which, e in side[0]:
        k = fresh()
        place = of_var(k).scaled(-1).shifted(N - ONE) if which in MIRRORED else of_var(k)
        total = total * power(product_over(BODIES[body][0](x(place)), [(k, N)], SETS[which][0](of_var(k))), e)
    for body, at in side[1]:
        total = total * BODIES[body][0](x(of_var(J if at == "j" else I)))
    return total


def value(side, v, j, i):
    n = len(v)
    total = Fraction(1)
    for body, which, e in side[0]:
        kept = [k for k in range(n) if SETS[which][1](k, j, i, n)]
        total *= prod((BODIES[body][1](v, n - 1 - k if which in MIRRORED else k) for k in kept), start=Fraction(1)) ** e
    for body, at in side[1]:
        total *= BODIES[body][1](v, j if at == "j" else i)
    return total


def all_places():
    for n in (1, 2, 3):
        for shift in range(5):
            v = [ENTRIES[(shift + 3 * k) % len(ENTRIES)] for k in range(n)]
            for j, i in product(range(n), repeat=2):
                yield v, j, i


def differs(one, other):
    return any(value(one, *at) != value(other, *at) for at in all_places())


@pytest.mark.slow
@quick
@given(sides)
def test_the_value_of_a_product(side):
    poly = term(side)
    for v, j, i in all_places():
        entries = {("x", (k,)): fmpq(e.numerator, e.denominator) for k, e in enumerate(v)}
        expected = value(side, v, j, i)
        found = evaluate(poly, {"n": len(v)}, lambda t, k, entries=entries: entries[t, k], {J: j, I: i})
        assert found.contains(fmpq(expected.numerator, expected.denominator)), (poly, v, j, i)


@pytest.mark.slow
@quick
@given(sides, st.randoms(use_true_random=False), st.booleans())
def test_products_that_are_written_otherwise(side, draw, wrong):
    """A set split at j, a factor set apart, a mirrored range: equal. With a set exchanged: only if it is equal."""
    other = ([], list(side[1]))
    for body, which, e in side[0]:
        parts = {
            "all": [["below j", "from j"], ["up to j", "above j"], ["up to j", "after j, mirrored"], ["not j", "j"]],
            "not j": [["below j", "above j"], ["below j", "after j, mirrored"]],
            "up to j": [["below j", "j"]],
            "from j": [["j", "above j"]],
            "up to i": [["up to i", "past the end"]],
        }.get(which, [[which]])
        other[0].extend((body, part, e) for part in draw.choice(parts))
    if wrong:
        at = draw.randrange(len(other[0]))
        other[0][at] = (other[0][at][0], draw.choice(list(SETS)), other[0][at][2])
    shown = nonzero_part(term(side) - term(other), REGION) is None
    assert not (shown and differs(side, other)), (side, other)
    # Of several signs it may be lost which of them cancel; where a product of zeros is empty is not always decided.
    open_ = sum(body in ("-x", "-1", "2-x") for body, _, _ in side[0]) > 1 or any(body == "0" for body, _, _ in side[0])
    assert wrong or shown or open_, (side, other)


@quick
@given(sides, sides)
def test_products_that_are_shown_equal_are(one, other):
    if differs(one, other):
        assert nonzero_part(term(one) - term(other), REGION) is not None


def over(body, where=ONE, kinds=("k",)):
    """Π over k < n, and over l < n where named, of a function of the index expressions."""
    variables = [fresh() for _ in kinds]
    places = [of_var(v) for v in variables]
    condition = where(*places) if callable(where) else where
    return product_over(body(*places), [(v, N) for v in variables], condition)


def test_a_product_of_products_keeps_its_variables_apart():
    whole = over(x)
    squared = product_over(x(of_var(J)) * whole, [(J, N)])  # Π_j x_j · (Π_k x_k)
    k = fresh()
    plain = product_over(x(of_var(k)), [(k, N)])
    assert squared != plain * plain
    entries = {0: fmpq(2), 1: fmpq(3), 2: fmpq(5)}
    assert evaluate(squared, {"n": 3}, lambda t, at: entries[at[0]]).contains(30**4)


def test_variables_that_swap():
    def b(k, m):
        return access("b", (k, m))

    assert over(b, kinds="kl") == over(lambda k, m: b(m, k), kinds="kl")
    skew = over(lambda k, m: b(k, m) + b(m, k).scale(2), kinds="kl")
    assert skew == over(lambda k, m: b(m, k) + b(k, m).scale(2), kinds="kl")
    below = over(b, lambda k, m: index_pred(k.minus(m)), kinds="kl")
    assert below != over(b, lambda k, m: index_pred(m.minus(k)), kinds="kl")
    same = over(lambda k, m: b(m, k), lambda k, m: index_pred(m.minus(k)), kinds="kl")
    assert nonzero_part(below - same, REGION) is None


def test_a_variable_that_a_substitution_would_capture():
    j = of_var(J)
    poly = over(lambda k: access("b", (k, j)), lambda k: ONE - index_equal(k.minus(j)))
    moved = substitute(poly, {J: of_var(I)})
    assert moved == over(lambda k: access("b", (k, of_var(I))), lambda k: ONE - index_equal(k.minus(of_var(I))))
    assert J not in moved.free


def test_empty_products_and_axes_of_one():
    k = fresh()
    assert product_over(x(of_var(k)), [(k, NOTHING)]) == ONE
    assert product_over(x(of_var(k)), [(k, N)], NOTHING) == ONE
    assert product_over(x(of_var(k)), [(k, ONE)]) == x(of_const(NOTHING))
    assert over(lambda k: NOTHING) == NOTHING
    assert over(lambda k: NOTHING, lambda k: index_equal(k.shifted(-N))) == ONE


def test_powers_come_together():
    p = over(x)
    assert p * p == over(lambda k: x(k) * x(k)) == power(p, 2)
    assert over(lambda k: power(x(k), -1)) == power(p, -1)
    signs = over(lambda k: -ONE)
    assert signs * signs == ONE
    assert over(lambda k: -x(k)) == signs * p
    assert over(lambda k: number(2)) == power(over(lambda k: number(Fraction(1, 2))), -1)


def test_a_place_out_of_range_is_not_left_out():
    """Π_{k≠j} is Π·1/x_j only for a j in range: with j = n nothing is left out."""
    rest = over(x, lambda k: ONE - index_equal(k.shifted(-N)))
    assert nonzero_part(rest - over(x), REGION) is None
    beyond = Region(Facts()).over({J: N + ONE})
    left = over(x, lambda k: ONE - index_equal(k.minus(of_var(J))))
    assert nonzero_part(left * x(of_var(J)) - over(x), REGION) is None
    assert nonzero_part(left * x(of_var(J)) - over(x), beyond) is not None


def test_a_factor_that_is_zero():
    known = Region(Facts([Fact(x(of_var(J)), ZERO, universal=False)])).over({J: N})
    assert nonzero_part(over(x), known) is None
    assert nonzero_part(over(x, lambda k: ONE - index_equal(k.minus(of_var(J)))), known) is not None


def test_signs():
    positive = Facts([Fact(x(of_var(("q", 1, 1))), POS)])
    assert positive.signs(over(x)) == POS
    assert Facts().signs(over(lambda k: x(k) * x(k))) != POS


def test_the_derivative_leaves_one_factor_out():
    d = Differentiator({"x": "dx"})(over(x))
    k = fresh()
    expected = over(x, lambda l: ONE - index_equal(l.minus(of_var(k)))) * x(of_var(k), "dx")
    assert d == sum_over(expected, [(k, N)])
    assert d.is_zero is False


@pytest.mark.parametrize(
    ("style", "expected"),
    [("text", "(Πj x[j] where j ≠ i)"), ("latex", r"\Bigl(\prod_{j<n, j \ne i} x_{j}\Bigr)")],
)
def test_the_text_of_a_product(style, expected):
    assert show(over(x, lambda k: ONE - index_equal(k.minus(of_var(J)))), style) == expected
