"""The pages whose commands are followed one by one, and what holds for all: their commands and names exist."""

import doctest
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from certgrad.cli._app import app

from .tutorial import ROOT, agrees, steps

FOLLOWED = [
    ROOT / "README.md",
    *sorted((ROOT / "docs/howto").glob("*.md")),
    *(ROOT / f"docs/{name}.md" for name in ("calculus", "claims", "gallery", "index")),
]
"""With `docs/tutorial.md`, of which `test_tutorial.py` is."""
_PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
_CONSOLE = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)


def _named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.slow
@pytest.mark.parametrize("page", FOLLOWED, ids=_named)
def test_a_page_prints_what_it_quotes(page: Path, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    for step in steps(page.read_text(encoding="utf-8"), folder):
        assert agrees(step.quoted, step.printed), f"$ {step.command}\n{step.printed}"


def test_no_page_quotes_an_output_that_no_test_runs() -> None:
    """Those that do, beside the pages that are followed: each is looked at by a test of its own."""
    quoting = {
        _named(page)
        for page in _PAGES
        if page not in FOLLOWED
        for text in _CONSOLE.findall(page.read_text(encoding="utf-8"))
        if any(line and not line.startswith(("$ ", " ")) for line in text.splitlines())
    }
    assert quoting == {"docs/ci.md", "docs/configuration.md", "docs/tutorial.md"}


def test_the_files_that_pages_name_are_there() -> None:
    paths = re.compile(r"`((?:tests|certgrad|benchmarks)/[\w/]+\.py)`")
    named = {(_named(page), path) for page in _PAGES for path in paths.findall(page.read_text(encoding="utf-8"))}
    assert len(named) > 100
    assert [f"{page}: {path}" for page, path in sorted(named) if not (ROOT / path).is_file()] == []


def test_a_room_has_the_files_that_its_row_names() -> None:
    """In the tables of `docs/architecture.md` whose rows are folders."""
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    houses = [ROOT / "certgrad" / house for house in ("obligations", "rules", "graph")]
    named = [
        (room, name)
        for room, row in re.findall(r"^\| `([\w/]+/)` \| (.*) \|$", page, re.MULTILINE)
        if any((house / room).is_dir() for house in houses)
        for name in re.findall(r"`(\w+\.py)`", row)
    ]
    assert len(named) > 80
    assert [room + name for room, name in named if not any(any((h / room).rglob(name)) for h in houses)] == []


def _commands(page: Path) -> Iterator[str]:
    """The commands of a page, those over several lines as one."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text.replace("\\\n", ""), re.DOTALL | re.MULTILINE)
    for language, block in blocks:
        if language in ("", "console", "yaml", "text"):
            yield from re.findall(r"^(?:\$ |- run: |    - )?(certgrad [a-z-].*)$", block, re.MULTILINE)


@pytest.mark.parametrize("page", [p for p in _PAGES if any(_commands(p))], ids=_named)
def test_the_commands_of_a_page_exist(page: Path) -> None:
    group: Any = get_command(app)
    for command in _commands(page):
        words = shlex.split(re.split(r" [|>;&] | && |; ", command)[0].replace("…", ""), comments=True)[1:]
        name = words[0]
        if name.startswith("-"):
            continue
        assert name in group.commands, command
        _parses(group.commands[name], words[1:], command)


def _parses(command: Any, words: list[str], said: str) -> None:
    """Every flag is one that the command has; those after a program that is run are the program's."""
    flags = {flag for one in command.params for flag in (*one.opts, *one.secondary_opts)}
    for word in words:
        if command.name == "run" and (word == "-m" or not word.startswith("-")):
            return
        if command.name != "watch" and word.startswith("-"):
            assert word.partition("=")[0] in {*flags, "-h", "--help"}, said


def test_the_settings_that_are_quoted(tmp_path: Path) -> None:
    folder = tmp_path / "mypkg"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[tool.certgrad]\ntargets = ["mypkg"]\n')
    page = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    (step,) = (one for one in _quoting(page, folder, "--show-settings"))
    assert agrees(step.quoted.replace("/home/me", str(tmp_path)) + "…\n", step.printed), step.printed


@pytest.mark.slow
def test_the_first_steps_that_are_quoted(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "losses.py").write_text(_SOFTMAX)
    (folder / "gates.py").write_text(_GATES)
    page = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
    (step,) = _quoting(page, folder, "certgrad init")
    assert agrees(step.quoted, step.printed), step.printed


_RULE = """
@jax.custom_vjp
def {name}(x):
    return {value}


{name}.defvjp(lambda x: ({name}(x), x), lambda x, g: ({cotangent},))
"""
_HEAD = "import certgrad\nimport jax\nimport jax.numpy as jnp\n"
_SOFTMAX = _HEAD + _RULE.format(name="softmax", value="jax.nn.softmax(x)", cotangent="jax.nn.softmax(x) * g")
_GATES = (
    _HEAD
    + _RULE.format(name="energy", value="jnp.sum(x * x, axis=-1)", cotangent="x * g[..., None]")
    + '\n\n@certgrad.declare("*s -> *s")'
    + _RULE.format(name="doubled", value="2 * x", cotangent="2 * g")
)


def _quoting(page: str, folder: Path, command: str):
    """The steps of the page's blocks with the command, the others left out."""
    blocks = [f"```console\n{block}```\n" for block in _CONSOLE.findall(page) if f"{command}\n" in block]
    return [step for block in blocks for step in steps(block, folder)]


def test_what_is_quoted_of_a_run_is_what_a_page_shows() -> None:
    quoted = re.findall(r"```text\n(train:.*?)```", (ROOT / "docs/recording.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(quoted) == 1
    assert quoted[0] in (ROOT / "docs/howto/record.md").read_text(encoding="utf-8")


def test_the_session_of_the_page_on_rules() -> None:
    text = re.findall(r"```\n(>>> .*?)```", (ROOT / "docs/rules.md").read_text(encoding="utf-8"), re.DOTALL)
    names = {"certgrad": __import__("certgrad")}
    for k, session in enumerate(text):
        test = doctest.DocTestParser().get_doctest(session, names, f"rules.md {k}", None, 0)
        assert doctest.DocTestRunner().run(test).failed == 0, session
    assert text


@pytest.mark.parametrize("page", [*sorted((ROOT / "docs").rglob("*.md"))], ids=_named)
def test_the_modules_that_a_page_names_exist(page: Path) -> None:
    floors = "assume decide laws terms meaning differentiate generality prove balls verify conformance auditing wording"
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for name in re.findall(rf"`((?:{'|'.join(floors.split())})/[\w/]*(?:\.py)?)`", text):
        assert (ROOT / "certgrad/obligations" / name).exists(), name


def test_pages_that_are_followed_run_python_of_this_environment(tmp_path: Path) -> None:
    (step,) = steps("```console\n$ python -c 'import sys; print(sys.executable)'\n```\n", tmp_path)
    assert step.printed.strip() == sys.executable
