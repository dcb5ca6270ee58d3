"""What modules hold that code names: their numbers, and their settings. Code may count its calls there too.

A setting of a module of Python or numpy is what one of its functions returns without arguments, where another sets it:
`sys` has `getrecursionlimit` and `setrecursionlimit`. Functions of other modules may do anything, and are not called.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from types import FunctionType, ModuleType
from typing import Any

from ..generality.reach import loads

_HARMLESS = sys.stdlib_module_names | {"numpy"}


def modules_named(functions: Iterable[FunctionType]) -> list[ModuleType]:
    """The modules that functions name, also as parts of others, and those whose functions they name."""
    functions = list(functions)
    found: dict[str, ModuleType] = {}
    for function in functions:
        for name in loads(function.__code__)[0]:
            value = function.__globals__.get(name)
            module = value if isinstance(value, ModuleType) else sys.modules.get(str(getattr(value, "__module__", "")))
            if module is not None and vars(module) is not function.__globals__:
                found.setdefault(module.__name__, module)
        for cell in function.__closure__ or ():
            with suppress(ValueError):  # a cell is empty before its variable is assigned
                if isinstance(cell.cell_contents, ModuleType):
                    found.setdefault(cell.cell_contents.__name__, cell.cell_contents)
    parts = {name for f in functions for name in loads(f.__code__)[1]}
    for module in list(found.values()):
        inner = (vars(module).get(name) for name in sorted(parts))
        found.update((one.__name__, one) for one in inner if isinstance(one, ModuleType))
    return list(found.values())


def tables_in(module: ModuleType, functions: Iterable[FunctionType]) -> dict[str, Any]:
    """The lists, tables and sets of a module that functions name."""
    named = {name for f in functions for name in loads(f.__code__)[1]}
    return {n: v for n in sorted(named) if isinstance(v := vars(module).get(n), (list, dict, set, bytearray))}


def numbers_in(names: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers and texts of a module."""
    return {n: v for n, v in list(names.items()) if isinstance(v, (int, float, str))}


def settings_of(modules: Iterable[ModuleType]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The settings of modules, by the name of the function that tells them."""
    for module in (m for m in modules if m.__name__.partition(".")[0] in _HARMLESS):
        own = dict(vars(module))
        for name, tells in own.items():
            if name.startswith("get") and f"set{name[3:]}" in own and callable(tells):
                yield f"{module.__name__}.{name}()", tells


def told(tells: Callable[[], Any]) -> Any:
    """What a function tells; nothing where it cannot be asked so."""
    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("ignore")
        return tells()
    return None
