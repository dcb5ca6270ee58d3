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
"""Files with more bytes are not scanned."""


@dataclass(frozen=True)
class Scanned:
    """The files with rules, relative to the folder that was scanned, and the targets that contain them."""

    files: tuple[Path, ...]
    targets: tuple[str, ...]


def scan(folder: Path) -> Scanned:
    """Return the Python files below a folder that make rules, without hidden folders, builds and tests."""
    files = tuple(f for f in python_files(folder, _left_out) if not _is_test(f.name) and _makes_rules(f))
    targets = tuple(dict.fromkeys(target_of(file, folder) for file in files))
    return Scanned(tuple(file.relative_to(folder) for file in files), targets)


def target_of(file: Path, folder: Path) -> str:
    """Return the target for a file: its outermost package by name or path, or the path of a file in no package.

    The package is named if it is directly in `folder`; paths are relative to that.
    """
    packages = [*takewhile(lambda one: one != folder, packages_around(file))]
    if not packages:
        return file.relative_to(folder).as_posix()
    top = packages[-1]
    return top.name if top.parent == folder and top.name.isidentifier() else top.relative_to(folder).as_posix()


def _left_out(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name in _SKIPPED


def _is_test(name: str) -> bool:
    stem = name.removesuffix(".py")
    return stem in NEVER_IMPORTED or stem.startswith("test_") or stem.endswith("_test")


def _makes_rules(file: Path) -> bool:
    """Return whether a file uses a name of a function that makes rules, beside imports and strings."""
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
    """Return a text of the first `limit` names, and how many more there are."""
    remaining = len(names) - limit
    return ", ".join(map(str, names[:limit])) + (f" and {remaining} more" if remaining > 0 else "")
