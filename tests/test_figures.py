"""Figures on the site: each is printed by a command that its page names, or is a number that the code has."""

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from certgrad.ops import registry

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_UNIT = r"(?:µs|ms|s|seconds?|minutes?|KB|MB|MiB|GB|%|times|lines|rules|ops|equations|nodes|primitives|theorems)"
_FIGURE = re.compile(rf"(?<![\w.`=/-])\d[\d.,]*(?: of \d[\d,]*)? ?{_UNIT}(?![\w/])")
_COMMAND = re.compile(
    r"`(?:\$ )?(?:[A-Z_]+=\S+ )*(python (?:-m )?(?:benchmarks|tests)[\w./]*|certgrad [a-z]+|make [a-z]+|pytest -m \w+)"
)
LIMITS = {
    ("docs/cache.md", "64 MiB"): ("certgrad.obligations.cache._folder", "MAX_TOTAL", 64 * 2**20),
    ("docs/graphs.md", "150 nodes"): ("certgrad.graph.views._groups", "READABLE", 150),
    ("docs/graphs.md", "400 nodes"): ("certgrad.accel.verify._evaluate", "NODES", 400),
    ("docs/recording.md", "2,000 rules"): ("certgrad.recording._notes", "MAX_RULES", 2000),
}
"""Numbers that are the code's: page and text, with the module, the name and the value there."""
SHOWN = {
    ("docs/certificates.md", "8 nodes"),
    ("docs/recording.md", "12 rules"),
    ("docs/rules.md", "12 rules"),
    ("docs/training.md", "20 times"),
}
"""Numbers in examples of what is printed, and of what a test does."""


def _sections(page: Path) -> Iterator[tuple[str, list[str]]]:
    """The sections of a page without what it quotes, which the tests of pages run, and the commands in each."""
    text = re.sub(r"^```.*?^```", _commands_of, page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for section in re.split(r"^#+ ", text, flags=re.MULTILINE):
        yield section, _COMMAND.findall(section)


def _commands_of(block: re.Match[str]) -> str:
    return "\n".join(f"`{line}`" for line in block[0].splitlines() if line.startswith("$ "))


def figures() -> Iterator[tuple[str, str, list[str]]]:
    """Page, figure and the commands that the same section names."""
    for page in PAGES:
        for prose, commands in _sections(page):
            for found in _FIGURE.finditer(prose):
                yield str(page.relative_to(ROOT)), " ".join(found[0].split()), commands


def test_every_figure_is_a_limit_an_example_or_has_its_command() -> None:
    own = {*LIMITS, *SHOWN}
    ops = f"{len(registry.names())} ops"
    bare = [(page, text) for page, text, commands in figures() if not commands and (page, text) not in own]
    assert [one for one in bare if one[1] != ops and one != ("docs/coq.md", _lines_rounded())] == []
    assert {(page, text) for page, text, _ in figures()} >= own


def test_the_benchmarks_that_are_named_are_there() -> None:
    for page in PAGES:
        for name in re.findall(r"python (?:-m )?((?:benchmarks|tests)[\w./]*)", page.read_text(encoding="utf-8")):
            path = ROOT / (name if name.endswith(".py") else name.replace(".", "/"))
            assert path.exists() or path.with_suffix(".py").exists(), f"{page.name}: {name}"


@pytest.mark.parametrize("at", LIMITS, ids=str)
def test_a_limit_is_that_of_the_code(at: tuple[str, str]) -> None:
    module, name, value = LIMITS[at]
    assert getattr(importlib.import_module(module), name) == value


def test_the_pages_count_the_ops_that_there_are() -> None:
    counted = {text for _, text, _ in figures() if re.fullmatch(r"\d{3} ops", text)}
    assert counted == {f"{len(registry.names())} ops"}


def _table_of_lines() -> list[int]:
    (row,) = re.findall(r"^\| \*\*what a `proved` rests on.*$", (ROOT / "docs/trust.md").read_text(), re.MULTILINE)
    return [int(n.replace(",", "")) for n in re.findall(r"\*\*([\d,]+)\*\*", row)]


def _lines_rounded() -> str:
    return f"{round(_table_of_lines()[1], -2):,} lines"


@pytest.mark.slow
def test_the_lines_that_a_proof_rests_on_are_counted() -> None:
    """The table is written before a release; between two it may be a twentieth off."""
    sys.path.insert(0, str(ROOT))
    from benchmarks.trusted_lines import table

    (row,) = [line for line in table().splitlines() if "rests on" in line]
    now = [int(n.replace(",", "")) for n in re.findall(r"\*\*([\d,]+)\*\*", row)]
    assert all(abs(a - b) <= b / 20 for a, b in zip(_table_of_lines(), now, strict=True)), now
    assert f"{_lines_rounded()} of Python" in (ROOT / "docs/coq.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_lines_that_coq_s_word_rests_on_are_those_that_run() -> None:
    """Those of the specification and the printer, and all files of which a function runs when a rule is printed."""
    sys.path.insert(0, str(ROOT))
    from benchmarks.trusted_lines import PACKAGE, called, table_beside_coq

    files = {str(f.relative_to(PACKAGE)) for f in called()}
    assert {"obligations/generality/traces.py", "obligations/prove/problem.py", "rules/certificates/verify.py"} <= files
    assert {"obligations/terms/polynomials.py", "coq/_statements.py", "specification/reading.py"} <= files
    here, there = table_beside_coq(), (ROOT / "docs/trust.md").read_text(encoding="utf-8")
    now, then = (
        int(re.findall(r"what `accepted by Coq` rests on.*\*\*([\d,]+)\*\* \| \|", text)[0].replace(",", ""))
        for text in (here, there)
    )
    assert abs(now - then) <= then / 20, now
