"""What is recorded of the questions that tracing asks of a dimension: what the code asks, and not what a cache does."""

import jax
import jax.numpy as jnp
from jax.core import ShapedArray

from certgrad.obligations.generality.decisions import rendering
from certgrad.obligations.tracing.jax_internals import program_of, serialised, symbols
from certgrad.obligations.tracing.jax_internals._tracing import recorded_decisions
from certgrad.signatures.sizes import integer_size, named_size, parse_size


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


def test_sizes_inside_of_quotients_are_set_too():
    dims = symbols(["n", "b"])
    half = dims["n"] // 2 + 1
    assert rendering({"n": named_size("b")})(half) == rendering({})(dims["b"] // 2 + 1)
    assert rendering({"n": integer_size(5)})(half) == "3"
    assert rendering({"n": parse_size("2*b")})(half) == rendering({})(half)  # not known
    assert rendering({"b": named_size("n")})(half) == rendering({})(half)


def test_integers_times_1_and_plus_0_are_those_integers():
    def text(f, dtype):
        program = program_of(jax.make_jaxpr(f)(jax.ShapeDtypeStruct((3,), dtype)))
        return serialised(program, fold_sizes=True)

    plain = text(lambda x: x * x, jnp.int32)
    assert text(lambda x: (0 + 1 * x) * (x + 0), jnp.int32) == plain
    assert text(lambda x: (1 + 1 * x) * (x + 0), jnp.int32) != plain
    assert text(lambda x: (0 * x) * x, jnp.int32) != plain
    assert text(lambda x: (0.0 + x) * x, jnp.float32) != text(lambda x: x * x, jnp.float32)  # −0 + 0 is 0
