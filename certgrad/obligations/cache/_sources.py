"""The files of the project that code comes from: its own modules, and those that these hold or import.

What a rule reaches is read from objects (`Identity`). What an import does beyond the project is in none of these
objects: where the import of a module does such a thing (`_effects.py`), each of the files counts as a whole, as it
parses.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from ._effects import effect_of
from ._homes import UnknownError, home_of, package_root, package_state

_FROM_OUTSIDE = frozenset(
    "open read_text read_bytes load loadtxt fromfile memmap import_module __import__ exec eval".split()
)
"""Functions of Python and numpy that read files, or run code that no statement names."""


def sources_of(modules: Iterable[str], own: frozenset[str], since: float) -> str:
    """Return a digest of the installed packages to which these modules lead, through any modules of the project.

    Where the import of a module does something beyond the project, the files of the modules are in it as well. The
    packages in `own` are the project's. Modules were imported at `since` or later, in seconds of the clock. Raises
    UnknownError for a file that was written after that, as it is not known which text of it was imported.
    """
    loaded = [name for name in list(sys.modules) if name.partition(".")[0] in own]
    if written := next((n for n in loaded if (text := _text(n)) and text.written >= since), ""):
        raise UnknownError(f"{written} was written while it was in use")
    with_effect = [name for name in loaded if _effect(name, own)]
    read, packages = _led_to([*modules, *with_effect], own, since)
    states = [(package, package_state(package)) for package in sorted(packages)]
    files = []
    if with_effect or any(_effect(name, own) for name in read):
        files = [(name, text.parsed if (text := _text(name)) else "") for name in sorted(read)]
    return hashlib.blake2b(repr([files, states]).encode(), digest_size=20).hexdigest()


def beyond_project(modules: Iterable[str], own: frozenset[str]) -> str:
    """Return what the import of one of these modules does, or reads, beyond the project, in words; "" for nothing."""
    reasons = (_effect(name, own) or _EFFECTS[name, own][2][1] for name in modules)
    return next(filter(None, reasons), "")


def packages_of(modules: Iterable[str], own: frozenset[str], since: float) -> dict[str, str]:
    """Return a digest of each installed package to which modules of the project lead, by its folder or file.

    Raises UnknownError as `sources_of` does.
    """
    return {str(package_root(name)): package_state(name) for name in sorted(_led_to(modules, own, since)[1])}


def _led_to(modules: Iterable[str], own: frozenset[str], since: float) -> tuple[set[str], set[str]]:
    """Return the project's modules, and the installed packages, to which these modules lead.

    A module leads to the modules that it holds or imports, to those of its functions, classes and objects, and to its
    package. `own` and `since` are as in `sources_of`; raises UnknownError for a file written at `since` or later.
    """
    read, packages = set[str](), set[str]()
    waiting = [*modules]
    while waiting:
        name = waiting.pop()
        module = sys.modules.get(name)
        if name in read or module is None:
            continue
        if (home := home_of(name, own)) != "own":
            packages |= {name.partition(".")[0]} if home == "installed" else set()
            continue
        read.add(name)
        waiting += [*_modules_named_in(module), name.rpartition(".")[0]]
        if text := _text(name):
            if text.written >= since:
                raise UnknownError(f"{name} was written while it was in use")
            waiting += _absolute_import_names(text.imports, module)
    return read, _with_what_they_use(packages)


def _with_what_they_use(packages: set[str]) -> set[str]:
    """Return these installed packages and those that they use, directly or not, without those that have no file."""
    visited, waiting = set[str](), list(packages)
    while waiting:
        if (package := waiting.pop()) not in visited:
            visited.add(package)
            waiting += _used_by(package)
    return {package for package in visited if getattr(sys.modules.get(package), "__file__", None)}


@lru_cache(maxsize=256)
def _used_by(package: str) -> frozenset[str]:
    """Return the installed packages that loaded modules of a package use."""
    loaded = [m for name, m in list(sys.modules.items()) if name.partition(".")[0] == package and m is not None]
    names = {name for module in loaded for name in _modules_named_in(module)}
    return frozenset(name.partition(".")[0] for name in names if home_of(name) == "installed")


_EFFECTS: dict[tuple[str, frozenset[str]], tuple[ModuleType | None, _Text | None, tuple[str, str]]] = {}
"""By module and own packages: the module and text that were read, and what `effect_of` returned for them."""


def _effect(name: str, own: frozenset[str]) -> str:
    """Return what the import of a module does beyond the project; "" if nothing."""
    module, text = sys.modules.get(name), _text(name)
    entry = _EFFECTS.get((name, own))
    if entry is None or entry[0] is not module or entry[1] is not text:
        _EFFECTS[name, own] = entry = module, text, effect_of(name, own, _tree)
    return entry[2][0]


class _Text:
    """The source of a file of the project, as a syntax tree, and when it was written."""

    def __init__(self, path: Path, written: float) -> None:
        """`written` is when the file was written, in seconds of the clock."""
        self.written, self.tree = written, ast.parse(path.read_bytes())

    @cached_property
    def parsed(self) -> str:
        """Return a digest of the file's syntax tree, which has no comments and no layout.

        Raises UnknownError for a file that may read files, or find code by a text, when it is imported.
        """
        if reads := next((name for name in _at_import(self.tree) if name in _FROM_OUTSIDE), ""):
            raise UnknownError(f"a module uses {reads} when it is imported: what comes of it stands in no module")
        return hashlib.blake2b(ast.dump(self.tree).encode(errors="surrogatepass"), digest_size=20).hexdigest()

    @cached_property
    def imports(self) -> tuple[tuple[str, int], ...]:
        """Return the imported names, of statements anywhere in the file, each with the number of dots before it."""
        return tuple(dict.fromkeys(_imports(self.tree)))


def _text(module: str) -> _Text | None:
    """Return the source of a loaded module; None where it has no file with an ending `.py`."""
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    path = Path(file)
    if not (file.endswith(".py") and path.is_file()):
        return None
    status = path.stat()
    return _cached_text(path, status.st_mtime_ns, status.st_size)


def _tree(module: str) -> ast.Module | None:
    text = _text(module)
    return text.tree if text else None


@lru_cache(maxsize=4096)
def _cached_text(path: Path, time: int, size: int) -> _Text:
    return _Text(path, time / 1e9)


def _at_import(node: ast.AST) -> Iterator[str]:
    """Yield the names in code that runs at the import, without the bodies of functions."""
    if isinstance(node, ast.Name):
        yield node.id
    if isinstance(node, ast.Attribute):
        yield node.attr
    skipped_field = "body" if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) else ""
    for name, value in ast.iter_fields(node):
        if name != skipped_field:
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, ast.AST):
                    yield from _at_import(part)


def _imports(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the names of imported modules, and of names imported from modules, each with the number of dots before."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            yield base, node.level
            yield from ((f"{base}.{alias.name}".strip("."), node.level) for alias in node.names)


def _absolute_import_names(imports: Iterable[tuple[str, int]], module: ModuleType) -> Iterator[str]:
    """Yield the absolute names of imports in a module, without those that lead nowhere."""
    package = getattr(module, "__package__", None) or ""
    for name, level in imports:
        try:
            yield importlib.util.resolve_name("." * level + name, package) if level else name
        except ImportError:
            continue


def _modules_named_in(module: ModuleType) -> Iterator[str]:
    """Yield the names of the modules that a module has as values, and of the modules of its other values."""
    for value in list(vars(module).values()):
        yield value.__name__ if isinstance(value, ModuleType) else _home(value)


def _home(value: Any) -> str:
    """Return the name of the module of a function or class, or of an object's class."""
    try:
        module = getattr(value, "__module__", None)
    except Exception:  # an object may answer any question with an error
        module = None
    return module if isinstance(module, str) else str(type(value).__module__)
