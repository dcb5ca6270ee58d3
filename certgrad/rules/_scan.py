"""Which files of a project hold derivative rules, read from their source: nothing is imported, and nothing runs."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ._modules import NEVER

MARKS = frozenset("custom_vjp custom_jvp custom_gradient filter_custom_vjp filter_custom_jvp".split())
"""Names by which JAX, Equinox and Flax make rules."""
_SKIPPED = frozenset("build dist node_modules site-packages __pycache__ tests test".split())
MOST_BYTES = 2**21


@dataclass(frozen=True)
class Scanned:
    """The files with rules, from the folder, and the targets that hold them."""

    files: tuple[Path, ...]
    targets: tuple[str, ...]


def scan(folder: Path) -> Scanned:
    """The Python files below a folder that make rules; hidden folders, environments, builds and tests are left out."""
    files = tuple(file for file in _python_files(folder) if _makes_rules(file))
    targets = tuple(dict.fromkeys(target_of(file, folder) for file in files))
    return Scanned(tuple(file.relative_to(folder) for file in files), targets)


def target_of(file: Path, folder: Path) -> str:
    """What to audit for a file: its package by name where it lies in the folder, by path elsewhere; else the file."""
    top = None
    here = file.parent
    while here != folder and (here / "__init__.py").is_file():
        top, here = here, here.parent
    if top is None:
        return file.relative_to(folder).as_posix()
    return top.name if here == folder and top.name.isidentifier() else top.relative_to(folder).as_posix()


def _python_files(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        here = Path(root)
        folders[:] = sorted(f for f in folders if not _left_out(here / f))
        yield from (here / name for name in sorted(files) if name.endswith(".py") and not _is_test(name))


def _left_out(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name in _SKIPPED or (folder / "pyvenv.cfg").is_file()


def _is_test(name: str) -> bool:
    stem = name.removesuffix(".py")
    return stem in NEVER or stem.startswith("test_") or stem.endswith("_test")


def _makes_rules(file: Path) -> bool:
    """Whether the file names something that makes rules, elsewhere than in an import or a text."""
    try:
        if file.stat().st_size > MOST_BYTES:
            return False
        source = file.read_bytes()
        if not any(mark.encode() in source for mark in MARKS):
            return False
        tree = ast.parse(source)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return False
    return any(_name(node) in MARKS for node in ast.walk(tree))


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def joined(names: Sequence[Path], limit: int = 4) -> str:
    """The first names, and how many more."""
    more = len(names) - limit
    return ", ".join(map(str, names[:limit])) + (f" and {more} more" if more > 0 else "")
