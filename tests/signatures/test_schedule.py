"""Shapes at which a case is evaluated: each once, none large, and all small sizes among them."""

from itertools import product
from math import prod
from random import Random

import pytest

from certgrad.ops import registry
from certgrad.signatures.schedule import ENOUGH, MAX_ENTRIES, entries, grid, shapes, smallest_first, uneven


@pytest.mark.parametrize("name", ["softmax", "matmul", "add", "max_pool1d", "conv2d"])
def test_each_shape_once_and_none_large(name: str) -> None:
    op = registry.get(name)
    for case in op.cases:
        found = smallest_first(case, shapes(op, case, Random(0), 2), grid(op, case), uneven(op, case))
        keys = [(tuple(one.sizes.items()), one.inputs) for one in found]
        assert len({*keys}) == len(keys) >= ENOUGH
        assert all(max(map(prod, one.inputs)) <= MAX_ENTRIES for one in found)
        assert [*map(entries, found)] == sorted(map(entries, found))


def test_all_sizes_up_to_a_number() -> None:
    op = registry.get("matmul")
    (case, *_) = op.cases
    found = {tuple(one.sizes[name] for name in case.names) for one in grid(op, case)}
    assert found == {*product((1, 2), repeat=len(case.names))}


def test_arguments_that_broadcast_have_no_sizes() -> None:
    op = registry.get("add")
    (case, *_) = op.cases
    assert [*grid(op, case), *uneven(op, case)] == []
    assert ((2, 1), (1, 3)) in [one.inputs for one in shapes(op, case, Random(0), 0)]
