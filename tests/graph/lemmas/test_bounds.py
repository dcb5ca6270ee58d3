"""Where values can be: parts of the line cut at −1, 0 and 1, against every set of parts and numbers in them."""

from fractions import Fraction
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import ops
from certgrad.graph import certify, trace
from certgrad.graph.lemmas.bounds import (
    bounds_from_signs,
    conditions,
    facts,
    from_comparisons,
    holds,
    intersection,
    joined,
    of_array,
    of_selection,
    relation,
    side,
    sign,
)
from certgrad.obligations.assume.fact import Fact
from certgrad.obligations.assume.signs import ANY_SIGN, NEG, NONNEG, NONPOS, NONZERO, POS, ZERO
from certgrad.obligations.terms.polynomials import ONE

pytestmark = pytest.mark.usefixtures("proofs_alone")

NUMBERS = [Fraction(k, 2) for k in (-4, -3, -2, -1, 0, 1, 2, 3, 4)]
SIGNS = [NEG, ZERO, POS, NONNEG, NONPOS, NONZERO, ANY_SIGN]
CODES = sorted({bounds_from_signs(signs) for signs in product(SIGNS, repeat=3)} - {0})


def inside(where: int) -> set[Fraction]:
    return {x for x in NUMBERS if holds(x, where)}


def shift(fact: Fact) -> int:
    """What is added to x in a fact about it, which stands for 1 here."""
    return int(str(fact.poly.constant())) - 1


def signs_of(x: Fraction) -> int:
    return POS if x > 0 else NEG if x < 0 else ZERO


def test_a_sign_alone_is_that_sign() -> None:
    assert [bounds_from_signs((s, ANY_SIGN, ANY_SIGN)) for s in SIGNS] == SIGNS
    assert all(facts(ONE, s) == [] or facts(ONE, s)[0].signs == s for s in SIGNS)


def test_what_is_known_is_what_is_said() -> None:
    for signs in product(SIGNS, repeat=3):
        expected = {x for x in NUMBERS if all(s & signs_of(x - c) for s, c in zip(signs, (0, 1, -1), strict=True))}
        assert inside(bounds_from_signs(signs)) == expected


def test_facts_and_conditions_say_no_more_and_no_less() -> None:
    compared = {">": lambda a, b: a > b, "≥": lambda a, b: a >= b, "<": lambda a, b: a < b}
    compared |= {"≤": lambda a, b: a <= b, "≠": lambda a, b: a != b, "=": lambda a, b: a == b}
    for where in CODES:
        told = [text.split(" ") for text in conditions("x", where)]
        by_words = {x for x in NUMBERS if all(compared[w](x, int(n.replace("−", "-"))) for _, w, n in told)}
        assert by_words == inside(where)
        by_facts = {x for x in NUMBERS if all(f.signs & signs_of(x + shift(f)) for f in facts(ONE, where))}
        assert by_facts == inside(where)
        assert from_comparisons(conditions("x", where), ["x", "y"]) == (where, ANY_SIGN)
        assert len(told) == bin(bool(where & 7 != 7) + 2 * bool(where >> 3 & 7) + 4 * bool(where >> 6)).count("1")
    assert from_comparisons(["x > 2"], ["x"]) is None
    assert from_comparisons(["z > 0"], ["x"]) is None


@pytest.mark.slow
def test_joined_and_both() -> None:
    for a, b in product(CODES[::2], CODES[::3]):
        assert inside(joined(a, b)) >= inside(a) | inside(b)
        meet = inside(a) & inside(b)
        assert inside(intersection(a, b)) >= meet
    assert joined(
        bounds_from_signs((POS, NEG, ANY_SIGN)), bounds_from_signs((NEG, ANY_SIGN, POS))
    ) == bounds_from_signs((NONZERO, NEG, POS))


def test_selections_are_among_the_operands() -> None:
    for a, b in product(CODES[::5], CODES[::3]):
        for name, choose in (("max", max), ("min", min)):
            found = inside(of_selection(name, [a, b]))
            assert found >= {choose(x, y) for x in inside(a) for y in inside(b)}
        assert inside(of_selection("select_n", [ANY_SIGN, a, b])) >= inside(a) | inside(b)
        assert inside(of_selection("clamp", [a, b, ANY_SIGN])) >= {max(x, y) for x in inside(a) for y in inside(b)}
    assert of_selection("mul", [POS, POS]) == ANY_SIGN


