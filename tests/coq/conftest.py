"""Coq is optional: where `coqc` is missing, these tests say so and are skipped."""

import fcntl
import os
import shutil

import pytest

from certgrad.coq import INSTALL, Kernel, Library


@pytest.fixture(scope="session")
def kernel(tmp_path_factory):
    if shutil.which("coqc") is None:
        pytest.skip(f"coqc is not installed: {INSTALL}")
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent  # compiled once for all workers of this run
    library = Library(shared / "coq")
    with (shared / "coq.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        library.folder  # whoever comes second finds it compiled
    return Kernel(library, limit=30, remember=False)
