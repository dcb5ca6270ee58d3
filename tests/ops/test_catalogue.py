"""The registry has every row of the catalogue, with the status that TorchLean's op has there."""

import pytest

from certgrad.ops import registry
from certgrad.report.pages.torchlean import STATUS
from tests.ops.catalogue import CHAPTERS

ROWS = [(names, status) for rows in CHAPTERS.values() for names, status in rows]


@pytest.mark.parametrize("names, status", ROWS, ids=[names for names, _ in ROWS])
def test_row(names, status):
    for name in names.split():
        assert STATUS.get(registry.get(name).name) == status


def test_no_op_is_missing():
    """Every op of the library stands in a chapter, and every status is that of one."""
    listed = {registry.get(name).name for row, _ in ROWS for name in row.split()}
    assert listed == set(registry.names())
    assert STATUS.keys() <= listed


def test_no_op_stands_twice():
    names = [registry.get(name).name for row, _ in ROWS for name in row.split() if name == registry.get(name).name]
    assert len(names) == len(set(names))
