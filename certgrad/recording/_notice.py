"""How calls are noticed: `jax.custom_vjp` and `jax.custom_jvp` tell of each call, for the time of a run; so do
`jax.grad`, `value_and_grad`, `vjp` and `linearize`, of what they are given, if that is asked for.

The classes stay what they are, so that rules behind `functools.wraps`, in a `partial` or in a pickle are noticed too.
JAX itself is imported when the program does it: what a program says by the environment before that still counts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial, wraps
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_RULES = "jax._src.custom_derivatives"
_CLASSES = ("custom_vjp", "custom_jvp")
_TRANSFORMATIONS = "jax._src.api"
CallListener = Callable[[Any, tuple, dict], None]
"""Told of a call that has returned: the custom function, its arguments by position and by name."""
Differentiated = Callable[[Any, bool, tuple, dict], None]
"""Told of a function that was differentiated: whether it has an auxiliary output, and its arguments."""


@contextmanager
def noticed(told: CallListener, differentiated: Differentiated | None = None) -> Iterator[None]:
    """Tell of each call of a custom function, and of what is differentiated, inside the block; the calls themselves
    are as ever.
    """
    undo: list[Callable[[], None]] = []

    def of_rules(module: ModuleType) -> None:
        _hide_frames()
        for name in _CLASSES:
            kind = getattr(module, name)
            undo.append(partial(type.__setattr__, kind, "__call__", kind.__call__))
            type.__setattr__(kind, "__call__", _telling(kind.__call__, told))

    def of_transformations(module: ModuleType) -> None:
        assert differentiated is not None
        made = {
            "value_and_grad": _telling_of_gradients(module.value_and_grad, differentiated),  # `grad` calls it
            "vjp": _telling_of_points(module.vjp, differentiated),
            "linearize": _telling_of_points(module.linearize, differentiated),
        }
        places = [module, *(m for m in (sys.modules.get("jax"),) if m is not None)]
        for name, new in made.items():
            for place in places:
                if hasattr(place, name):
                    undo.append(partial(setattr, place, name, getattr(place, name)))
                    setattr(place, name, new)

    wanted = {_RULES: of_rules} | ({_TRANSFORMATIONS: of_transformations} if differentiated is not None else {})
    finders = []
    for home, change in wanted.items():
        if home in sys.modules:
            change(sys.modules[home])
        else:
            finders.append(_OnImport(home, change))
    sys.meta_path[:0] = finders
    try:
        yield
    finally:
        for finder in finders:
            with suppress(ValueError):
                sys.meta_path.remove(finder)
        for back in undo:
            back()


def _telling(original: Any, told: CallListener) -> Any:
    """Make a call and report it; an error in the report never reaches the program."""
    from jax._src.traceback_util import api_boundary

    @wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = original(self, *args, **kwargs)
        with suppress(Exception):
            told(self, args, kwargs)
        return found

    # JAX shows tracebacks without its own frames, from its outermost boundary on: then this one is not shown either.
    return api_boundary(call)


def _telling_of_gradients(original: Any, told: Differentiated) -> Any:
    """`value_and_grad`, whose functions tell of each call."""

    @wraps(original)
    def transform(fun: Any, argnums: Any = 0, has_aux: bool = False, **options: Any) -> Any:
        made = original(fun, argnums, has_aux, **options)

        @wraps(made)
        def call(*args: Any, **kwargs: Any) -> Any:
            found = made(*args, **kwargs)
            with suppress(Exception):
                told(fun, has_aux, args, kwargs)
            return found

        return call

    return transform


def _telling_of_points(original: Any, told: Differentiated) -> Any:
    """`vjp` or `linearize`, which tells of each call."""

    @wraps(original)
    def transform(fun: Any, *primals: Any, **options: Any) -> Any:
        found = original(fun, *primals, **options)
        with suppress(Exception):
            told(fun, bool(options.get("has_aux")), primals, {})
        return found

    return transform


def _hide_frames() -> None:
    """Have JAX leave these files out of tracebacks and of users' lines."""
    from jax._src import source_info_util, traceback_util

    for module in (traceback_util, source_info_util):
        with suppress(Exception):
            module.register_exclusion(__file__)


class _OnImport(MetaPathFinder):
    """An import hook that reports when a module has been imported."""

    def __init__(self, home: str, then: Callable[[ModuleType], None]) -> None:
        self.home, self.then = home, then

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec that the other finders find."""
        if name != self.home:
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
