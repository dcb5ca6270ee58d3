"""Double precision for the comparisons that need it, and programs that compile quickly."""

import jax
import pytest


@pytest.fixture
def x64():
    """The test runs in double precision."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(autouse=True, scope="package")
def quick_compilation():
    """These programs run once: compiling them without most optimisations takes less time than it saves."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
