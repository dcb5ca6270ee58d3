"""Comparisons that a monotone function relates: what one is brought to has its sign, wherever the assumptions hold."""

from fractions import Fraction
from itertools import product

import jax
import jax.numpy as jnp
import pytest
from flint import fmpq

import certgrad
from certgrad.obligations.assume.fact import Fact
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import NEG, NONNEG, POS
from certgrad.obligations.decide.cases import Region, nonzero_part
from certgrad.obligations.decide.evaluate import evaluate
from certgrad.obligations.laws.monotone import compared, compared_facts
from certgrad.obligations.terms.atoms import access
from certgrad.obligations.terms.functions import UndecidedError
from certgrad.obligations.terms.polynomials import ONE, number
from certgrad.obligations.terms.power import UndefinedTermError, exp_of, fn, log_of, power, pred
from certgrad.obligations.terms.session import clear_caches
from certgrad.obligations.terms.variables import template

HALF = Fraction(1, 2)
POINTS = [Fraction(k, 4) for k in (-9, -4, -3, -1, 0, 1, 2, 3, 4, 5, 9, 16)]
ASSUMED = {
    "": lambda x, y: [],
    "x>0": lambda x, y: [(x, POS)],
    "x<0,y<0": lambda x, y: [(x, NEG), (y, NEG)],
    "x>=0,y>=0": lambda x, y: [(x, NONNEG), (y, NONNEG)],
    "x>0,y>0": lambda x, y: [(x, POS), (y, POS)],
    "|x|<1,|y|<1": lambda x, y: [(ONE - x, POS), (ONE + x, POS), (ONE - y, POS), (ONE + y, POS)],
    "|x|<=1,|y|<=1": lambda x, y: [(ONE - x, NONNEG), (ONE + x, NONNEG), (ONE - y, NONNEG), (ONE + y, NONNEG)],
    "x>1": lambda x, y: [(x - ONE, POS)],
}


def n(c):
    return number(c)


