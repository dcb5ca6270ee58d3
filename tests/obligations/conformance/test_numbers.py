"""The numbers that stand in code."""

import jax

from certgrad.obligations.conformance import in_code


@jax.custom_jvp
def wrapped(x: jax.typing.ArrayLike) -> jax.Array:
    return 7 * x


def test_annotations_of_what_is_wrapped_are_no_numbers_of_the_code():
    def calls(x):
        return wrapped(x) + 11

    assert in_code([calls]) == (11,)
