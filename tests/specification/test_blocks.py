"""Axes of two shapes, in the shortest runs of equal size."""

import pytest

from certgrad.language.tree import Integer, Node, Size
from certgrad.specification.blocks import Blocks, blocks

N, M, K = map(Size, "nmk")
ONE, TWO, THREE = map(Integer, (1, 2, 3))


@pytest.mark.parametrize(
    "old, new, found",
    [
        ((N, M, K), (N, M * K), [([0], [0]), ([1, 2], [1])]),
        ((N * M, K), (N, M, K), [([0], [0, 1]), ([1], [2])]),
        ((N, ONE, M), (ONE, N, M), [([0], [1]), ([2], [2])]),
        ((N, M), (M, N), [([0, 1], [0, 1])]),
        ((N * TWO, M), (TWO, M * N), [([0, 1], [0, 1])]),
        (((N + ONE) * M, THREE), (N * M + M, THREE), [([0], [0]), ([1], [1])]),
        ((N, M, TWO * THREE), (M * N, THREE, TWO), [([0, 1], [0]), ([2], [1, 2])]),
        ((N // TWO, TWO, M), ((N // TWO) * TWO, M), [([0, 1], [0]), ([2], [1])]),
        ((N, M), (N, K), [([0], [0]), ([1], [1])]),
        ((ONE, ONE), (), []),
    ],
)
def test_blocks(old: tuple[Node, ...], new: tuple[Node, ...], found: Blocks) -> None:
    assert blocks(old, new) == found