COMPARISONS = {
    "log x > 2": (lambda x, y: log_of(x) - n(2), ["x>0", "x>0,y>0", "x>1"]),
    "y > log 3": (lambda x, y: y - log_of(n(3)), [""]),
    "−y > log 3": (lambda x, y: -y - log_of(n(3)), [""]),
    "log x > log y": (lambda x, y: log_of(x) - log_of(y), ["x>0,y>0"]),
    "2 log x > y/3 − 1": (lambda x, y: log_of(x).scale(2) - y.scale(fmpq(1, 3)) + ONE, ["x>0", "x>1"]),
    "exp x > exp y": (lambda x, y: exp_of(x) - exp_of(y), [""]),
    "exp(−x) > 1": (lambda x, y: exp_of(-x) - ONE, [""]),
    "exp(x − y) > exp(2x)": (lambda x, y: exp_of(x - y).scale(3) - exp_of(x.scale(2)).scale(3), [""]),
    "y³ (exp x − 1)": (lambda x, y: y * y * y * (exp_of(x) - ONE), ["x>0,y>0", "x<0,y<0"]),
    "(exp x − exp y)/y": (lambda x, y: (exp_of(y) - exp_of(x)).scale(-2) * power(y, -1), ["x>0,y>0", "x<0,y<0"]),
    "exp x > 2 exp y": (lambda x, y: exp_of(x) - exp_of(y).scale(2), []),
    "exp x + exp y": (lambda x, y: exp_of(x) + exp_of(y), []),
    "x exp x > exp y": (lambda x, y: x * exp_of(x) - exp_of(y), []),
    "log(1 + x²) > y": (lambda x, y: log_of(ONE + x * x) - y, [""]),
    "asinh x > y": (lambda x, y: fn("asinh", x) - y, [""]),
    "atanh x > 1/3": (lambda x, y: fn("atanh", x) - n(Fraction(1, 3)), ["|x|<1,|y|<1"]),
    "acosh x > 1": (lambda x, y: fn("acosh", x) - ONE, ["x>1"]),
    "√x > 2": (lambda x, y: power(x, HALF) - n(2), ["x>0", "x>=0,y>=0", "x>1"]),
    "√x > √y": (lambda x, y: power(x, HALF) - power(y, HALF), ["x>=0,y>=0", "x>0,y>0"]),
    "x > √y": (lambda x, y: x - power(y, HALF), ["x>=0,y>=0", "x>0,y>0"]),
    "−y √x": (lambda x, y: -(y * power(x, HALF)), ["x>0", "x>=0,y>=0", "x>0,y>0", "x>1"]),
    "y³ √x √(x + 1)": (lambda x, y: y * y * y * power(x, HALF) * power(x + ONE, HALF), ["x>0,y>0"]),
    "√x + √y": (lambda x, y: power(x, HALF) + power(y, HALF), []),
    "1/√x > y": (lambda x, y: power(x, -HALF) - y, ["x>0,y>0"]),
    "atan x > atan y": (lambda x, y: fn("atan", x) - fn("atan", y), [""]),
    "atan x + atan y": (lambda x, y: fn("atan", x) + fn("atan", y), [""]),
    "erf x < erf y": (lambda x, y: fn("erf", y) - fn("erf", x), [""]),
    "asin x > asin y": (lambda x, y: fn("asin", x) - fn("asin", y), ["|x|<1,|y|<1", "|x|<=1,|y|<=1"]),
    "acos x > acos y": (lambda x, y: fn("acos", x) - fn("acos", y), ["|x|<1,|y|<1", "|x|<=1,|y|<=1"]),
    "acos x + acos y": (lambda x, y: fn("acos", x) + fn("acos", y), []),
    "erf_inv x > erf_inv y": (lambda x, y: fn("erf_inv", x) - fn("erf_inv", y), ["|x|<1,|y|<1"]),
    "cbrt x > cbrt y": (lambda x, y: fn("cbrt", x) - fn("cbrt", y), [""]),
    "sin x > sin y": (lambda x, y: fn("sin", x) - fn("sin", y), []),
    "atan x > 2 atan y": (lambda x, y: fn("atan", x) - fn("atan", y).scale(2), []),
    "x log y": (lambda x, y: x * log_of(y) - ONE, []),
}


@pytest.fixture(autouse=True)
def _terms():
    """Terms of this test alone."""
    clear_caches()


def entries():
    return access("x", ()), access("y", ())


def holding(name):
    for values in product(POINTS, repeat=2):
        given = [(p.constant(), s) for p, s in ASSUMED[name](*(number(v) for v in values))]
        if all((POS if c > 0 else NEG if c < 0 else NONNEG & ~POS) & s for c, s in given):
            yield values


def sign(poly, x, y):
    at = {"x": fmpq(x.numerator, x.denominator), "y": fmpq(y.numerator, y.denominator)}
    found = evaluate(poly, {}, lambda t, _: at[t])
    assert found.is_finite(), "it has no value there"
    return 1 if found > 0 else -1 if found < 0 else 0  # a ball around 0 is 0 here: the points make no near misses


@pytest.mark.one_in(2)
@pytest.mark.parametrize("comparison", COMPARISONS)
def test_the_sign_stays(comparison) -> None:
    form, wanted = COMPARISONS[comparison]
    poly = form(*entries())
    for name in ASSUMED:
        found = compared(poly, Facts(Fact(p, s) for p, s in ASSUMED[name](*entries())))
        assert found != poly or name not in wanted, (comparison, name)
        if found == poly:
            continue
        for x, y in holding(name):
            if comparison == "1/√x > y" and x == 0:
                continue
            assert sign(poly, x, y) == sign(found, x, y), (comparison, name, x, y)


