"""Of the calculus, what it proves and what it refutes is tested: what comes after that is left out."""

from collections.abc import Iterator

import pytest

from certgrad.obligations.terms.session import clear_caches

COMPARED = ("auditing", "cache", "conformance", "generality", "tracing", "test_traps_hidden.py")
"""Where it is tested as well that what was traced is what happens."""


@pytest.fixture(scope="module", autouse=True)
def _calculus_alone(request: pytest.FixtureRequest) -> None:
    if not {*request.path.parts} & {*COMPARED}:
        request.getfixturevalue("proofs_alone")


@pytest.fixture(autouse=True)
def _verdicts(verdicts_alone: None) -> None:
    pass


@pytest.fixture
def own_terms() -> Iterator[None]:
    """The terms of a test are of a session of its own."""
    clear_caches()
    yield
    clear_caches()
