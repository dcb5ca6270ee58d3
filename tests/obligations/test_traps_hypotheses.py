"""Hypotheses: domains with alternatives, constraints of parameters, entailment, vacuity; and what the errors say."""

import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.errors import DomainError, RuleError, TraceError
from certgrad.obligations import audit
from tests.obligations.traps import Trap, declare

where = jnp.where


def by(forward, slope, **options):
    return declare("*s -> *s", forward, lambda x, g, **p: slope(x, **p) * g, **options)


def elu(x, *, alpha):
    return where(x > 0, x, alpha * (jnp.exp(x) - 1))


def elu_slope(x, *, alpha):
    return where(x > 0, 1.0, alpha * jnp.exp(x))


ALPHA = {"alpha": None}

DOMAINS = [
    Trap(
        "x != 0 or alpha == 1 does not allow alpha = 2 at 0",
        by(
            elu,
            lambda x, *, alpha: where(x == 0, 5.0, elu_slope(x, alpha=alpha)),
            domain="x != 0 or alpha == 1",
            params=ALPHA,
        ),
        at=(0.0,),
        numbers={"alpha": 1.0},
        verdict="unproved",
        right=by(elu, elu_slope, domain="x != 0 or alpha == 1", params=ALPHA),
        hypotheses={"x ≠ 0 or alpha = 1"},
    ),
    Trap(
        "a domain that is not the one needed: x > -1 for log",
        by(lambda x: jnp.log(x), lambda x: 1 / x, domain="x > -1"),
        at=(-0.5,),
        under={"x > 0"},
        right=by(lambda x: jnp.log(x), lambda x: 1 / x, domain="x > 0"),
        hypotheses={"x > 0", "x ≠ 0"},
        fine=(2.0,),
    ),
    Trap(
        "a closed domain: the rule is wrong on its boundary",
        by(lambda x: x * x, lambda x: where(x > 0, 2 * x, 1.0), domain="x >= 0"),
        at=(0.0,),
        verdict="refuted",
        right=by(lambda x: x * x, lambda x: where(x > 0, 2 * x, where(x == 0, 0.0, 7.0)), domain="x >= 0"),
        hypotheses={"x ≥ 0"},
        fine=(0.0,),
    ),
    Trap("a domain of squares", by(lambda x: x, lambda x: where(x > 1, 1.0, 2.0), domain="x*x > 1"), at=(-2.0,)),
    Trap(
        "x > y is not x > 0",
        declare(
            "*s, *s -> *s",
            lambda x, y: x + 0 * y,
            lambda x, y, dx, dy: where(x > 0, dx, 2 * dx),
            lambda x, y, g: (where(x > 0, g, 2 * g), 0 * g),
            domain="x > y",
        ),
        at=(-1.0, -2.0),
        right=declare(
            "*s, *s -> *s",
            lambda x, y: x + 0 * y,
            lambda x, y, dx, dy: where(x > y, dx, 2 * dx),
            lambda x, y, g: (where(x > y, g, 2 * g), 0 * g),
            domain="x > y",
        ),
        hypotheses={"x > y"},
        fine=(2.0, 1.0),
    ),
    Trap(
        "a hypothesis at i says nothing of j: a sum of terms that are not 0 can be 0",
        declare(
            "n -> n", lambda x: jnp.abs(x), lambda x, g: where(jnp.sum(x) == 0, 7.0, jnp.sign(x)) * g, domain="x != 0"
        ),
        at=([1.0, -1.0],),
        right=declare(
            "n -> n",
            lambda x: jnp.abs(x),
            lambda x, g: where(jnp.sum(x * x) == 0, 7.0, jnp.sign(x)) * g,
            domain="x != 0",
        ),
        hypotheses={"x ≠ 0"},
    ),
    Trap(
        "a product of terms that are not 0 is not 0",
        declare(
            "n -> ",
            lambda x: 1 / jnp.sum(x),
            lambda x, dx: -jnp.sum(dx) / jnp.sum(x) ** 2 + where(jnp.sum(x) < 0, 1.0, 0.0),
            lambda x, g: 0 * x - g / jnp.sum(x) ** 2,
            domain="x != 0",
        ),
        at=([-1.0, -2.0],),
        right=declare(
            "n -> ",
            lambda x: 1 / jnp.sum(x),
            lambda x, dx: -jnp.sum(dx) / jnp.sum(x) ** 2,
            lambda x, g: 0 * x - g / jnp.sum(x) ** 2,
            domain="x > 0",
        ),
        hypotheses={"(Σi x[i]) ≠ 0"},
        fine=([1.0, 2.0],),
    ),
]

