"""The sign bit of a float is [x < 0] where x is not 0: right rules are proved, their wrong twins refuted."""

import jax
import jax.numpy as jnp
import pytest

from certgrad import check
from certgrad.obligations.tracing.jax_internals import is_sign_bit


def rule(function, slope):
    f = jax.custom_jvp(function)
    f.defjvp(lambda primals, tangents: (function(*primals), slope(*primals) * tangents[0]))
    return f


@pytest.mark.slow
def test_a_modulus_by_its_sign_bit_is_proved_where_there_is_one():
    modulus = rule(lambda x: jnp.where(jnp.signbit(x), -x, x), jnp.sign)
    report = check(modulus, "n")
    assert report.verdict == "proved under hypotheses"
    assert {h.text for claim in report.claims for h in claim.hypotheses} == {"x ≠ 0"}


def test_the_wrong_twin_is_not_proved():
    wrong = rule(lambda x: jnp.where(jnp.signbit(x), -x, x), jnp.ones_like)
    assert check(wrong, "n").verdict in ("refuted", "unproved")


def equation(function):
    return jax.make_jaxpr(function)(jnp.ones(3)).eqns[0]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (jnp.signbit, True),
        (lambda x: jax.jvp(jnp.signbit, (x,), (x,))[0], True),
        (jax.jit(lambda x: x > 0), False),
    ],
)
def test_it_is_recognised_by_its_program(function, expected):
    assert is_sign_bit(equation(function)) is expected


def test_a_program_of_its_name_is_no_sign_bit():
    def signbit(x):
        return x > 0

    assert not is_sign_bit(equation(jax.jit(signbit)))
