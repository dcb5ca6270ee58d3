"""The numbers that stand in code."""

from itertools import combinations

import jax
import pytest

from certgrad.obligations.conformance import in_code
from certgrad.obligations.conformance._numbers import together


@jax.custom_jvp
def wrapped(x: jax.typing.ArrayLike) -> jax.Array:
    return 7 * x


def test_annotations_of_what_is_wrapped_are_no_numbers_of_the_code():
    def calls(x):
        return wrapped(x) + 11

    assert in_code([calls]) == (11,)


@pytest.mark.parametrize(("names", "ways", "more"), [("ab", 4, False), ("abcd", 51, False), ("abcde", 52, True)])
def test_sizes_are_each_other_and_1_in_all_ways(names, ways, more):
    """As many as there are partitions of the sizes and 1, less the one in which all differ."""
    found, left = together(names, [*((n, "1") for n in names), *combinations(names, 2)])
    assert len({tuple(sizes.values()) for sizes in found}) == ways
    assert left == more
    assert {"a": 1, "b": 1} in found if names == "ab" else found[0] == dict(zip(names, (1, 5, 7, 9, 11), strict=False))
