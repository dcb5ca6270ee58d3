"""Runs a tutorial: writes the files that it shows, runs its commands, and pairs what they print with what it quotes."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_NOT_RUN = ("pip install",)


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
    """A block begins with `# FILE`, or with `# FILE: NAME` where it replaces one definition of the file."""
    head, _, text = body.partition("\n")
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
    program, *arguments = command.split()
    installed = any(e.value == "certgrad.pytest_plugin" for e in entry_points(group="pytest11"))
    plugin = ["-p", "certgrad.pytest_plugin"] if program == "pytest" and not installed else []
    done = subprocess.run(
        [sys.executable, "-P", "-m", program, *plugin, *arguments],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTEST_ADDOPTS": "-p no:cacheprovider",
            "JAX_PLATFORMS": "cpu",
            "COLUMNS": "100",  # a process of pytest-xdist has a terminal of 80
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def normal(text: str) -> str:
    """Without times and the width of columns."""
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
