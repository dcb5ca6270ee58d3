"""Whether code treats a number that is left open as it treats a Python number.

A trace does not show that code tested the type of a number, or caught the exception that a number left open raises. So
the source of a rule is searched, and that of the functions, custom rules and classes outside the libraries that it
names, for whatever could tell the two apart. What cannot be searched counts as telling them apart.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import jax

from certgrad.obligations._jax_internals import from_library
from certgrad.obligations._rank_blind import HIDDEN, LIBRARIES, loads, names_in, source_tree

from ._layers import kind_of_rule

_TESTS = {"isinstance", "issubclass", "type", "float", "int", "bool", "callable", "hasattr", "suppress", "warnings"}
_JITTED = type(jax.jit(lambda x: x))


def tells_apart(rule: Any) -> str:
    """Why the code of a rule may tell a number left open from a Python number, or an empty text."""
    queue: list[Any] = [rule.function, rule.custom, rule.forward, rule.fwd_rule, rule.vjp_rule, rule.jvp_rule]
    queue += rule.further
    seen: set[int] = set()
    while queue:
        value = queue.pop()
        if value is None or id(value) in seen or _of_library(value):
            continue
        seen.add(id(value))
        inner = list(_inside(value))
        queue += inner
        if not isinstance(value, FunctionType):
            if not inner and not isinstance(value, (type, ModuleType)):
                return f"the code of {getattr(value, '__name__', type(value).__name__)} cannot be searched"
            continue
        if from_library(value.__code__.co_filename):
            continue  # a wrapper; what it wraps is searched
        queue += _used(value)
        if reason := _in_source(value):
            return reason
    return ""


def _used(function: FunctionType) -> Iterator[Any]:
    """What code names: globals, closed-over values, attributes of modules; what containers hold, classes of objects."""
    loaded, attributes = loads(function.__code__)
    values = [function.__globals__.get(name) for name in loaded]
    values += [cell.cell_contents for cell in function.__closure__ or () if _filled(cell)]
    for value in values:
        if isinstance(value, ModuleType):
            if value.__name__.split(".")[0] not in LIBRARIES:
                yield from (getattr(value, name, None) for name in attributes)
        elif type(value) in (dict, list, tuple, set, frozenset):
            leaves = jax.tree_util.tree_leaves(list(value) if isinstance(value, (set, frozenset)) else value)
            yield from (leaf if callable(leaf) else type(leaf) for leaf in leaves)
        elif value is not None:
            yield value if callable(value) else type(value)


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _of_library(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "builtins").split(".")[0] in LIBRARIES and not kind_of_rule(value)


def _inside(value: Any) -> Iterator[Any]:
    """The functions that an object is made of."""
    if kind_of_rule(value):
        for name in ("fun", "fn", "fwd", "fn_fwd", "bwd", "fn_bwd", "jvp"):
            yield getattr(value, name, None)
    elif isinstance(value, type):
        yield from (f for f in vars(value).values() if isinstance(f, FunctionType) and _written(f))
    elif isinstance(value, (_JITTED, FunctionType)) and hasattr(value, "__wrapped__"):
        yield value.__wrapped__
    if hasattr(value, "func") and hasattr(value, "keywords"):  # a partial
        yield value.func
        yield from (v for v in (*value.args, *value.keywords.values()) if callable(v))


def _written(function: Callable) -> bool:
    """Its source was written, and not made by a decorator such as dataclass."""
    return not getattr(function, "__code__", None) or not function.__code__.co_filename.startswith("<")


def _in_source(function: FunctionType) -> str:
    name = function.__name__
    tree = source_tree(function)
    if tree is None:
        return f"the source of {name} is not readable"
    found = names_in(tree) & (_TESTS | HIDDEN)
    if found:
        return f"{name} uses {min(found)}"
    if any(isinstance(node, (ast.Try, ast.TryStar, ast.Match)) for node in ast.walk(tree)):
        return f"{name} may test types or catch exceptions"
    if hasattr(function, "registry") or inspect.isgeneratorfunction(function):
        return f"{name} may choose by type"
    return ""
