"""Python's cyclic garbage collector, held back while much is made of which little is in cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Without cyclic collection: terms have no cycles, and scanning them all takes a fifth of an audit."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
