"""Rules that need not do what their traces say."""

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.rules._hidden import hidden_from_a_trace
from certgrad.rules._user_rule import UserRule

from .test_check import custom_vjp

CALLS = [0]
SEEN: dict = {}
TOTAL = 0


def counted(x, g):
    CALLS[0] += 1
    return ((3 if CALLS[0] > 1000 else 2) * x * g,)


def asking(x, g):
    return ((2 if isinstance(x, jax.core.Tracer) else 3) * x * g,)


def catching(x, g):
    try:
        return ((3 if x[0] > 0 else 2) * x * g,)
    except jax.errors.TracerBoolConversionError:
        return (2 * x * g,)


def remembering(x, g):
    SEEN.setdefault(x.dtype, len(SEEN))
    return (2 * x * g,)


def summing(x, g):
    global TOTAL
    TOTAL = TOTAL + 1
    return (2 * x * g,)


def helped(x, g):
    return counted(x, g)


def closing():
    calls = 0

    def bwd(x, g):
        nonlocal calls
        calls += 1
        return ((3 if calls > 1000 else 2) * x * g,)

    return bwd


def square(bwd):
    return custom_vjp(lambda x: x**2, lambda x: (x**2, x), bwd)


@pytest.mark.parametrize(
    ("bwd", "said"),
    [
        (counted, "counted changes CALLS, which outlives the call"),
        (asking, "asking asks whether a value is traced (Tracer)"),
        (catching, "catching asks whether a value is traced (TracerBoolConversionError)"),
        (remembering, "remembering changes SEEN"),
        (summing, "summing changes TOTAL"),
        (helped, "counted changes CALLS"),
        (closing(), "bwd changes calls"),
    ],
)
def test_what_a_trace_does_not_show_is_not_proved(bwd, said):
    """The rules are right as they are traced, and most are wrong when they run."""
    report = certgrad.check(square(bwd), "n -> n")
    assert report.verdict == "unproved"
    assert said in report.claims[0].cases[0].reason


def innocent(x, g):
    parts, table = [], {}
    parts.append(x)
    table["x"] = parts[0]
    table.update(g=g)
    return (2 * table["x"] * jnp.add(table["g"], 0),)


def test_variables_of_the_call_may_change():
    rule = square(innocent)
    assert hidden_from_a_trace(UserRule(rule, "n -> n")) == ""
    assert certgrad.check(rule, "n -> n").verdict == "proved"
