"""The notebooks run, and hold what their cells print."""

import re
from typing import Any

import pytest

from .notebooks import FOLDER, NAMES, executed, outputs
from .tutorial import normal


def _read(name: str) -> Any:
    """The notebook that is kept. nbformat is loaded here, as that takes seconds."""
    nbformat = pytest.importorskip("nbformat", reason="the packages of the extra `docs` run notebooks")
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_that_of_its_source(name: str) -> None:
    kept = _read(name)
    jupytext = pytest.importorskip("jupytext")
    source = jupytext.read(FOLDER / f"{name}.py")
    assert [(c.cell_type, c.source) for c in kept.cells] == [(c.cell_type, c.source) for c in source.cells]
    assert (FOLDER / f"{name}.ipynb").stat().st_size < 40_000


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_prints_what_it_holds(name: str) -> None:
    kept = _read(name)
    for old, new in zip(kept.cells, executed(name).cells, strict=True):
        assert _stable(outputs(old)) == _stable(outputs(new)), old.source


def _stable(text: str) -> str:
    """Without times, and without the number that IPython gives to a cell's file."""
    return re.sub(r"(ipykernel_\d+/\d+\.py|<ipython-input-[^>]*>|\d+\.py:\d+)", "CELL", normal(text))
