"""Tests that ask Coq's kernel have the marker `coq`: `make coq` and CI run them, where the library is compiled anyway.

Coq is optional: where `coqc` is missing, they say so and are skipped.
"""

import fcntl
import os
import shutil

import pytest

from certgrad.coq import INSTALL, Kernel, Library

COMPILED = "CERTGRAD_COMPILED_PROOFS"
"""The variable with a folder in which `proofs/` lies compiled already."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if "kernel" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.coq)


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
        target = library.cache / f"library-{library.digest[:16]}"
        if COMPILED in os.environ and not target.exists():
            library.cache.mkdir(exist_ok=True)
            target.symlink_to(os.environ[COMPILED])
        library.folder  # whoever comes second finds it compiled
    return Kernel(library, limit=30, remember=False)