def test_words() -> None:
    assert relation(POS) == "> 0"
    assert relation(bounds_from_signs((POS, NEG, ANY_SIGN))) == "in (0, 1)"
    assert relation(bounds_from_signs((ANY_SIGN, NONPOS, NONNEG))) == "in [−1, 1]"
    assert relation(bounds_from_signs((NONZERO, NEG, POS))) == "in (−1, 1) and ≠ 0"
    assert relation(bounds_from_signs((ANY_SIGN, ANY_SIGN, NONNEG))) == "≥ −1"
    assert relation(bounds_from_signs((ANY_SIGN, ZERO, ANY_SIGN))) == "= 1"
    assert relation(ANY_SIGN) == ""
    assert (side("in (0, 1)"), side("≥ 1"), side("< −1"), side("≠ 0")) == ("> 0", "> 0", "< 0", "≠ 0")
    assert side("in [−1, 1]") == side("≥ −1") == side("") == ""
    for where in CODES:
        assert side(relation(where)) in ("", f"{ {POS: '>', NEG: '<', NONZERO: '≠'}.get(sign(where)) } 0")


def test_arrays() -> None:
    assert relation(of_array([0.5, 1.0])) == "in (0, 1]"
    assert relation(of_array(np.array([-1, 0, 7]))) == "≥ −1 and ≠ 1"
    assert of_array([0.0, np.inf]) == of_array([True]) == ANY_SIGN
    for x in NUMBERS:
        assert inside(of_array([float(x)])) >= {x}


DISCHARGED = {
    "log of 1 - sigmoid": (lambda x: jnp.log(1 - jax.nn.sigmoid(x)), "n"),
    "log1p of -sigmoid": (lambda x: jnp.log1p(-ops.sigmoid(x)), "n"),
    "logit of sigmoid": (lambda x: jax.scipy.special.logit(jax.nn.sigmoid(x)), "n"),
    "atanh of tanh": (lambda x: jnp.arctanh(jnp.tanh(x)), "n"),
    "root of 1 - tanh²": (lambda x: jnp.sqrt(1 - jnp.tanh(x) ** 2), "n"),
    "acos of 0.9 tanh": (lambda x: jnp.arccos(0.9 * jnp.tanh(x)), "n"),
    "log of 1.5 + sin": (lambda x: jnp.log(1.5 + jnp.sin(x)), "n"),
    "a mixture": (lambda x, a: jnp.log(jax.nn.sigmoid(x) * jnp.exp(a) + 1 - jax.nn.sigmoid(x)), "n", "n"),
    "where of sigmoids": (lambda x, m: jnp.log(1 - jnp.where(m, jax.nn.sigmoid(x), 0.5)), "n", "n:bool"),
    "softmax": (lambda x: jnp.log(jax.nn.softmax(x)), "n d"),
    "masked mean": (lambda x, m: jnp.sum(x * m) / jnp.maximum(jnp.sum(m), 1), "n", "n:bool"),
    "a constant": (lambda x: x * jnp.log(1 - jnp.array([0.2, 0.9])), "2"),
    "through a loop": (lambda x: jax.lax.scan(lambda c, r: (jax.nn.sigmoid(c + r), jnp.log1p(-c)), 0.5, x)[1], "n"),
}
KEPT = {
    "0.5 - sigmoid": (lambda x: jnp.log(0.5 - jax.nn.sigmoid(x)), "n"),
    "1 - 2 sigmoid": (lambda x: jnp.log(1 - 2 * jax.nn.sigmoid(x)), "n"),
    "tanh": (lambda x: jnp.log(jnp.tanh(x)), "n"),
    "acos of 2 tanh": (lambda x: jnp.arccos(2 * jnp.tanh(x)), "n"),
    "1 - exp": (lambda x: jnp.log(1 - jnp.exp(x)), "n"),
    "1 - softmax": (lambda x: jnp.log(1 - jax.nn.softmax(x)), "n d"),
    "0.5 + sin": (lambda x: jnp.log(0.5 + jnp.sin(x)), "n"),
    "cos": (lambda x: 1 / jnp.cos(x), "n"),
    "a mask's count": (lambda x, m: jnp.sum(x) / jnp.sum(m), "n", "n:bool"),
    "where of one sigmoid": (lambda x, m: jnp.log(1 - jnp.where(m, jax.nn.sigmoid(x), x)), "n", "n:bool"),
    "a constant": (lambda x: x * jnp.log(x + jnp.array([0.2, 0.9])), "2"),
    "a loop that starts at 1": (
        lambda x: jax.lax.scan(lambda c, r: (jax.nn.sigmoid(c + r), jnp.log1p(-c * r)), 1.0, x)[1],
        "n",
    ),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", DISCHARGED)
def test_a_fact_discharges(name: str) -> None:
    fn, *specs = DISCHARGED[name]
    certificate = certify(trace(fn, *specs))
    assert certificate.verdict == "proved", [h.text for h in certificate.hypotheses]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", KEPT)
def test_a_fact_that_does_not_hold_discharges_nothing(name: str) -> None:
    fn, *specs = KEPT[name]
    certificate = certify(trace(fn, *specs))
    assert certificate.verdict in ("proved under hypotheses", "unproved")
    assert certificate.hypotheses