CONSTRAINTS = [
    Trap(
        "eps > 0 does not make x + eps positive",
        by(lambda x, *, eps: jnp.log(x + eps), lambda x, *, eps: 1 / (x + eps), params={"eps": "eps > 0"}),
        at=(-2.0,),
        numbers={"eps": 0.5},
        under={"x > −eps"},
        right=by(
            lambda x, *, eps: jnp.log(x * x + eps), lambda x, *, eps: 2 * x / (x * x + eps), params={"eps": "eps > 0"}
        ),
        hypotheses=set(),
    ),
    Trap(
        "eps >= 0 does not bound away from 0",
        by(
            lambda x, *, eps: jnp.sqrt(x * x + eps),
            lambda x, *, eps: x / jnp.sqrt(x * x + eps),
            params={"eps": "eps >= 0"},
        ),
        at=(0.0,),
        numbers={"eps": 0.0},
        under={"x^2 > −eps"},
        right=by(
            lambda x, *, eps: jnp.sqrt(x * x + eps),
            lambda x, *, eps: x / jnp.sqrt(x * x + eps),
            params={"eps": "eps > 0"},
        ),
        fine=(),
    ),
    Trap(
        "right at the default only",
        by(lambda x, *, alpha: alpha * alpha * x, lambda x, *, alpha: alpha * 2.0 - 1.0, params=ALPHA),
        at=(1.0,),
        numbers={"alpha": 3.0},
        right=by(lambda x, *, alpha: alpha * alpha * x, lambda x, *, alpha: alpha**2, params=ALPHA),
    ),
    Trap(
        "right for alpha > 0 only",
        by(lambda x, *, alpha: alpha * x, lambda x, *, alpha: jnp.abs(alpha), params=ALPHA),
        at=(1.0,),
        numbers={"alpha": -1.0},
        right=by(lambda x, *, alpha: alpha * x, lambda x, *, alpha: jnp.abs(alpha), params={"alpha": "alpha >= 0"}),
        fine=(),
    ),
    Trap(
        "lo < hi is not lo <= 0 <= hi",
        by(lambda x, *, lo: jnp.maximum(x, lo), lambda x, *, lo: where(x > jnp.abs(lo), 1.0, 0.0), params={"lo": None}),
        at=(0.5,),
        numbers={"lo": -2.0},
        right=by(lambda x, *, lo: jnp.maximum(x, lo), lambda x, *, lo: where(x > lo, 1.0, 0.0), params={"lo": None}),
        hypotheses={"x ≠ lo"},
    ),
]


VACUOUS = {
    "x > 1 and x < 0": by(lambda x: x, lambda x: 5.0, domain=("x > 1", "x < 0")),
    "x > x": by(lambda x: x, lambda x: 5.0, domain="x > x"),
    "x*x < 0": by(lambda x: x, lambda x: 5.0, domain="x*x < 0"),
    "0 / 0 everywhere": by(lambda x: x, lambda x: 5.0 + (x - x) / (x - x)),
    "log of a negative square": by(lambda x: x, lambda x: 5.0 + 0 * jnp.log(-x * x)),
    "each pair of entries differs, also from itself": declare(
        "n -> n", lambda x: x, lambda x, g: g * 5.0 * jnp.sum(1 / (x[:, None] - x[None, :]) * 0 + 1, axis=1)
    ),
    "an index is not 0": declare("n -> n", lambda x: x, lambda x, g: 5 * g + 0 * g / jnp.arange(x.shape[0])),
    "n - 1 is not 0 and n is 1": declare(
        "n -> n", lambda x: x, lambda x, g: 5 * g + 0 * x / (x.shape[0] - 1.0) + 0 / (1 - 1 / x.shape[0])
    ),
}
"""Rows of the corpus."""


