"""Whether code treats an open parameter (a scalar that a trace leaves symbolic) as it treats a Python number.

A trace does not show that code tested the type of a number, or caught the exception that an open parameter raises. So
the source of a rule, and of all functions, custom rules and classes outside the libraries that it can reach by a name,
is searched for whatever could tell an open parameter from a number. Code that cannot be searched counts as if it did.
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
        parts = _searchable_parts(value)
        if parts is None:
            return f"the code of {getattr(value, '__name__', type(value).__name__)} cannot be searched"
        queue += parts
        if isinstance(value, FunctionType) and not from_library(value.__code__.co_filename):
            queue += _values_reached_by_name(value)
            if reason := _in_source(value):
                return reason
    return ""


def _searchable_parts(value: Any) -> list[Any] | None:
    """Return the parts of a value that may run, [] for plain data; None where they are not known."""
    if isinstance(value, (*_PLAIN, *_UFUNCS)):
        return []
    if any(value is builtin for builtin in _ASKED):
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
        methods = (getattr(f, "__func__", f) for f in vars(value).values())
        return [] if _of_library(value) else [f for f in methods if isinstance(f, FunctionType) and _is_handwritten(f)]
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
    """Yield what a function reaches by a name, and the builtins that test types among the names that it loads."""
    yield from values_in(function)
    builtin_names = {*loads(function.__code__)[0]} & {*_QUESTIONS} - function.__globals__.keys()
    yield from (getattr(builtins, name) for name in sorted(builtin_names))


def _of_library(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "builtins").split(".")[0] in LIBRARIES


def _is_handwritten(function: FunctionType) -> bool:
    """Return whether a function's source was written by hand, and not made by a decorator such as dataclass."""
    return not function.__code__.co_filename.startswith("<")


def _in_source(function: FunctionType) -> str:
    """Return what in a function's source may tell an open parameter from a number; "" if nothing may."""
    name = function.__name__
    tree = source_tree(function)
    if tree is None:
        return f"the source of {name} is not readable"
    running = [node for part in _body(tree) for node in _running(part)]
    used = {name_of(node) for node in running if isinstance(node, (ast.Attribute, ast.Name))}
    telling = (used & _NAMES) | {n for n in used if re.fullmatch(r"__\w+__", n)}
    if telling:
        return f"{name} uses {min(telling)}"
    for node in running:
        if isinstance(node, _BRANCHES):
            return f"{name} may test types or catch exceptions"
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"__\w+__", node.value):
            return f"{name} uses {node.value}"
    # `compared_by_identity` leaves out `a is None`, which is False for a number and for an open parameter.
    if any(any(compared_by_identity(part)) for part in _body(tree)):
        return f"{name} compares objects by identity"
    return ""


def _body(tree: ast.FunctionDef | ast.Lambda) -> list[ast.AST]:
    """Return the nodes that run in a call. Decorators, defaults and annotations run when the function is defined."""
    return [tree.body] if isinstance(tree, ast.Lambda) else [*tree.body]


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and those in it, without annotations, which do nothing with the values."""
    yield node
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns"):
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, ast.AST):
                    yield from _running(part)
