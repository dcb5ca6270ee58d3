"""Coq is optional: where `coqc` is missing, these tests say so and are skipped."""

import shutil

import pytest

from certgrad.coq import INSTALL, Kernel, Library


@pytest.fixture(scope="session")
def kernel(tmp_path_factory):
    if shutil.which("coqc") is None:
        pytest.skip(f"coqc is not installed: {INSTALL}")
    return Kernel(Library(tmp_path_factory.mktemp("coq")), limit=30, remember=False)
