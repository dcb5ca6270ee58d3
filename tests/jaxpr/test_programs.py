"""Programs are one by their equations: what prints alike need not be."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.jaxpr.programs import reaches_as_number, same_program


def traced(function):
    return jax.make_jaxpr(function)(jnp.zeros(2))


def held(values):
    table = np.asarray(values)
    return lambda x: x * table


def called_back(factor):
    def back(x):
        return factor * x

    return lambda x: jax.pure_callback(back, x, x)


PROGRAMS = {
    "a product": lambda x: 2.0 * x,
    "another factor": lambda x: 3.0 * x,
    "another operand": lambda x: x * x,
    "a sum": lambda x: 2.0 + x,
    "a table": held([1.0, 2.0]),
    "a table that prints alike": held([1.0, 2.0 + 1e-12]),
    "a program inside": jax.jit(lambda x: 2.0 * x),
    "another inside": jax.jit(lambda x: 3.0 * x),
    "a branch": lambda x: jax.lax.cond(x[0] > 0, jnp.sin, jnp.cos, x),
    "the branches exchanged": lambda x: jax.lax.cond(x[0] > 0, jnp.cos, jnp.sin, x),
    "a callback": called_back(1),
    "another callback": called_back(2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_itself_and_no_other(name):
    with jax.enable_x64(True):
        own = {other: traced(function) for other, function in PROGRAMS.items()}
        assert same_program(own[name], traced(PROGRAMS[name])) or "callback" in name  # those are made anew
        assert [other for other in own if same_program(own[name], own[other])] == [name]


@pytest.mark.parametrize(
    ("function", "reached"),
    [
        (lambda x: x * 2.0, True),
        (lambda x: jnp.where(x > 0, 1.0, 0.0), False),
        (lambda x: jnp.where(x, 1.0, 0.0), False),
        (jax.jit(lambda x: (x > 0).astype(float) * 3.0), False),
        (jax.jit(lambda x: x + 1.0), True),
        (lambda x: jnp.zeros(3)[jnp.argmax(x)], False),
        (lambda x: jax.lax.cond(True, lambda y: y, lambda y: y, x), True),
        (lambda x: jax.lax.cond(x[0] > 0, lambda: 1.0, lambda: 2.0), False),
        (lambda x: 1.0, False),
    ],
)
def test_what_is_only_compared_reaches_nothing_as_a_number(function, reached):
    assert reaches_as_number(traced(function).jaxpr, [True]) == [reached]
    assert reaches_as_number(traced(function).jaxpr, [False]) == [False]
