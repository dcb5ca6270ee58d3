"""Listening to calls: during a run, `jax.custom_vjp` and `jax.custom_jvp` report each call; on request, `jax.grad`,
`value_and_grad`, `vjp` and `linearize` report the functions that they differentiate.

Only the `__call__` of the two classes is replaced, so that rules behind `functools.wraps`, in a `partial` or in a
pickle are noticed too. JAX is imported when the program imports it: environment variables that it sets before count.
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
"""A function that hears of a call that has returned: the custom function, its arguments by position and by name."""
Differentiated = Callable[[Any, bool, tuple, dict], None]
"""A function that hears of a differentiated function: it, whether it has an auxiliary output, and its arguments."""


@contextmanager
def noticed(told: CallListener, differentiated: Differentiated | None = None) -> Iterator[None]:
    """Report each call of a custom function, and each differentiated function, inside the block.

    `told` hears of calls; `differentiated`, if given, of functions. The calls themselves are not changed.
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
        replacements = {
            "value_and_grad": _telling_of_gradients(module.value_and_grad, differentiated),  # `grad` calls it
            "vjp": _telling_of_points(module.vjp, differentiated),
            "linearize": _telling_of_points(module.linearize, differentiated),
        }
        # The public names in `jax` are copies of those in the module that defines them: both are replaced.
        places = [module, *(m for m in (sys.modules.get("jax"),) if m is not None)]
        for name, new in replacements.items():
            for place in places:
                if hasattr(place, name):
                    undo.append(partial(setattr, place, name, getattr(place, name)))
                    setattr(place, name, new)

    changes_by_module = {_RULES: of_rules} | (
        {_TRANSFORMATIONS: of_transformations} if differentiated is not None else {}
    )
    finders = []
    for home, change in changes_by_module.items():
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
        for restore in undo:
            restore()


def _telling(original: Any, told: CallListener) -> Any:
    """Return `__call__` with a report of each call that returns; an error in the report never reaches the program."""
    from jax._src.traceback_util import api_boundary

    @wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        with suppress(Exception):
            told(self, args, kwargs)
        return result

    # JAX hides its own frames in tracebacks, from its outermost boundary on; as a boundary, this frame is hidden too.
    return api_boundary(call)


def _telling_of_gradients(original: Any, told: Differentiated) -> Any:
    """Return `value_and_grad` such that the functions it makes report each call."""

    @wraps(original)
    def transform(fun: Any, argnums: Any = 0, has_aux: bool = False, **options: Any) -> Any:
        transformed = original(fun, argnums, has_aux, **options)

        @wraps(transformed)
        def call(*args: Any, **kwargs: Any) -> Any:
            result = transformed(*args, **kwargs)
            with suppress(Exception):
                told(fun, has_aux, args, kwargs)
            return result

        return call

    return transform


def _telling_of_points(original: Any, told: Differentiated) -> Any:
    """Return `vjp` or `linearize` with a report of each call."""

    @wraps(original)
    def transform(fun: Any, *primals: Any, **options: Any) -> Any:
        result = original(fun, *primals, **options)
        with suppress(Exception):
            told(fun, bool(options.get("has_aux")), primals, {})
        return result

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
        """Return the spec that the other finders find, with a loader that calls `then` after it has run the module.

        None for any other module than `home`.
        """
        if name != self.home:
            return None
        finders = [f for f in sys.meta_path if f is not self and hasattr(f, "find_spec")]
        spec = next((s for f in finders if (s := f.find_spec(name, path, target)) is not None), None)
        loader: Any = getattr(spec, "loader", None)
        if loader is None:
            return spec
        run = loader.exec_module  # replaced for one call, after which the module is complete and can be changed

        def then(module: ModuleType) -> None:
            with suppress(AttributeError):
                del loader.exec_module
            run(module)
            self.then(module)

        with suppress(AttributeError):
            loader.exec_module = then
        return spec
