"""What a trace does not show of a rule's code: that it asks whether it is traced, or changes what outlives a call.

Outside of `jit`, JAX runs a rule on arrays: code that asks whether a value is traced then does something else. Code
that counts its calls, or remembers them, need not do at run time what it did while it was traced. So the source of a
rule, and that of the functions outside the libraries that it names, is searched for both.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import CodeType, FunctionType
from typing import Any

from certgrad.obligations._rank_blind import loads, reachable, source_tree

_QUESTIONS = frozenset(
    "Tracer is_concrete concrete_or_error ConcretizationTypeError TracerArrayConversionError "
    "TracerBoolConversionError TracerIntegerConversionError".split()
)
_CHANGES = frozenset("append add update pop popitem setdefault extend insert clear remove discard".split())


def hidden_from_a_trace(rule: Any) -> str:
    """Why a rule that runs may do something else than its trace says, or an empty text."""
    for function in reachable(rule):
        plain = inspect.unwrap(function)
        if not isinstance(plain, FunctionType):
            continue
        name = plain.__name__
        asked = _QUESTIONS & {n for names in loads(plain.__code__) for n in names}
        if asked:
            return f"{name} asks whether a value is traced ({min(asked)}): where none is, it may do other things"
        tree = source_tree(plain)
        changed = min(_outliving(tree, plain), default="") if tree is not None else ""
        if changed:
            return f"{name} changes {changed}, which outlives the call: it may do other things in later calls"
    return ""


def _outliving(tree: ast.AST, function: FunctionType) -> Iterator[str]:
    """The names of what is changed and is no variable of the call."""
    local, values = set(_locals(function.__code__)), _values(function)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            yield from (n for n in node.names if n not in local)
        targets: list[ast.expr] = []
        if isinstance(node, (ast.Assign, ast.Delete)):
            targets = node.targets
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            targets = [node.target]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES:
            owner = node.func.value
            if isinstance(owner, ast.Name) and isinstance(values.get(owner.id), (list, dict, set)):
                targets = [node.func]
        for target in targets:
            root = target
            while isinstance(root, (ast.Subscript, ast.Attribute)):
                root = root.value
            if root is not target and isinstance(root, ast.Name) and root.id not in local:
                yield root.id


def _locals(code: CodeType) -> Iterator[str]:
    yield from (*code.co_varnames, *code.co_cellvars)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _locals(constant)


def _values(function: FunctionType) -> Mapping[str, Any]:
    """What the names mean that are no variables of the call."""
    found = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # a cell is empty before its variable is assigned
            found[name] = cell.cell_contents
    return found
