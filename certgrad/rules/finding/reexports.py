"""Names that a module imports from others: for its own use, or to offer them to its users."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator
from functools import cache, lru_cache
from importlib.metadata import packages_distributions
from pathlib import Path
from types import ModuleType
from typing import Any

from certgrad.rules.subject.layers import plain_function, unwrapped


def imported(module: ModuleType, name: str) -> bool:
    """Return whether a module imports a name from another one; `import *` may import any."""
    names = _names(getattr(module, "__file__", None) or "")
    return name not in names.assigned and (name in names.imported or "*" in names.imported)


def offered(module: ModuleType, loaded: Collection[str]) -> Iterator[tuple[str, Any, str]]:
    """Yield the name, value and defining module of objects that a module offers from other modules.

    These are modules of its distribution that are not in `loaded`. As for type checkers, a name is offered if `__all__`
    lists it, if it is imported as itself (`import f as f`), or if an `__init__` imports it as a public name.
    """
    names = _names(getattr(module, "__file__", None) or "")
    listed = getattr(module, "__all__", ())
    for name, value in sorted(vars(module).items()):
        public = hasattr(module, "__path__") and not name.startswith("_")
        if not (name in listed or name in names.offered or (public and imported(module, name))):
            continue
        home = _home(value)
        if home in loaded or home not in sys.modules or not _together(home, module.__name__):
            continue
        yield name, value, home


def _home(value: Any) -> str:
    """Return the module that defines a class, or a function without its wrappers; "" for other objects."""
    try:
        plain = value if isinstance(value, type) else plain_function(unwrapped(value))
        return str(getattr(plain, "__module__", None) or "") if callable(plain) else ""
    except Exception:  # an object may answer any question about its attributes with an error
        return ""


def _together(one: str, other: str) -> bool:
    """Return whether two modules belong to one distribution."""
    first, second = one.partition(".")[0], other.partition(".")[0]
    return first == second or bool(_distributions(first) & _distributions(second))


@cache
def _distributions(package: str) -> frozenset[str]:
    return frozenset(_installed().get(package, ()))


@cache
def _installed() -> dict[str, list[str]]:
    return dict(packages_distributions())


class _Names:
    """The names in a file: those that it imports (`*` too), that it imports as themselves, and that it assigns."""

    def __init__(self, tree: ast.AST) -> None:
        nodes = list(ast.walk(tree))
        froms = [a for n in nodes if isinstance(n, ast.ImportFrom) for a in n.names]
        self.imported = frozenset(a.asname or a.name for a in froms)
        self.offered = frozenset(a.name for a in froms if a.asname == a.name)
        self.assigned = frozenset(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


@lru_cache(maxsize=256)
def _names(file: str) -> _Names:
    try:
        return _Names(ast.parse(Path(file).read_bytes()))
    except (OSError, SyntaxError, ValueError):
        return _Names(ast.Module([], []))
