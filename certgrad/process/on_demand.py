"""Packages and tables whose parts load on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from importlib import import_module
from threading import RLock
from typing import Any, TypeVar

T = TypeVar("T")


def door(package: str, names: Mapping[str, str] | None = None, modules: str = "") -> Callable[[str], Any]:
    """Return the `__getattr__` of a package, which imports its submodules on first use.

    `names` says in which submodule each name of the package is; `modules` lists submodules, separated by blanks, that
    are attributes of the package themselves. So code can name what it seldom needs, as `laws.roots.split_roots`, and
    a rule that never needs it does not load it.
    """
    table, whole = names or {}, modules.split()

    def get(name: str) -> Any:
        if name in whole:
            return import_module(f"{package}.{name}")
        if name in table:
            return getattr(import_module(f"{package}.{table[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get


class Table(Mapping[str, T]):
    """Entries by name, which the modules of a package add when they are imported.

    To look up a name, the modules are imported one after another until one has added an entry for it. `modules` lists
    them, separated by blanks, in the order in which their names are likely to be looked up.
    """

    def __init__(self, package: str, modules: str) -> None:
        self._waiting = [f"{package}.{module}" for module in modules.split()]
        self._entries: dict[str, T] = {}
        self._elsewhere: list[tuple[Mapping[str, Any], Set[str], T]] = []
        self._lock = RLock()

    def add(self, name: str, entry: T) -> None:
        """Add the entry of a name that has no entry yet."""
        assert name not in self._entries, name
        self._entries[name] = entry

    def adds(self, *names: str) -> Callable[[T], T]:
        """Return a decorator that adds the function below it under these names."""

        def added(entry: T) -> T:
            for name in names:
                self.add(name, entry)
            return entry

        return added

    def also(self, entry: T, names: Mapping[str, Any], but: Set[str]) -> None:
        """Add an entry for all names of another table except those in `but`; names with an entry keep theirs."""
        self._elsewhere.append((names, but, entry))

    def _find(self, name: str) -> bool:
        """Return whether a name has an entry so far, its own or one from `also`, which is then stored under it."""
        if name not in self._entries:
            entries = (entry for names, but, entry in self._elsewhere if name not in but and name in names)
            self._entries.update((name, entry) for entry in entries)
        return name in self._entries

    def __getitem__(self, name: str) -> T:
        if name not in self._entries:
            with self._lock:
                while not self._find(name) and self._waiting:
                    import_module(self._waiting[0])
                    del self._waiting[0]
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            for module in self._waiting:
                import_module(module)
            self._waiting.clear()
            for names, _, _ in self._elsewhere:
                for name in names:
                    self._find(name)
        return iter(self._entries)

    def __len__(self) -> int:
        return sum(1 for _ in self)
