"""A package whose audits are remembered."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rules.cached_project import Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    found = Project(tmp_path, monkeypatch)
    yield found
    found.forget()
