"""Whether code treats an open parameter as it treats a Python number.

A trace does not show that code tested the type of a number, or caught the exception that a number left open raises. So
the source of a rule is searched, and that of all functions, custom rules and classes outside the libraries that it can
reach by a name, for whatever could tell the two apart. What cannot be searched counts as telling them apart.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from certgrad._subject import Subject
from certgrad.jaxpr.closures import captured, kind_of_rule
from certgrad.obligations.generality.rank_blind import REFLECTION
from certgrad.obligations.generality.reach import LIBRARIES, loads, runnable_parts, values_in
from certgrad.obligations.generality.syntax import compared_by_identity, name_of, source_tree
from certgrad.obligations.tracing.jax_internals import from_library

_QUESTIONS = (
    "isinstance issubclass type float int bool complex callable hasattr getattr setattr vars dir id eval exec compile "
    "globals locals __import__ memoryview"
).split()
_ASKED = [getattr(builtins, name) for name in _QUESTIONS]
_NAMES = {
    *_QUESTIONS,
    *REFLECTION,
    *"isscalar isrealobj iscomplexobj suppress warnings import_module importlib sys inspect gc builtins".split(),
    *"attrgetter methodcaller numbers pickle copyreg ctypes modules typeof get_aval singledispatch".split(),
}
_BRANCHES = (ast.Try, ast.TryStar, ast.Match, ast.With, ast.AsyncWith, ast.Import, ast.ImportFrom)
_PLAIN = (int, float, complex, str, bytes, type(None), np.ndarray, np.generic, np.dtype, jax.Array)
_JITTED = type(jax.jit(lambda x: x))
_UFUNCS = (np.ufunc, type(jnp.add))


def tells_apart(subject: Subject) -> str:
    """Return why the code of a rule may tell an open parameter from a Python number, or ""."""
    queue = list(subject.code)
    seen: dict[int, Any] = {}
    while queue:
        value = queue.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value  # kept, so that no other object gets its id
        inner = _searchable_parts(value)
        if inner is None:
            return f"the code of {getattr(value, '__name__', type(value).__name__)} cannot be searched"
        queue += inner
        if isinstance(value, FunctionType) and not from_library(value.__code__.co_filename):
            queue += _values_reached_by_name(value)
            if reason := _in_source(value):
                return reason
    return ""


def _searchable_parts(value: Any) -> list[Any] | None:
    """Return the parts of a value that may run; None where they are not known."""
    if isinstance(value, (*_PLAIN, *_UFUNCS)):
        return []
    if any(value is asked for asked in _ASKED):
        return None
    if kind_of_rule(value):
        return runnable_parts(value)
    if isinstance(value, (partial, _JITTED)) or type(value) in (dict, list, tuple, set, frozenset):
        return runnable_parts(value)
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, FunctionType):
        return _of_function(value)
    if isinstance(value, (BuiltinFunctionType, ModuleType)):
        return []
    if isinstance(value, type):
        own = (getattr(f, "__func__", f) for f in vars(value).values())
        return [] if _of_library(value) else [f for f in own if isinstance(f, FunctionType) and _is_handwritten(f)]
    return None


def _of_function(function: FunctionType) -> list[Any] | None:
    """Return what a wrapper wraps, and what a library's function closes over; None for a dispatch by type."""
    if hasattr(function, "registry"):
        return None
    out = [function.__wrapped__] if hasattr(function, "__wrapped__") else []
    if from_library(function.__code__.co_filename):
        cells = captured(function)
        out += [v for v in cells if isinstance(v, FunctionType) and not from_library(v.__code__.co_filename)]
    return out


def _values_reached_by_name(function: FunctionType) -> Iterator[Any]:
    """Yield what code reaches by a name, and the builtins that test types."""
    yield from values_in(function)
    asking = {*loads(function.__code__)[0]} & {*_QUESTIONS} - function.__globals__.keys()
    yield from (getattr(builtins, name) for name in sorted(asking))


def _of_library(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "builtins").split(".")[0] in LIBRARIES


def _is_handwritten(function: FunctionType) -> bool:
    """Return whether a function's source was written by hand, and not made by a decorator such as dataclass."""
    return not function.__code__.co_filename.startswith("<")


def _in_source(function: FunctionType) -> str:
    name = function.__name__
    tree = source_tree(function)
    if tree is None:
        return f"the source of {name} is not readable"
    running = [node for part in _body(tree) for node in _running(part)]
    used = {name_of(node) for node in running if isinstance(node, (ast.Attribute, ast.Name))}
    found = (used & _NAMES) | {n for n in used if re.fullmatch(r"__\w+__", n)}
    if found:
        return f"{name} uses {min(found)}"
    for node in running:
        if isinstance(node, _BRANCHES):
            return f"{name} may test types or catch exceptions"
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"__\w+__", node.value):
            return f"{name} uses {node.value}"
    # `a is None` a number answers alike whether it is open or not
    if any(any(compared_by_identity(part)) for part in _body(tree)):
        return f"{name} compares objects by identity"
    return ""


def _body(tree: ast.FunctionDef | ast.Lambda) -> list[ast.AST]:
    """Return what runs in a call: decorators, defaults and annotations run at the definition."""
    return [tree.body] if isinstance(tree, ast.Lambda) else [*tree.body]


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and those in it, without annotations, which do nothing with the values."""
    yield node
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns"):
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, ast.AST):
                    yield from _running(part)
