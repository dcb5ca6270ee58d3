"""Compiled graphs are tested, and what is certified of them is compared with what happens in tests/graph."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def _proofs(proofs_alone: None) -> None:
    pass
