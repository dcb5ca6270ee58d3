"""What an attack may leave behind is put right."""

import decimal
import gc
import sys
from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _collector_is_on() -> Iterator[None]:
    """Some attacks switch garbage collection off."""
    yield
    gc.enable()


@pytest.fixture(autouse=True)
def _settings_are_put_back() -> Iterator[None]:
    """Some attacks count their calls in settings of Python and numpy."""
    limit, options, threshold = sys.getrecursionlimit(), np.get_printoptions(), gc.get_threshold()
    with decimal.localcontext():
        yield
    sys.setrecursionlimit(limit)
    np.set_printoptions(**options)
    gc.set_threshold(*threshold)
    np.setbufsize(8192)
