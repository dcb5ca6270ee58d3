"""The files of a project in which a rule may be called, parsed; no file is imported, and none outside is read."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice, takewhile
from pathlib import Path

ROOTS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
"""Files and folders, one of which marks the folder that it is in as the root of a project."""
BUILD_FOLDERS = ("build", "dist")
"""Folders at the root of a project that hold copies of its modules."""
TESTS = ("tests", "test")
INSTALLED = ("site-packages", "dist-packages")
MOST_FILES = 1_500
"""Files of a project that are read for calls, at most; the others are not."""
MOST_BYTES = 2**20
"""Bytes of a file that is read for calls; a longer one is not."""
_IMPORTS = re.compile(rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+)?import[ \t]+(\([^)]*\)|[^\n]*)", re.MULTILINE)
_NAMES = re.compile(rb"\w+(?![\w.])")
_PASSED_OVER = frozenset(("node_modules", "__pycache__", *INSTALLED, *BUILD_FOLDERS))


@dataclass(frozen=True, eq=False)
class File:
    """A file, parsed when its tree is first needed."""

    path: Path
    text: bytes = field(repr=False)

    @cached_property
    def name(self) -> str:
        """The full path."""
        return str(self.path)

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree of the file; an empty module if it does not parse."""
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError, RecursionError):
            return ast.Module([], [])

    @cached_property
    def imports(self) -> frozenset[str]:
        """The last parts of the modules that the file imports, and the names that it imports from them, by its text."""
        statements = _IMPORTS.findall(self.text)
        return frozenset(name.decode() for parts in statements for part in parts for name in _NAMES.findall(part))

    @cached_property
    def module(self) -> str:
        """The name under which the file is imported, if the folder of it or of its outermost package is on the path."""
        return ".".join(filter(None, (self.package, "" if self.path.stem == "__init__" else self.path.stem)))

    @cached_property
    def last_name(self) -> str:
        """The last part of the module's name."""
        return self.module.rpartition(".")[2]

    @cached_property
    def package(self) -> str:
        """The full name of the package that the file is in; "" if it is in none."""
        return ".".join(folder.name for folder in reversed(packages_around(self.path)))


def packages_around(place: Path) -> list[Path]:
    """Return the folders of the packages that a file or a folder is in, the innermost first."""
    return [*takewhile(lambda folder: (folder / "__init__.py").is_file(), place.parents)]


def python_files(root: Path, left_out: Callable[[Path], bool]) -> Iterator[Path]:
    """Yield the Python files below a folder, except in virtual environments and in folders that are `left_out`."""
    for place, folders, files in os.walk(root):
        folder = Path(place)
        kept = (f for f in folders if not (left_out(folder / f) or (folder / f / "pyvenv.cfg").is_file()))
        folders[:] = sorted(kept)
        yield from (folder / name for name in sorted(files) if name.endswith(".py"))


def files_beside(module: Path) -> list[File]:
    """Return the files of the project of a module: the module first, then its package, the tests, and all others.

    For an installed package these are its own files; for a file that is in no project, those in its folder and in
    folders of tests and packages there.
    """
    module = module.resolve()
    files = files_in(*_project_of(module))
    return [*(f for f in files if f.path == module), *(f for f in files if f.path != module)]


@lru_cache(maxsize=64)
def files_in(top: Path, root: Path, whole: bool) -> tuple[File, ...]:
    """Return the files of a project, which a process reads once: those below `top`, the tests, then all below `root`.

    Unless `whole`, only packages and tests below `root` belong to the project. At most `MOST_FILES` are returned.
    """
    near = [*_python_files(top, True)]
    near += [path for name in TESTS for path in _python_files(root / name, True)] if root.is_dir() else []
    places = dict.fromkeys([*near, *_python_files(root, whole)])
    return tuple(file for path in [*places][:MOST_FILES] if (file := file_at(path)) is not None)


@lru_cache(maxsize=4 * MOST_FILES)
def file_at(path: Path) -> File | None:
    """Return a file, which a process reads once; None if it cannot be read, or is too long."""
    try:
        return File(path, path.read_bytes()) if path.stat().st_size <= MOST_BYTES else None
    except OSError:
        return None


def _project_of(module: Path) -> tuple[Path, Path, bool]:
    """Return the outermost package of a module, the project's folder, and whether all folders in it belong to it.

    A file in no package stands for itself. An installed package is its own project. Without a project the folder around
    counts as one, in which not all folders belong to it.
    """
    top = [module, *packages_around(module)][-1]
    if any(part in INSTALLED for part in module.parts):
        return top, top, True
    for folder in top.parents:
        if any((folder / name).exists() for name in ROOTS):
            return top, folder, True
    return top, top.parent, False


def _python_files(root: Path, whole: bool) -> tuple[Path, ...]:
    """Return the Python files below a folder, up to `MOST_FILES`; unless `whole`, only those in packages and tests.

    A root that is a file is returned alone.
    """

    def left_out(folder: Path) -> bool:
        foreign = folder.parent == root and not (folder.name in TESTS or (folder / "__init__.py").is_file())
        return folder.name.startswith(".") or folder.name in _PASSED_OVER or (foreign and not whole)

    return (root,) if root.is_file() else tuple(islice(python_files(root, left_out), MOST_FILES))


def conftests(test: File, files: Mapping[str, File]) -> Iterator[File]:
    """Yield the `conftest.py` files that a test sees, the nearest first."""
    yield from (files[name] for folder in test.path.parents if (name := str(folder / "conftest.py")) in files)
