"""A rule that is right at the defaults of its arguments alone is refuted at another value, and a right one is not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest

import certgrad


class Tuple(NamedTuple):
    gamma: float = 2.0
    mean: bool = True


@dataclass(frozen=True)
class Config:
    power: int = 2
    gamma: float = 3.0


TUPLE, CONFIG = Tuple(), Config()


def relu_or(x, kind="relu"):
    return jnp.maximum(x, 0) if kind == "relu" else jnp.tanh(x)


CASES: dict[str, tuple[Any, Any, Any]] = {
    "an integer": (lambda x, p=3: x**p, lambda p, x, g: (g * p * x ** (p - 1),), lambda p, x, g: (g * 3 * x**2,)),
    "a shift": (
        lambda x, k=1: jnp.roll(x, k, 1),
        lambda k, x, g: (jnp.roll(g, -k, 1),),
        lambda k, x, g: (jnp.roll(g, -1, 1),),
    ),
    "a number": (lambda x, t=0.07: x / t, lambda t, x, g: (g / t,), lambda t, x, g: (g / 0.07,)),
    "a word": (
        relu_or,
        lambda k, x, g: (g * (x > 0) if k == "relu" else g * (1 - jnp.tanh(x) ** 2),),
        lambda k, x, g: (g * (x > 0),),
    ),
    "a field of a NamedTuple": (
        lambda x, c=TUPLE: (jnp.mean if c.mean else jnp.sum)(c.gamma * x**2),
        lambda c, x, g: (g * 2 * c.gamma * x / (x.size if c.mean else 1),),
        lambda c, x, g: (g * 2 * c.gamma * x / x.size,),
    ),
    "a field of a dataclass": (
        lambda x, c=CONFIG: c.gamma * x**c.power,
        lambda c, x, g: (g * c.gamma * c.power * x ** (c.power - 1),),
        lambda c, x, g: (g * c.gamma * 2 * x,),
    ),
}


def made(function: Any, backward: Any) -> Any:
    rule = partial(jax.custom_vjp, nondiff_argnums=(1,))(function)
    rule.defvjp(lambda x, value: (function(x, value), x), backward)
    return rule


@pytest.mark.parametrize("what", CASES)
def test_a_rule_that_is_right_at_its_default_alone(what: str) -> None:
    function, right, wrong = CASES[what]
    found = certgrad.check(made(function, wrong), "n d", conformance=False)
    assert found.verdict == "refuted"
    case = found.certificate.claims[0].cases[0]
    assert case.statics  # the value at which it is wrong
    assert re.search(r"^likely cause: right where \w+ = .+, the default$", case.reason, re.MULTILINE)
    assert certgrad.check(made(function, right), "n d", conformance=False).verdict.startswith("proved")


def test_where_nothing_comes_of_another_value_the_claim_is_about_the_default() -> None:
    """At other values the function fails, or the rule does, and nobody says that these are meant."""

    def power(x, p=2, mode="exact"):
        assert (p, mode) == (2, "exact")
        return x**2

    rule = partial(jax.custom_vjp, nondiff_argnums=(1, 2))(power)
    rule.defvjp(lambda x, p, mode: (power(x, p, mode), x), lambda p, mode, x, g: (g * 2 * x,))
    found = certgrad.check(rule, "n", conformance=False)
    assert found.verdict == "proved"
    assert found.left_out == ()
