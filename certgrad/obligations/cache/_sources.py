"""The files of the project that code comes from: its own modules, and those that these hold or import.

What a module does when it is imported (it registers a class, wraps a function, computes a table) stands in no function
that a rule reaches, and a module may be handed about as a value. So each file counts, whole, as it parses: only
comments and the layout do not.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from ._homes import UnknownError, home_of, package_state

_FROM_OUTSIDE = frozenset(
    "open read_text read_bytes load loadtxt fromfile memmap import_module __import__ exec eval".split()
)
"""What Python and numpy offer to read files, and code that no statement names."""


def sources_of(modules: Iterable[str], own: frozenset[str], since: float) -> str:
    """A digest of the files of these modules, of all of the project's that they lead to, and of the installed packages
    that any of these leads to.

    Modules were imported at `since` or later, in seconds of the clock. Raises UnknownError for a file that was written
    after that, as nobody knows which of its texts was imported.
    """
    read, waiting, packages = dict[str, str](), list(modules), set[str]()
    while waiting:
        name = waiting.pop()
        module = sys.modules.get(name)
        if name in read or module is None:
            continue
        if (home := home_of(name, own)) != "own":
            packages |= {name.partition(".")[0]} if home == "installed" else set()
            continue
        file = getattr(module, "__file__", None) or ""
        path = Path(file)
        if not (file.endswith(".py") and path.is_file()):
            read[name] = ""
            waiting += _held(module)
            continue
        status = path.stat()
        if status.st_mtime >= since:
            raise UnknownError(f"{path.name} was written while it was in use")
        read[name], imports = _text(path, status.st_mtime_ns, status.st_size)
        waiting += [*_held(module), *_named(imports, module), name.rpartition(".")[0]]
    states = [(package, package_state(package)) for package in sorted(_with_what_they_use(packages))]
    return hashlib.blake2b(repr([sorted(read.items()), states]).encode(), digest_size=20).hexdigest()


def _with_what_they_use(packages: set[str]) -> set[str]:
    found, waiting = set[str](), list(packages)
    while waiting:
        if (package := waiting.pop()) not in found:
            found.add(package)
            waiting += _used_by(package)
    return {package for package in found if getattr(sys.modules.get(package), "__file__", None)}


@lru_cache(maxsize=256)
def _used_by(package: str) -> frozenset[str]:
    """The installed packages of which its modules that are loaded hold something."""
    loaded = [m for name, m in list(sys.modules.items()) if name.partition(".")[0] == package and m is not None]
    names = {name for module in loaded for name in _held(module)}
    return frozenset(name.partition(".")[0] for name in names if home_of(name) == "installed")


@lru_cache(maxsize=4096)
def _text(path: Path, time: int, size: int) -> tuple[str, tuple[tuple[str, int], ...]]:
    """The digest of a file as it parses, and what its statements import, wherever they stand: names, with the dots
    before them.
    """
    tree = ast.parse(path.read_bytes())
    if reads := next((name for name in _at_import(tree) if name in _FROM_OUTSIDE), ""):
        raise UnknownError(f"{path.name} uses {reads} when it is imported: what comes of it stands in no module")
    parsed = ast.dump(tree).encode(errors="surrogatepass")
    return hashlib.blake2b(parsed, digest_size=20).hexdigest(), tuple(dict.fromkeys(_imports(tree)))


def _at_import(node: ast.AST) -> Iterator[str]:
    """The names that code uses which runs when its module is imported, but for what it calls."""
    if isinstance(node, ast.Name):
        yield node.id
    if isinstance(node, ast.Attribute):
        yield node.attr
    inside = "body" if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) else ""
    for name, value in ast.iter_fields(node):
        if name != inside:
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, ast.AST):
                    yield from _at_import(one)


def _imports(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            yield base, node.level
            yield from ((f"{base}.{alias.name}".strip("."), node.level) for alias in node.names)


def _named(imports: Iterable[tuple[str, int]], module: ModuleType) -> Iterator[str]:
    package = getattr(module, "__package__", None) or ""
    for name, level in imports:
        try:
            yield importlib.util.resolve_name("." * level + name, package) if level else name
        except ImportError:  # it leads nowhere, here too
            continue


def _held(module: ModuleType) -> Iterator[str]:
    """The modules that a module has under some name, and those of its functions, classes and objects."""
    for value in list(vars(module).values()):
        yield value.__name__ if isinstance(value, ModuleType) else _home(value)


def _home(value: Any) -> str:
    try:
        own = getattr(value, "__module__", None)
    except Exception:  # an object may answer any question with an error
        own = None
    return own if isinstance(own, str) else str(type(value).__module__)
