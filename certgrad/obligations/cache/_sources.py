"""The files of the project that code comes from: its own modules, and those that these hold or import.

What a module does when it is imported (it registers a class, wraps a function, computes a table) stands in no function
that a rule reaches. So the text of each file counts, whole, as it does to compilers and type checkers.
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

from ._homes import UnknownError, home_of


def sources_of(modules: Iterable[str], own: frozenset[str], since: float) -> str:
    """A digest of the files of these modules, and of all of the project's that they lead to.

    Modules were imported at `since` or later, in seconds of the clock. Raises UnknownError for a file that was written
    after that, as nobody knows which of its texts was imported.
    """
    read, waiting = dict[str, str](), list(modules)
    while waiting:
        name = waiting.pop()
        module = sys.modules.get(name)
        if name in read or module is None or home_of(name, own) != "own":
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
    return hashlib.blake2b(repr(sorted(read.items())).encode(), digest_size=20).hexdigest()


@lru_cache(maxsize=4096)
def _text(path: Path, time: int, size: int) -> tuple[str, tuple[tuple[str, int], ...]]:
    """The digest of a file, and what its statements import, wherever they stand: names, with the dots before them."""
    data = path.read_bytes()
    return hashlib.blake2b(data, digest_size=20).hexdigest(), tuple(dict.fromkeys(_imports(ast.parse(data))))


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