def test_what_is_not_shown_to_be_defined_stays() -> None:
    x, y = entries()
    for poly in (log_of(x) - log_of(y), power(x, HALF) - power(y, HALF), fn("asin", x) - fn("asin", y)):
        assert compared(poly, Facts()) == poly
        assert compared(poly, Facts([Fact(x, POS)])) == poly


def test_a_fact_about_all_entries_is_brought_there_by_facts_about_all() -> None:
    """x[i] > 0 at this i says nothing of log x[j] > 1 for all j."""
    one = access("x", (template_index(),))
    everywhere = Fact(log_of(one) - ONE, POS)
    here = Fact(one, POS, universal=False)
    assert compared_facts(Facts([everywhere, here])) == []
    assert [f.universal for f in compared_facts(Facts([everywhere, Fact(one, POS)]))] == [True]


def template_index():
    from certgrad.obligations.terms.index import of_var

    return of_var(template(0))


def test_comparisons_are_one_where_they_are_decided() -> None:
    x, y = entries()
    region = Region(Facts())
    same = pred(exp_of(x) - number(Fraction(7, 5))) - pred(x - log_of(number(Fraction(7, 5))))
    assert nonzero_part(same * y, region) is None
    other = pred(exp_of(x) - number(Fraction(7, 5))) - pred(x - log_of(number(Fraction(6, 5))))
    assert nonzero_part(other * y, region) is not None
    roots = pred(power(x, HALF) - power(y, HALF)) - pred(x - y)
    assert nonzero_part(roots, region) is not None
    assert nonzero_part(roots, Region(Facts([Fact(x, POS), Fact(y, POS)]))) is None


def test_the_sign_of_what_has_a_root() -> None:
    """u + w with w² − u² of a known sign."""
    x, y = entries()
    root = power(ONE + x * x, HALF)
    none = Facts()
    assert none.signs(root + x) == POS
    assert none.signs(x - root) == NEG
    assert none.signs(x.scale(2) - root) == 7
    assert Facts([Fact(x, POS)]).signs(x.scale(-2) - y.scale(0) + power(x * x, HALF)) == NEG
    radius = power(x * x + y * y, HALF)
    assert none.signs(radius - y) == NONNEG
    assert Facts([Fact(x, POS)]).signs(radius - y) == POS
    assert none.signs(power(x, HALF) - y) == 7


def test_what_is_undefined_is_no_comparison() -> None:
    with pytest.raises(UndefinedTermError):
        log_of(number(-1))
    x, y = entries()
    with pytest.raises((UndecidedError, AssertionError)):
        sign(log_of(x) - y, Fraction(-1), Fraction(0))


def normalised(guard):
    """x / (|x| + 1/2), with the norm that its backward divides by behind a guard."""
    norm = lambda x: jnp.sqrt(jnp.sum(x * x, -1, keepdims=True))
    rule = jax.custom_vjp(lambda x: x / (norm(x) + 0.5))

    def bwd(x, g):
        n = norm(x)
        m = n + 0.5
        return (g / m - x * jnp.sum(g * x, -1, keepdims=True) / (m * m * guard(n)),)

    rule.defvjp(lambda x: (rule(x), x), bwd)
    return rule


GUARDS = {
    "n = 0": (lambda n: jnp.where(n == 0, 1.0, n), "proved under hypotheses"),
    "n > 0": (lambda n: jnp.where(n > 0, n, 1.0), "proved under hypotheses"),
    "another norm": (lambda n: jnp.where(n == 0, 1.0, n + 0.5), "refuted"),
    "half of it": (lambda n: jnp.where(n > 0, n / 2, 1.0), "refuted"),
    "below 1 as well": (lambda n: jnp.where(n > 1, n, 1.0), "refuted"),
}


@pytest.mark.parametrize("guard", GUARDS)
def test_a_guard_of_a_norm_is_one_of_its_square(guard) -> None:
    of, verdict = GUARDS[guard]
    assert certgrad.check(normalised(of), "n d").verdict == verdict
