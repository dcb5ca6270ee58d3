"""Whether code asks for what surrounds it: JAX's settings, its devices, the environment of the process."""

from __future__ import annotations

import dis
import os
from collections.abc import Iterable
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

import jax
from jax.extend import backend

from .reach import code_in, loads

ANSWERS: dict[int, Any] = {
    id(value): value
    for value in (
        jax.config,
        jax.default_backend,
        jax.devices,
        jax.local_devices,
        jax.device_count,
        jax.local_device_count,
        jax.process_index,
        jax.process_count,
        backend.get_backend,
        os.environ,
        os.getenv,
    )
}
"""What answers, by identity."""
_NAMES = frozenset(
    "config default_backend devices local_devices device_count local_device_count process_index process_count "
    "get_backend xla_bridge environ getenv".split()
)


_TELLING = frozenset("is_constant_dim is_constant_shape is_symbolic_dim is_symbolic_shape is_dim _DimExpr".split())
"""What tells the two apart. Code that does is compared at all sizes that its integers suggest."""


def asks_for_surroundings(functions: Iterable[FunctionType]) -> bool:
    """Some of these functions name, by themselves, what answers for the surroundings."""
    return any(_asks(f) for f in functions)


def tells_numbers(functions: Iterable[FunctionType]) -> bool:
    """Some of these functions name what tells a size that is a number from a symbolic one."""
    return any(
        not _TELLING.isdisjoint(names) for f in functions for names in (*loads(f.__code__), f.__code__.co_freevars)
    )


def _asks(function: FunctionType) -> bool:
    chains, imported = _named(function.__code__)
    if not _NAMES.isdisjoint(imported):
        return True
    for first, *rest in chains:
        value = function.__globals__.get(first)
        for name in (None, *rest):
            if name is not None:
                value = getattr(value, name, None) if isinstance(value, ModuleType) else None
            if id(value) in ANSWERS or (isinstance(value, ModuleType) and value.__name__.endswith("xla_bridge")):
                return True
    return any(id(c.cell_contents) in ANSWERS for c in function.__closure__ or () if _full(c))


def _full(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # a cell is empty before its variable is assigned
        return False


@lru_cache(maxsize=4096)
def _named(code: CodeType) -> tuple[list[tuple[str, ...]], set[str]]:
    """Global names with the attributes that are taken of them one after the other, and what is imported inside."""
    chains: list[tuple[str, ...]] = []
    imported: set[str] = set()
    for part in code_in(code):
        chain: tuple[str, ...] = ()
        for instruction in dis.get_instructions(part):
            name = instruction.opname
            if name in ("LOAD_ATTR", "LOAD_METHOD") and chain:
                chain = (*chain, str(instruction.argval))
                continue
            if chain:
                chains.append(chain)
            chain = (str(instruction.argval),) if name in ("LOAD_GLOBAL", "LOAD_NAME") else ()
            if name == "IMPORT_FROM":
                imported.add(str(instruction.argval))
    return chains, imported
