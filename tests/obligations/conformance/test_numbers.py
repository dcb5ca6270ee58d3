"""The numbers that stand in code."""

import jax

from certgrad.obligations.conformance._at_numbers import chosen
from certgrad.obligations.generality.in_code import in_code
from certgrad.signatures.sizes import parse_size


@jax.custom_jvp
def wrapped(x: jax.typing.ArrayLike) -> jax.Array:
    return 7 * x


def test_annotations_of_what_is_wrapped_are_no_numbers_of_the_code():
    def calls(x):
        return wrapped(x) + 11

    assert in_code([calls]) == (11,)


def test_numbers_of_the_code_stand_at_each_dimension():
    assert chosen(["n"], [], []) == [{"n": 2}]
    assert chosen(["n"], [], [17]) == [{"n": 17}, {"n": 3}]
    assert chosen(["n", "d"], [], [17]) == [{"n": 17, "d": 3}, {"n": 3, "d": 17}]
    assert chosen(["n"], [], [2, 17, 128]) == [{"n": 17}, {"n": 128}]


def test_sizes_that_the_code_asks_about_come_first():
    assert chosen(["n"], [{"n": parse_size("128*n")}], [17]) == [{"n": 256}, {"n": 3}]
    assert chosen(["n", "d"], [{"d": parse_size("n")}], []) == [{"n": 2, "d": 2}, {"n": 3, "d": 1}]


def test_one_dimension_at_most_is_large():
    assert chosen(["n", "d"], [], [1000, 2000])[0] == {"n": 1000, "d": 3}
