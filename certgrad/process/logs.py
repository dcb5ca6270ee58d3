"""Silencing loggers of other packages."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet(name: str, below: int = logging.CRITICAL + 1) -> Iterator[None]:
    """Silence a logger's messages below a level inside the block; by default, all its messages."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(below)
    try:
        yield
    finally:
        logger.setLevel(before)
