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
    """The side of 0 (1 or −1) on which the argument of a function lies just beside the point, where the argument is 0
    at the point; 0 where the side is not known."""


here = _Beyond()


@contextmanager
def beyond(side: int) -> Iterator[None]:
    """Decide comparisons inside the block as they are just after the point (`side` 1) or just before it (−1)."""
    before = here.side
    here.side = side
    try:
        yield
    finally:
        here.side = before


@contextmanager
def toward(side: int) -> Iterator[None]:
    """Take derivatives at 0 inside the block as limits from that side of 0 (1 or −1), such as that of |x|."""
    before = here.toward
    here.toward = side
    try:
        yield
    finally:
        here.toward = before
