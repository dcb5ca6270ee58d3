"""A term's value is the same before and after normalisation; names of bound variables do not matter."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from certgrad.obligations.terms.atoms import access, dimension
from certgrad.obligations.terms.budget import BudgetError, limited
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.polynomials import ONE, ZERO, number, poly_of
from certgrad.obligations.terms.power import cleared, power
from certgrad.obligations.terms.rational import factored
from certgrad.obligations.terms.rewriting import Rewriter, substitute
from certgrad.obligations.terms.sums import sum_over
from certgrad.obligations.terms.variables import fresh
from tests.obligations.terms_strategy import SIZES, I, J, K, L, Table, computed, pairs, tables

quick = settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
ENV = {I: 2, J: 1, K: 1, L: 0}
ENTRY = Table({name: tuple(Fraction(7 * k + len(name) + ord(name) % 5 - 20, 8) for k in range(9)) for name in "abxy"})


@quick
@given(pairs(size=9), tables)
def test_values_survive_normalisation(pair, table):
    expected = pair.at(table, ENV)
    assume(expected is not None)
    found = computed(pair.poly, table, ENV)
    assume(found is not None)
    assert found.overlaps(expected), (pair.poly, found, expected)


@quick
@given(pairs(size=6), pairs(size=6))
def test_what_does_not_mention_a_variable_is_kept_where_another_takes_its_place(first, second):
    new = of_var(fresh())
    whole = substitute(first.poly + second.poly, {I: new})
    assert whole == substitute(first.poly, {I: new}) + substitute(second.poly, {I: new})
    each = [Rewriter({I: new}).mono(m).scale(c) for m, c in (first.poly + second.poly).items()]
    assert whole == sum(each, ZERO)


@quick
@given(pairs(size=9))
def test_values_survive_where_nothing_vanishes(pair):
    expected = pair.at(ENTRY, ENV)
    assume(expected is not None)
    found = computed(pair.poly, ENTRY, ENV)
    assert found is None or found.overlaps(expected)


@quick
@given(pairs(size=7), pairs(size=4), tables)
def test_clearing_denominators_multiplies_by_them(one, other, table):
    poly = one.poly + other.poly
    numerator, denominators = cleared(poly, fractions=True)
    product = ONE
    for a, k in denominators.items():
        product = product * poly_of(a, k)
    values = [computed(p, table, ENV) for p in (poly, numerator, product)]
    assume(all(v is not None for v in values))
    whole, top, factor = values
    assert top.overlaps(whole * factor)


@quick
@given(pairs(size=8), st.permutations([I, J, L]), tables)
def test_substitution_moves_the_variables(pair, order, table):
    mapping = {v: of_var(w) for v, w in zip([I, J, L], order, strict=True)}
    env = {v: ENV[w] for v, w in zip([I, J, L], order, strict=True)} | {K: ENV[K]}
    before, after = computed(pair.poly, table, env), computed(substitute(pair.poly, mapping), table, ENV)
    assume(before is not None and after is not None)
    assert before.overlaps(after)


# --- canonical names ------------------------------------------------------------------------------------------------

factors = st.lists(
    st.tuples(st.sampled_from(["b", "c"]), st.integers(0, 4), st.integers(0, 4), st.sampled_from([1, 1, 2])),
    min_size=2,
    max_size=6,
)


def contraction(parts, variables):
    """Σ over all variables of the product of the entries."""
    body = ONE
    for name, i, j, e in parts:
        body = body * poly_of(access(name, (of_var(variables[i]), of_var(variables[j]))).atom(), e)
    return sum_over(body, [(v, dimension("n")) for v in variables])


@quick
@given(factors, st.permutations(range(5)), st.randoms(use_true_random=False))
def test_names_and_order_do_not_matter(parts, order, rng):
    first, second = ([fresh() for _ in range(5)] for _ in range(2))
    shuffled = list(parts)
    rng.shuffle(shuffled)
    assert contraction(parts, first).key == contraction(shuffled, [second[k] for k in order]).key


@quick
@given(factors, factors)
def test_contractions_with_one_name_have_one_value(parts, others):
    """Different sums are never named alike: checked with numpy, at n = 2 and 3."""
    variables = [fresh() for _ in range(5)]
    alike = contraction(parts, variables) == contraction(others, variables)
    rng = np.random.default_rng(3)
    for n in (2, 3):
        table = {name: rng.integers(-5, 6, (n, n)) for name in "bc"}
        assert not alike or _direct(parts, table, n) == _direct(others, table, n)


def _direct(parts, table, n):
    letters = "ijklm"
    terms = [letters[i] + letters[j] if i != j else letters[i] for _, i, j, _ in parts]
    arrays = [(table[name] if i != j else np.diag(table[name])) ** e for name, i, j, e in parts]
    missing = n ** len(set("ijklm") - set("".join(terms)))
    return int(np.einsum(",".join(terms) + "->", *[a.astype(object) for a in arrays], optimize=False)) * missing


def test_dummies_that_swap():
    """Σ_ij a_ij a_ji is not Σ_ij a_ij a_ij, with four dummies and more."""
    v = [fresh() for _ in range(6)]

    def chain(*pairs_):
        return contraction([("b", i, j, 1) for i, j in pairs_], v[:6])

    assert chain((0, 1), (1, 0)) != chain((0, 1), (0, 1))
    assert chain((0, 1), (1, 2), (2, 3), (3, 0)) == chain((3, 2), (0, 3), (2, 1), (1, 0))
    assert chain((0, 1), (1, 2), (2, 3), (3, 0)) != chain((0, 1), (1, 2), (2, 3), (0, 3))
    # Two triangles are not a hexagon, though each vertex has one edge in and one out.
    triangles = chain((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3))
    hexagon = chain((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0))
    assert triangles != hexagon
    assert triangles == chain((0, 2), (2, 4), (4, 0), (1, 3), (3, 5), (5, 1))


def test_a_captured_dummy():
    """Σ_i a_i · (Σ_i b_ii) keeps its two variables apart."""
    i = fresh()
    inner = sum_over(access("b", (of_var(i), of_var(i))), [(i, dimension("n"))])
    both = sum_over(access("a", (of_var(i),)) * inner, [(i, dimension("n"))])
    found = computed(both, ENTRY, {})
    trace = sum(ENTRY("b", (k, k)) for k in range(SIZES["n"]))
    total = sum(ENTRY("a", (k,)) for k in range(SIZES["n"]))
    assert found.overlaps(arb(fmpq(trace) * fmpq(total)))


def test_a_power_of_63_bits_is_not_factored():
    """1 − x^(2⁶³ − 1), which integers at the end of their range make: flint does not survive it."""
    assert factored(ONE - power(access("x", ()), 2**63 - 1)) is None
    assert factored(ONE - power(access("x", ()), 2)) is not None


def test_a_huge_power_of_a_number_ends_the_proof():
    with limited(steps=1000), pytest.raises(BudgetError):
        power(number(2), -(2**63) + 2)