def test_an_impossible_domain_is_not_proved():
    certificate = audit(by(lambda x: x, lambda x: 1.0, domain=("x > 1", "x < 0")))
    reasons = [case.reason for claim in certificate.claims for case in claim.cases if case.verdict == "unproved"]
    assert all(c.verdict != "proved under hypotheses" for c in certificate.claims)
    assert not reasons or any("no point was found" in r for r in reasons)


# --- errors ---------------------------------------------------------------------------------------------------------


def on_square(jvp=lambda x, dx: 2 * x * dx, vjp=lambda x, g: 2 * x * g, forward=lambda x: x * x):
    return declare("n d -> n d", forward, jvp, vjp)


ERRORS = {
    "a jvp of the wrong shape": (on_square(jvp=lambda x, dx: jnp.sum(dx, axis=0)), RuleError, ["jvp", "(d)", "(n, d)"]),
    "a vjp of the wrong shape": (on_square(vjp=lambda x, g: g.T), RuleError, ["vjp", "(d, n)", "(n, d)"]),
    "too many cotangents": (on_square(vjp=lambda x, g: (g, g)), RuleError, ["vjp", "2 arrays", "1"]),
    "too few tangents": (on_square(jvp=lambda x, dx: ()), RuleError, ["jvp", "0 arrays"]),
    "another dtype": (
        on_square(jvp=lambda x, dx: (2 * x * dx).astype(jnp.int32)),
        RuleError,
        ["jvp", "int32", "dtype"],
    ),
    "a half precision cotangent": (
        on_square(vjp=lambda x, g: (2 * x * g).astype(jnp.float16)),
        RuleError,
        ["vjp", "float16"],
    ),
    "a forward that does not trace": (on_square(forward=lambda x: x + jnp.ones((3, 5))), TraceError, ["forward"]),
    "a forward of the wrong rank": (on_square(forward=lambda x: jnp.sum(x, axis=5)), TraceError, ["forward"]),
    "a rule that does not trace": (on_square(jvp=lambda x, dx: dx if x > 0 else -dx), TraceError, ["jvp"]),
    "a rule that wants a number": (on_square(vjp=lambda x, g: float(g[0, 0]) * x), TraceError, ["vjp"]),
    "an undecided order of sizes": (
        on_square(jvp=lambda x, dx: dx if x.shape[0] > 128 else 2 * dx),
        TraceError,
        ["jvp"],
    ),
    "a root of a size": (on_square(jvp=lambda x, dx: dx * float(x.shape[1]) ** -0.5), TraceError, ["jvp"]),
    "a domain that names nothing": (
        declare("n -> n", lambda x: x, lambda x, g: g, domain="z > 0"),
        DomainError,
        ["z > 0", "'z'"],
    ),
    "a domain that is no formula": (declare("n -> n", lambda x: x, lambda x, g: g, domain="x >"), DomainError, ["x >"]),
    "a domain that calls": (
        declare("n -> n", lambda x: x, lambda x, g: g, domain="__import__('os').getpid() > 0"),
        DomainError,
        ["not arithmetic"],
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_is_wrong(name):
    rule, kind, words = ERRORS[name]
    with pytest.raises(kind) as raised:
        audit(rule)
    text = str(raised.value)
    assert "\n" not in text
    for word in (*words, "trap"):
        assert word.lower() in text.lower(), text


def test_none_as_a_cotangent_is_not_proved():
    rule = declare("n, n -> n", lambda x, y: x * y, lambda x, y, dx, dy: dx * y + x * dy, lambda x, y, g: (g * y, None))
    with pytest.raises(RuleError, match="1 arrays"):
        audit(rule)


def test_a_captured_array_is_part_of_the_rule():
    table = np.array([1.0, 2.0])
    rule = declare("n -> n", lambda x: x, lambda x, g: g * table[0] + 0 * jnp.sum(jnp.asarray(table)))
    assert audit(rule).verdict in ("proved", "unproved")
