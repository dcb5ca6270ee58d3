"""Values and derivatives just beside a point, along its tangent, where numbers that are tied at the point are ordered.

Of two numbers that are equal at the point, the one that grows faster is greater right after it, and less right before.
A program whose comparisons are all decided so is smooth on that side; its value and its derivative at the point are the
limits from there.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Beyond(threading.local):
    side = 0
    """1 just after the point, −1 just before it; 0 at the point itself."""
    toward = 0
    """On which side of 0 the argument of the function that is differentiated lies, where it is 0 at the point."""


here = _Beyond()


@contextmanager
def beyond(side: int) -> Iterator[None]:
    before = here.side
    here.side = side
    try:
        yield
    finally:
        here.side = before


@contextmanager
def toward(side: int) -> Iterator[None]:
    before = here.toward
    here.toward = side
    try:
        yield
    finally:
        here.toward = before
