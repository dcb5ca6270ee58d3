"""Signs never exclude a sign that occurs: random facts that hold at a point, and a random question about it."""

from fractions import Fraction
from math import prod

import pytest
from flint import arb, ctx, fmpq
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from certgrad.obligations.assume.fact import Fact
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import ANY_SIGN, NEG, POS, ZERO, negated, plus, times
from certgrad.obligations.terms.atoms import access
from certgrad.obligations.terms.index import of_const, of_var
from certgrad.obligations.terms.polynomials import ONE, number
from certgrad.obligations.terms.power import fn
from certgrad.obligations.terms.session import clear_caches
from certgrad.obligations.terms.sums import sum_over
from tests.obligations.terms_strategy import pairs, tables

quick = settings(max_examples=75, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))


def sign_of_value(value: arb | None) -> int | None:
    if value is None:
        return None
    return POS if value > 0 else NEG if value < 0 else ZERO if value == 0 else None


@pytest.mark.slow
@quick
@given(
    st.lists(st.tuples(pairs(indexed=False, size=4), st.integers(0, 7)), max_size=3),
    pairs(indexed=False, size=5),
    tables,
)
def test_signs_never_exclude_the_truth(assumed, question, table):
    truth = sign_of_value(question.at(table, {}))
    assume(truth is not None)
    facts = []
    for pair, wider in assumed:
        sign = sign_of_value(pair.at(table, {}))
        if sign is not None:
            facts.append(Fact(pair.poly, sign | wider, universal=False))
    known = Facts(facts)
    assert not known.contradictory
    assert known.signs(question.poly) & truth


@pytest.mark.slow
@quick
@given(st.lists(st.tuples(pairs(indexed=False, size=3), st.integers(0, 7)), min_size=1, max_size=3), tables)
def test_facts_that_hold_together_do_not_contradict(assumed, table):
    facts = []
    for pair, wider in assumed:
        sign = sign_of_value(pair.at(table, {}))
        assume(sign is not None)
        facts.append(Fact(pair.poly, sign | wider, universal=False))
    assert not Facts(facts).contradictory


@quick
@given(pairs(size=5), tables)
def test_signs_of_terms_with_sums(question, table):
    env = {("f", 900 + k, 0): k % 2 for k in range(4)}
    truth = sign_of_value(question.at(table, env))
    assume(truth is not None)
    assert Facts().signs(question.poly) & truth


def test_a_fact_says_nothing_of_an_unrelated_factor():
    clear_caches()
    x, y = access("x", ()), access("y", ())
    assert Facts([Fact(x, ZERO, universal=False)]).signs(y) == ANY_SIGN
    assert Facts([Fact(x * y, ZERO, universal=False)]).signs(y) == ANY_SIGN
    assert Facts([Fact(x * y, POS, universal=False)]).signs(x * x * x * y) == POS
    assert Facts([Fact(x, ZERO, universal=False)]).signs(x * y) == ZERO


def test_a_fact_about_a_matrix_product_is_one_at_a_row_and_a_column():
    """For all i and j: Σ_k x[i, k]·w[k, j] > 0. No entry has both indices."""
    clear_caches()
    i, j, k, l, m = (("t", 0, 0), ("t", 1, 0), ("f", 1, 1), ("u", 2, 0), ("u", 3, 0))

    def product(row, column, inner="w"):
        summand = access("x", (of_var(row), of_var(k))) * access(inner, (of_var(k), of_var(column)))
        return sum_over(summand, [(k, number(3))])

    known = Facts([Fact(product(i, j), POS)])
    assert known.signs(product(l, m)) == POS
    assert known.signs(product(m, m)) == POS
    assert known.signs(product(l, m, "v")) == ANY_SIGN, "another matrix"
    transposed = sum_over(access("x", (of_var(k), of_var(l))) * access("w", (of_var(k), of_var(m))), [(k, number(3))])
    assert known.signs(transposed) == ANY_SIGN, "the rows of the transposed matrix"
    diagonal = Facts([Fact(product(i, i), POS)])
    assert diagonal.signs(product(l, l)) == POS
    assert diagonal.signs(product(l, m)) == ANY_SIGN, "it is about entries on the diagonal alone"
    clear_caches()


NUMBERS = st.integers(-3, 3)


