"""What an attack may leave behind is put right."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _collector_is_on() -> Iterator[None]:
    """Some attacks switch garbage collection off."""
    yield
    gc.enable()
