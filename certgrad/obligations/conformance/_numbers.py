"""What is looked at because it stands in the code: sizes, and names of axes of a mesh.

The sizes are small ones, powers of two, and every integer that stands in the code, with its neighbours. Code that
treats one size on its own says somewhere which: as a constant, in a table, in a text, in what it closes over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import combinations, islice
from math import isqrt
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from certgrad._closures import captured

from ..generality.reach import loads, values_in

SMALL = (1, 2, 3, 4, 5, 6, 7, 8, 16, 512)
"""The last is more than integers of 8 bits can hold."""
LARGEST = 2**21
"""A larger size is not looked at."""
MOST = 48
"""So many integers of the code are looked at, the smallest first."""
MOST_TOGETHER, MOST_SETS = 52, 4096
"""So many answers to questions of broadcasts are looked at, of so many sets of them, the smallest first: all that four
sizes can be to each other and to 1."""
MOST_SHAPES, MOST_AXES = 16, 8
"""So many shapes of at most so many axes are."""
MOST_NAMES = 16
"""And so many names, as of axes."""
ENTRIES = 64
"""Of a table that code holds, so many entries are read."""
DEPTH = 4


def in_code(functions: Iterable[FunctionType]) -> tuple[int, ...]:
    """The integers that can be sizes in the functions' code and in what it names, closes over and defaults to."""
    return tuple(sorted(n for n in _found(functions) if isinstance(n, int) and 0 < n <= LARGEST))


def shapes_in_code(functions: Iterable[FunctionType]) -> tuple[tuple[int, ...], ...]:
    """The tuples there that can be shapes of several axes, and the shapes of arrays."""
    shapes = sorted(n for n in _found(functions) if isinstance(n, tuple) and all(0 < k <= LARGEST for k in n))
    return tuple(shapes[:MOST_SHAPES])


