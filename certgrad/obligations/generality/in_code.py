"""The integers in code that may be sizes.

Code that treats one size specially has that number somewhere: as a constant, in a table, in a text, in a closure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from certgrad.jaxpr.closures import captured

from .reach import loads

LARGEST = 2**21
"""The largest integer of the code that may be a size."""
ENTRIES = 64
"""At most this many entries of a table in the code are read."""
DEPTH = 4
"""At most this many levels of containers inside of each other are searched for integers."""


_TELLING = frozenset("is_constant_dim is_constant_shape is_symbolic_dim is_symbolic_shape is_dim _DimExpr".split())
"""Names of what tells a numeric size from a symbolic one. Code that uses one is compared at all sizes that it names."""


def tells_numbers(functions: Iterable[FunctionType]) -> bool:
    """Return whether one of these functions names something that tells a numeric size from a symbolic one."""
    return any(
        not _TELLING.isdisjoint(names) for f in functions for names in (*loads(f.__code__), f.__code__.co_freevars)
    )


def in_code(functions: Iterable[FunctionType]) -> tuple[int, ...]:
    """Return the integers in the functions' code, and in what it names, closes over and defaults to, that may be sizes.

    They are sorted, positive and at most `LARGEST`.
    """
    integers: set[int] = set()
    seen: dict[int, Any] = {}
    for function in functions:
        loaded, attributes = loads(function.__code__)
        values = [function.__globals__[n] for n in loaded if n in function.__globals__]
        modules = [m for m in values if isinstance(m, ModuleType)]
        values += [
            vars(m)[n] for m in modules for n in attributes if isinstance(vars(m).get(n), (int, str, tuple, dict))
        ]
        values += [*captured(function), *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        for value in (*_constants(function.__code__), *values):
            with suppress(Exception):  # an object may refuse to be looked at
                integers.update(_integers(value, seen, DEPTH))
    return tuple(sorted(n for n in integers if 0 < n <= LARGEST))


def _constants(code: CodeType) -> Iterator[Any]:
    """Yield the constants of code and of the functions inside it, but for docstrings."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _constants(constant)
        elif constant is not code.co_consts[0] or not isinstance(constant, str):  # the docstring is no code
            yield constant


def _integers(value: Any, seen: dict[int, Any], depth: int) -> Iterator[int]:
    """Yield the integers in a value: those of a number, a text or a range, or of its parts and how many they are.

    `seen` are the containers that were read, by id; `depth` is how many more levels of containers are read.
    """
    if isinstance(value, bool) or value is None or depth == 0:
        return
    if isinstance(value, (int, np.integer)):
        yield abs(int(value))
    elif isinstance(value, (float, np.floating)):
        if value == int(value) if np.isfinite(value) else False:
            yield abs(int(value))
    elif isinstance(value, (str, bytes)):
        text = value if isinstance(value, str) else value.decode(errors="replace")
        yield from (int(t) for t in re.findall(r"\d+", text[:1000]) if len(t) < 9)
    elif isinstance(value, range):
        yield from map(abs, (value.start, value.stop, value.step))
    elif isinstance(value, (FunctionType, ModuleType, type)) or id(value) in seen:
        return
    else:
        seen[id(value)] = value
        yield from _integers_of_parts(value, seen, depth - 1)


def _integers_of_parts(value: Any, seen: dict[int, Any], depth: int) -> Iterator[int]:
    """Yield the integers in a container, an array (its shape, and few entries) or an object's attributes."""
    if isinstance(value, dict):
        parts: list[Any] = [*islice(value, ENTRIES), *islice(value.values(), ENTRIES)]
    elif isinstance(value, (tuple, list, set, frozenset)):
        parts = list(islice(value, ENTRIES))
    elif hasattr(value, "shape") and hasattr(value, "dtype"):
        parts = list(value.shape)
        if getattr(value.dtype, "kind", "") in "iu" and getattr(value, "size", ENTRIES + 1) <= ENTRIES:
            parts += np.asarray(value).ravel().tolist()
    elif hasattr(value, "__dict__"):
        # The annotations of a function are not read, so neither are those that a wrapper copied from one.
        wraps = "__wrapped__" in vars(value)
        parts = [v for n, v in islice(vars(value).items(), ENTRIES) if not (wraps and n == "__annotations__")]
    else:
        return
    if isinstance(value, (dict, tuple, list, set, frozenset)):
        yield len(value)
    for part in parts:
        yield from _integers(part, seen, depth)
