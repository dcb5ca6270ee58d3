"""Double precision for the comparisons that need it."""

import jax
import pytest


@pytest.fixture
def x64():
    """The test runs in double precision."""
    with jax.enable_x64(True):
        yield
