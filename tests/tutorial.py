"""Runs a tutorial: writes the files that it shows, runs its commands, and pairs what they print with what it quotes."""

import ast
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_NOT_RUN = ("pip install", "make ")


@dataclass(frozen=True)
class Step:
    """A command with what the page quotes and what it printed."""

    command: str
    quoted: str
    printed: str


def steps(page: str, folder: Path) -> Iterator[Step]:
    """Follow the page in a folder."""
    for language, body in _BLOCK.findall(page):
        if language == "console":
            for command, quoted in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", body, re.MULTILINE):
                if not command.startswith(_NOT_RUN):
                    yield Step(command, quoted, _run(command, folder))
        else:
            _write(body, folder)


def _write(body: str, folder: Path) -> None:
    """A block begins with `# FILE`, with `# FILE: NAME` where it replaces one definition of the file, or with
    `# from FILE` where it quotes a file of this repository. What begins with `# not run` is not looked at.
    """
    head, _, text = body.partition("\n")
    if head.startswith("# not run"):
        return
    if head.startswith("# from "):
        whole = (ROOT / head.removeprefix("# from ")).read_text(encoding="utf-8")
        missing = [part for part in text.split("\n…\n") if part.strip("\n") not in whole]
        assert not missing, f"{head}: {missing}"
        return
    name, _, function = head.removeprefix("# ").partition(": ")
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    if function:
        source = file.read_text()
        (old,) = (n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name == function)
        lines = source.splitlines(keepends=True)
        first = min([old.lineno, *(d.lineno for d in old.decorator_list)])
        lines[first - 1 : old.end_lineno] = [text]
        text = "".join(lines)
        if "certgrad." in text and "import certgrad" not in text:
            text = f"import certgrad\n{text}"
    file.write_text(text)


def _run(command: str, folder: Path) -> str:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{_programs(folder)}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "PYTEST_ADDOPTS": "-p no:cacheprovider",
            "JAX_PLATFORMS": "cpu",
            "CERTGRAD": str(ROOT),  # for a page about its source
            "CERTGRAD_FORMAT": "text",  # as at a terminal, which a page shows
            "COLUMNS": "100",  # a process of pytest-xdist has a terminal of 80
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def _programs(folder: Path) -> Path:
    """Where a shell finds `certgrad`, `pytest` and `python`: those of this environment, with this checkout's code."""
    place = folder.with_name(f"{folder.name}-programs")
    if not place.exists():
        place.mkdir()
        installed = any(e.value == "certgrad.pytest_plugin" for e in entry_points(group="pytest11"))
        plugin = "" if installed else "-p certgrad.pytest_plugin"
        for name, arguments in {"certgrad": "-P -m certgrad", "pytest": f"-P -m pytest {plugin}", "python": ""}.items():
            (place / name).write_text(f'#!/bin/sh\nexec {sys.executable} {arguments} "$@"\n')
            (place / name).chmod(0o755)
    return place


_LEMMA = re.compile(r"(?<![\w.])[0-9a-f]{8}(?![\w.])")
"""A lemma is named by a digest in which the version of the kernel is: another name stands for the same."""


_PROGRESS = re.compile(r"^(proving|importing|looking up) .*\(.*\d+ s\)\n", re.MULTILINE)
"""What is printed while a command takes long, as on a busy machine."""


def normal(text: str) -> str:
    """Without times, progress, the names of lemmas and the width of columns."""
    text = _PROGRESS.sub("", text)
    text = _LEMMA.sub("LEMMA", text)
    text = re.sub(r"\d+(\.\d+)? ?(ms|s)\b", "TIME", text)
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


def agrees(quoted: str, printed: str) -> bool:
    """The quotation is what was printed; a line `…` stands for lines that are left out."""
    parts = [normal(part) for part in re.split(r"^…$", quoted, flags=re.MULTILINE)]
    whole, place = normal(printed), 0
    if len(parts) == 1:
        return parts[0] == whole
    if not whole.startswith(parts[0]) or not whole.endswith(parts[-1]):
        return False
    for part in parts:
        place = whole.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return True


def quoted_anew(page: str, folder: Path) -> str:
    """The page with what its commands print now, but for quotations that still agree."""
    for step in steps(page, folder):
        if not agrees(step.quoted, step.printed):
            old, new = f"$ {step.command}\n{step.quoted}", f"$ {step.command}\n{step.printed.strip(chr(10))}\n"
            page = page.replace(old, new, 1)
    return page


if __name__ == "__main__":  # python -m tests.tutorial docs/howto/audit.md …: look at the difference then
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as there:
            work = Path(there, "work")
            work.mkdir()
            file = Path(name)
            file.write_text(quoted_anew(file.read_text(encoding="utf-8"), work), encoding="utf-8")