def _found(functions: Iterable[FunctionType]) -> set[int | tuple[int, ...]]:
    found: set[int | tuple[int, ...]] = set()
    seen: dict[int, Any] = {}
    for function in functions:
        loaded, attributes = loads(function.__code__)
        held = [function.__globals__[n] for n in loaded if n in function.__globals__]
        modules = [m for m in held if isinstance(m, ModuleType)]
        held += [vars(m)[n] for m in modules for n in attributes if isinstance(vars(m).get(n), (int, str, tuple, dict))]
        held += [*captured(function), *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        for value in (*_constants(function.__code__), *held):
            with suppress(Exception):  # an object may refuse to be looked at
                found.update(_integers(value, seen, DEPTH))
    return found


def names_in_code(functions: Iterable[FunctionType]) -> tuple[str, ...]:
    """The texts in the functions' code, and in what it reaches by a name, that can be names of axes."""
    found: dict[str, None] = {}
    for function in functions:
        for value in (*_constants(function.__code__), *values_in(function)):
            values = value if isinstance(value, (tuple, frozenset)) else (value,)
            found.update((v, None) for v in values if type(v) is str and v.isidentifier())
    return tuple(found)[:MOST_NAMES]


def _constants(code: CodeType) -> Iterator[Any]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _constants(constant)
        elif constant is not code.co_consts[0] or not isinstance(constant, str):  # the docstring is no code
            yield constant


def _integers(value: Any, seen: dict[int, Any], depth: int) -> Iterator[int | tuple[int, ...]]:
    """The integers in a value: its own, those of its parts, and how many parts it has; and tuples of them."""
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
        for listed in re.findall(r"\d+(?:[\s,;x×]+\d+)+", text[:1000]):
            yield from _as_shape([int(t) for t in re.findall(r"\d+", listed) if len(t) < 9])
    elif isinstance(value, range):
        yield from map(abs, (value.start, value.stop, value.step))
    elif isinstance(value, (FunctionType, ModuleType, type)) or id(value) in seen:
        return
    else:
        seen[id(value)] = value
        yield from _parts(value, seen, depth - 1)


def _parts(value: Any, seen: dict[int, Any], depth: int) -> Iterator[int | tuple[int, ...]]:
    if isinstance(value, dict):
        parts: list[Any] = [*islice(value, ENTRIES), *islice(value.values(), ENTRIES)]
    elif isinstance(value, (tuple, list, set, frozenset)):
        parts = list(islice(value, ENTRIES))
    elif hasattr(value, "shape") and hasattr(value, "dtype"):
        parts = list(value.shape)
        yield from _as_shape(parts)
        if getattr(value.dtype, "kind", "") in "iu" and getattr(value, "size", ENTRIES + 1) <= ENTRIES:
            parts += np.asarray(value).ravel().tolist()
    elif hasattr(value, "__dict__"):
        # As little as of a plain function are the annotations looked at that one was given from what it wraps.
        wraps = "__wrapped__" in vars(value)
        parts = [v for n, v in islice(vars(value).items(), ENTRIES) if not (wraps and n == "__annotations__")]
    else:
        return
    if isinstance(value, (tuple, list)):
        yield from _as_shape(parts)
    if isinstance(value, (dict, tuple, list, set, frozenset)):
        yield len(value)
    for part in parts:
        yield from _integers(part, seen, depth)


def _as_shape(parts: Sequence[Any]) -> Iterator[tuple[int, ...]]:
    """The parts as a shape of several axes, if they can be one."""
    if 1 < len(parts) <= MOST_AXES and all(type(n) is int for n in parts):
        yield tuple(parts)


def as_they_are(names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> list[dict[str, int]]:
    """Shapes of as many axes as there are dimensions, as they are and turned round.

    Types of arrays can be compared without a question about a size.
    """
    if len(names) < 2:
        return []
    ways = (way for shape in shapes if len(shape) == len(names) for way in (shape, shape[::-1]))
    return [dict(zip(names, way, strict=True)) for way in dict.fromkeys(ways)]


def assignments(names: Sequence[str], numbers: Sequence[int]) -> list[dict[str, int]]:
    """Values of all dimensions, so that each takes every size: first those that always are looked at, then the code's.

    Dimensions take different sizes, the next of the list each. A number of the code may be that of the entries of an
    array, of their bytes, or of a square: then it is a product of sizes.
    """
    told = sorted(numbers)[:MOST]
    near = {m for n in told for m in (n - 1, n, n + 1) if 0 < m <= LARGEST}
    near |= {isqrt(n) + k for n in told for k in (0, 1) if n > SMALL[-1]}
    near |= {a // b for a in told for b in told if 1 < b < a and a % b == 0 and a > SMALL[-1]}
    near |= {n // width for n in told for width in (2, 4, 8) if n % width == 0 and n > 2 * width}
    listed = [*SMALL, *sorted(near - {*SMALL})]
    out = [_turned(names, listed, k) for k in range(len(listed))]
    if len(names) > 1:
        out += [_product(names, n) for n in told if n > 3]
        out += [dict.fromkeys(names, n) for n in told if n > 1]
    return list({str(a): a for a in out}.values())


def together(names: Sequence[str], asked: Sequence[tuple[str, str]]) -> tuple[list[dict[str, int]], bool]:
    """For each set of questions, sizes at which these are answered with yes and no others: whether a size is another
    one, or 1. And whether there is more to look at.

    JAX's code asks that in broadcasts, and tells nobody but the code that called it what it heard.
    """
    found: dict[tuple[int, ...], None] = {}
    sets = (some for count in range(1, len(asked) + 1) for some in combinations(asked, count))
    for some in islice(sets, MOST_SETS):
        sizes = {name: 3 + 2 * k for k, name in enumerate(names)}
        for name, other in some:
            new, old = sorted((sizes[name], 1 if other == "1" else sizes[other]))
            sizes = {n: new if size == old else size for n, size in sizes.items()}
        found.setdefault(tuple(sizes.values()))
    out = [dict(zip(names, sizes, strict=True)) for sizes in found]
    return out[:MOST_TOGETHER], len(out) > MOST_TOGETHER or next(sets, None) is not None


def _turned(names: Sequence[str], sizes: Sequence[int], start: int) -> dict[str, int]:
    """The dimensions at consecutive sizes of the list, those after a large one at small sizes."""
    found = {name: sizes[(start + k) % len(sizes)] for k, name in enumerate(names)}
    first = found[names[0]]
    if first > 512:
        found = {name: first if k == 0 else SMALL[1 + k % 3] for k, name in enumerate(names)}
    return found


def _product(names: Sequence[str], number: int) -> dict[str, int]:
    """Sizes whose product is the number: the first prime factors one by one, the rest last."""
    left, sizes = number, []
    for _ in names[1:]:
        factor = next((p for p in range(2, min(left, 1000)) if left % p == 0), 1)
        sizes.append(factor)
        left //= factor
    return dict(zip(names, [*sizes, left], strict=True))
