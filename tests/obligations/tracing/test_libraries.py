"""Whose questions about sizes are trusted: those of the libraries, and of no package whose name begins as theirs do."""

from __future__ import annotations

import os
from pathlib import Path

import jax
import jaxlib
import numpy as np
import pytest

from certgrad.obligations.tracing.jax_internals import asks_for_others, from_library

PACKAGES = Path(jax.__file__).parent.parent


@pytest.mark.parametrize("module", [jax, jaxlib, np, os, jax.numpy])
def test_the_libraries(module: object) -> None:
    assert from_library(str(module.__file__))  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["jaxtyping", "opt_einsum"])
def test_packages_that_jax_asks_with(name: str) -> None:
    assert from_library(str(PACKAGES / name / "rules.py"))


@pytest.mark.parametrize("name", ["jaxopt", "jax_md", "numpyro", "opt_einsum_fx", "numpy_groupies", "flax"])
def test_packages_beside_them(name: str) -> None:
    file = str(PACKAGES / name / "rules.py")
    assert not from_library(file)
    assert not asks_for_others(file)
