"""Edits of a proved rule: a size, a dtype, state or a table decides what the backward is."""

import jax.numpy as jnp

from tests.doors.examples import Variant, twins

CALLS = []


def times(factor):
    return lambda x, g: (factor(x) * x * g,)


def counted(x):
    CALLS.append(1)
    return 1.0 if len(CALLS) > 40 else 2.0


def two(x):
    return 2.0


at_a_size, wrong_at_a_size = twins("n -> n", jnp.square, times(two), times(lambda x: 1.0 if x.shape[0] == 9 else 2.0))
in_a_dtype, wrong_in_a_dtype = twins(
    "n -> n", jnp.square, times(two), times(lambda x: 1.0 if x.dtype == jnp.bfloat16 else 2.0)
)
after_calls, wrong_after_calls = twins("n -> n", jnp.square, times(two), times(counted))
of_a_table, wrong_of_a_table = twins("n -> n", jnp.square, times(two), times(lambda x: {9: 1.0}.get(x.shape[0], 2.0)))

VARIANTS = [Variant(rule, "n -> n", jnp.square) for rule in ("at_a_size", "in_a_dtype", "after_calls", "of_a_table")]
