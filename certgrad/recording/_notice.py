"""How calls are noticed: `jax.custom_vjp` and `jax.custom_jvp` tell of each call, for the time of a run.

The classes stay what they are, so that rules behind `functools.wraps`, in a `partial` or in a pickle are noticed too.
JAX itself is imported when the program does it: what a program says by the environment before that still counts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_HOME = "jax._src.custom_derivatives"
_CLASSES = ("custom_vjp", "custom_jvp")
Told = Callable[[Any, tuple, dict], None]
"""Told of a call that has returned: the custom function, its arguments by position and by name."""


@contextmanager
def noticed(told: Told) -> Iterator[None]:
    """Tell of each call of a custom function, inside the block; the calls themselves are as ever."""
    changed: list[tuple[type, Any]] = []

    def change(module: ModuleType) -> None:
        _hide_frames()
        for name in _CLASSES:
            kind = getattr(module, name)
            changed.append((kind, kind.__call__))
            type.__setattr__(kind, "__call__", _telling(kind.__call__, told))

    finder = _OnImport(change)
    if _HOME in sys.modules:
        change(sys.modules[_HOME])
    else:
        sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        with suppress(ValueError):
            sys.meta_path.remove(finder)
        for kind, original in changed:
            type.__setattr__(kind, "__call__", original)


def _telling(original: Any, told: Told) -> Any:
    """The call, and what is told of it: nothing that goes wrong in the telling reaches the program."""
    from jax._src.traceback_util import api_boundary

    @wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = original(self, *args, **kwargs)
        with suppress(Exception):
            told(self, args, kwargs)
        return found

    # JAX shows tracebacks without its own frames, from its outermost boundary on: then this one is not shown either.
    return api_boundary(call)


def _hide_frames() -> None:
    """JAX leaves these files out of tracebacks, and out of what it takes for the user's line."""
    from jax._src import source_info_util, traceback_util

    for module in (traceback_util, source_info_util):
        with suppress(Exception):
            module.register_exclusion(__file__)


class _OnImport(MetaPathFinder):
    """Tells when JAX's module of custom functions has been imported; the import itself is what it would be."""

    def __init__(self, then: Callable[[ModuleType], None]) -> None:
        self.then = then

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """What the other finders find."""
        if name != _HOME:
            return None
        others = [f for f in sys.meta_path if f is not self and hasattr(f, "find_spec")]
        spec = next((s for f in others if (s := f.find_spec(name, path, target)) is not None), None)
        loader: Any = getattr(spec, "loader", None)
        if loader is None:
            return spec
        run = loader.exec_module

        def then(module: ModuleType) -> None:
            with suppress(AttributeError):
                del loader.exec_module
            run(module)
            self.then(module)

        with suppress(AttributeError):
            loader.exec_module = then
        return spec
