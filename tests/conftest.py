"""What holds for all tests."""

import gc
from collections import Counter
from collections.abc import Iterator

import jax
import pytest


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests marked `gpu` are skipped, with the reason, where JAX sees no GPU."""
    if item.get_closest_marker("gpu") is not None and jax.default_backend() != "gpu":
        pytest.skip(f"JAX sees no GPU here; it runs on {jax.default_backend()}")


def pytest_collection_finish() -> None:
    """What was imported stays until the end: the collector, which took a tenth of the time, need not go through it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


@pytest.fixture(autouse=True)
def _width_is_left_alone() -> Iterator[None]:
    """No test, and nothing that it calls, leaves JAX's 64-bit numbers on or off for those that come after."""
    before = jax.config.read("jax_enable_x64")
    yield
    after = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", before)
    assert after == before, "64-bit numbers were left on or off"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`one_in(n)`: of a test's cases every n-th runs by default, and the others with `-m slow`."""
    seen: Counter[str] = Counter()
    for item in items:
        marker = item.get_closest_marker("one_in")
        if marker is not None and item.get_closest_marker("slow") is None:
            name = item.nodeid.partition("[")[0]
            if seen[name] % marker.args[0]:
                item.add_marker(pytest.mark.slow)
            seen[name] += 1
