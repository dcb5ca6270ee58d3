"""The files of a project that hold derivative rules, by their source: nothing is imported, and nothing runs."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from certgrad.rules.syntax.files import packages_around, python_files

from .modules import NEVER_IMPORTED
from .nested import MAKERS

_SKIPPED = frozenset("build dist node_modules site-packages __pycache__ tests test".split())
MOST_BYTES = 2**21
"""Bytes of a file that is scanned for rules; a larger one is passed over."""


@dataclass(frozen=True)
class Scanned:
    """The files with rules, from the folder, and the targets that hold them."""

    files: tuple[Path, ...]
    targets: tuple[str, ...]


def scan(folder: Path) -> Scanned:
    """The Python files below a folder that make rules; hidden folders, environments, builds and tests are left out."""
    files = tuple(f for f in python_files(folder, _left_out) if not _is_test(f.name) and _makes_rules(f))
    targets = tuple(dict.fromkeys(target_of(file, folder) for file in files))
    return Scanned(tuple(file.relative_to(folder) for file in files), targets)


def target_of(file: Path, folder: Path) -> str:
    """Return the target for a file: its package, by name where it lies in the folder, else by path; or the file."""
    inside = [*takewhile(lambda one: one != folder, packages_around(file))]
    if not inside:
        return file.relative_to(folder).as_posix()
    top = inside[-1]
    return top.name if top.parent == folder and top.name.isidentifier() else top.relative_to(folder).as_posix()


def _left_out(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name in _SKIPPED


def _is_test(name: str) -> bool:
    stem = name.removesuffix(".py")
    return stem in NEVER_IMPORTED or stem.startswith("test_") or stem.endswith("_test")


def _makes_rules(file: Path) -> bool:
    """Return whether the file names something that makes rules, outside of imports and texts."""
    try:
        if file.stat().st_size > MOST_BYTES:
            return False
        source = file.read_bytes()
        if not any(mark.encode() in source for mark in MAKERS):
            return False
        tree = ast.parse(source)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return False
    return any({getattr(node, "id", ""), getattr(node, "attr", "")} & MAKERS for node in ast.walk(tree))


def abbreviated_names(names: Sequence[Path], limit: int = 4) -> str:
    """Return the first names, and how many more."""
    more = len(names) - limit
    return ", ".join(map(str, names[:limit])) + (f" and {more} more" if more > 0 else "")
