"""What is recorded of the questions that tracing asks of a dimension: what the code asks, and not what a cache does."""

import jax.numpy as jnp
from jax.core import ShapedArray

from certgrad.obligations.tracing.jax_internals import symbols
from certgrad.obligations.tracing.jax_internals._tracing import recorded_decisions


def test_what_the_table_of_types_compares_by_chance_is_no_question():
    n = symbols(["n"])["n"]
    with recorded_decisions() as record:
        kept = [ShapedArray((k,), jnp.float32) for k in range(2, 3000)]
        for _ in range(20):  # a shape with a symbol is looked up among them
            kept.append(ShapedArray((n + len(kept), n), jnp.float32))
            kept.append(ShapedArray((n + len(kept),), jnp.float32).to_tangent_aval())
        assert not [(a, b) for a, b, _ in record if isinstance(b, int) and b > 1]


def test_what_code_compares_is_a_question():
    n = symbols(["n"])["n"]
    with recorded_decisions() as record:
        assert (n == 7) is False
        assert ((n,) == (5,)) is False
        assert 3 not in (n,)
    assert [b for _, b, _ in record] == [7, 5, 3]
