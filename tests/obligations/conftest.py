"""Of the calculus, what it proves and what it refutes is tested: what comes after that is left out."""

import pytest

COMPARED = ("auditing", "cache", "conformance", "generality", "tracing", "test_traps_hidden.py")
"""Where it is tested as well that what was traced is what happens."""


@pytest.fixture(scope="module", autouse=True)
def _calculus_alone(request: pytest.FixtureRequest) -> None:
    if not {*request.path.parts} & {*COMPARED}:
        request.getfixturevalue("proofs_alone")


@pytest.fixture(autouse=True)
def _verdicts(verdicts_alone: None) -> None:
    pass