@quick
@given(st.lists(st.lists(NUMBERS, min_size=4, max_size=4), min_size=1, max_size=4), st.lists(NUMBERS, min_size=3))
def test_what_integers_say_together_does_not_contradict(rows, values):
    clear_caches()
    n = [access("n", (of_const(number(k)),)) for k in range(3)]
    facts = []
    for c, *factors in rows:
        poly = sum((number(k) * atom for k, atom in zip(factors, n, strict=True)), number(c))
        value = c + sum(k * v for k, v in zip(factors, values, strict=False))
        facts.append(Fact(poly, POS if value > 0 else NEG if value < 0 else ZERO, universal=False))
    assert not Facts(facts, frozenset("n")).contradictory


def test_no_integer_is_between_0_and_1():
    clear_caches()
    n = access("n", ())
    between = [Fact(n, POS, universal=False), Fact(ONE - n, POS, universal=False)]
    assert Facts(between, frozenset("n")).contradictory
    assert Facts(integers=frozenset("n")).extended(between).contradictory
    assert not Facts(between).contradictory, "a real number is"
    half = n * number(Fraction(1, 2))
    between = [Fact(half, POS, universal=False), Fact(ONE - half, POS, universal=False)]
    assert not Facts(between, frozenset("n")).contradictory, "1/2 is half an integer"
    assert Facts([Fact(n, POS, universal=False)], frozenset("n")).signs(number(2) * n - ONE) == POS
    clear_caches()


def test_tables_of_signs():
    values = {NEG: [-2, -1], ZERO: [0], POS: [1, 3]}
    members = {s: [v for bit, vs in values.items() if s & bit for v in vs] for s in range(8)}
    bit = {True: POS, False: NEG}
    for a in range(8):
        for b in range(8):
            for x in members[a]:
                assert negated(a) & (ZERO if x == 0 else bit[x < 0])
                for y in members[b]:
                    product, total = x * y, x + y
                    assert times(a, b) & (ZERO if product == 0 else bit[product > 0])
                    assert plus(a, b) & (ZERO if total == 0 else bit[total > 0])


halves = st.integers(-4, 4).map(lambda k: Fraction(k, 2))


@settings(quick, max_examples=60)
@given(
    st.fixed_dictionaries({"a": halves.filter(bool), "b": halves, "x": halves}),
    st.integers(-2, 3),
    st.lists(
        st.tuples(st.integers(-2, 2), st.lists(st.sampled_from(["a", "b", "x", "power"]), max_size=3)), max_size=4
    ),
    st.lists(st.integers(0, 7), min_size=6, max_size=6),
)
def test_bounds_by_one_never_exclude_the_truth(values, exponent, question, wider):
    """Products of numbers up to 1, and powers of them, are below what they shrink: only where the facts say so."""
    terms = {name: access(name, ()) for name in values}
    power = fn("whole_power", terms["a"], access("t", ()))
    exact = {**values, "power": values["a"] ** exponent}
    known = [*((terms[n], v) for n, v in values.items()), *((ONE - terms[n], 1 - values[n]) for n in ("a", "b"))]
    facts = [
        Fact(p, sign_of_value(v) | extra, universal=False)
        for (p, v), extra in zip([*known, (access("t", ()), exponent)], wider, strict=True)
    ]
    asked, truth = number(0), Fraction(0)
    for c, factors in question:
        asked = asked + prod([(terms | {"power": power})[f] for f in factors], start=ONE).scale(fmpq(c))
        truth += c * prod(exact[f] for f in factors)
    signs = Facts(facts)
    assert not signs.contradictory
    assert signs.signs(asked) & sign_of_value(truth)


def test_products_of_numbers_up_to_one():
    a, x, t = access("a", ()), access("x", ()), access("t", ())
    unit = [Fact(a, POS, universal=False), Fact(ONE - a, POS, universal=False)]
    power = fn("whole_power", a, t)
    counted = Facts([*unit, Fact(t, POS | ZERO, universal=False)])
    assert Facts(unit).signs(x * x - a * x * x) == POS | ZERO
    assert Facts(unit).signs(x - a * x) == ANY_SIGN
    assert counted.signs(ONE - a * power) == POS
    assert counted.signs(ONE - power) == POS | ZERO
    assert Facts(unit).signs(ONE - power) == ANY_SIGN, "the exponent may be negative"
    assert Facts([unit[1], Fact(t, POS, universal=False)]).signs(ONE - power) == ANY_SIGN, "the base may be below −1"
    assert Facts([unit[0], Fact(ONE - a, POS | ZERO, universal=False)]).signs(ONE - a * a) == POS | ZERO
    clear_caches()


_ = ctx
