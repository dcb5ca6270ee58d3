"""Flat programs: what is the same is computed once, what differs is not taken for the same, no step is needless."""

from typing import Any

import jax
import jax.numpy as jnp

from certgrad.exports._flat import Flat, flatten, split_program
from certgrad.obligations.tracing.jax_internals import program_of


def flat(fn: Any, *args: Any) -> Flat:
    return flatten(program_of(jax.make_jaxpr(fn)(*args)))


def names(program: Flat) -> list[str]:
    return [step.primitive for step in program.steps]


X = jnp.ones((3, 4))


def test_calls_are_walked_into_and_what_is_the_same_is_computed_once() -> None:
    assert names(flat(lambda x: jax.jit(jnp.sin)(x) + jax.nn.relu(jnp.sin(x)), X)) == ["sin", "max", "add"]


def test_steps_that_differ_in_a_parameter_or_a_dtype_are_two() -> None:
    assert names(flat(lambda x: (x.sum(0)[:3], x.sum(1)), X)).count("reduce_sum") == 2
    assert names(flat(lambda x: x.astype(jnp.int32) + x.astype(jnp.int8), X)).count("convert_element_type") == 3


def test_what_no_output_needs_is_left_out() -> None:
    assert names(flat(lambda x: (jnp.cos(x), x * 2)[1], X)) == ["mul"]


def test_a_scatter_that_applies_a_function_is_none_that_writes() -> None:
    assert "scatter" in names(flat(lambda x: x.at[1].set(2.0), X))
    assert "scatter_apply" in names(flat(lambda x: x.at[jnp.array([1, 2])].apply(jnp.sin), X))


def test_a_split_program_hands_on_what_depends_on_the_first_inputs() -> None:
    def fn(x: Any, seed: Any) -> Any:
        scale = jnp.arange(4.0) + 1
        return jnp.tanh(x) * scale, seed * (1 - jnp.tanh(x) ** 2) * scale

    forward, backward, left = split_program(flat(fn, X, X), 1, 1)
    assert names(forward) == ["iota", "add", "tanh", "broadcast_in_dim", "mul", "integer_pow", "sub"]
    assert names(backward) == ["iota", "add", "broadcast_in_dim", "mul", "mul"]
    assert len(left) == 1
