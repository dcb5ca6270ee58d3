"""What loggers of other packages say, and nobody is to hear."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet(name: str, below: int = logging.CRITICAL + 1) -> Iterator[None]:
    """Of that logger, what is less grave than that level is not heard; everything, where none is given."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(below)
    try:
        yield
    finally:
        logger.setLevel(before)
