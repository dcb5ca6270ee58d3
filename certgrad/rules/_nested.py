"""Rules that are made inside functions: each call makes a new one, so there is no object to find."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from ._layers import plain_function, unwrapped

_MAKERS = {"custom_vjp", "custom_jvp", "custom_gradient", "filter_custom_vjp", "filter_custom_jvp"}


def makers_in(module: ModuleType, found: Iterable[Any]) -> Iterator[tuple[str, int]]:
    """The functions of a module that make rules, with their lines, but for those that made a rule that was found."""
    file = getattr(module, "__file__", None)
    try:
        tree = ast.parse(Path(file or "").read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    known = {name.partition(".<locals>")[0] for rule in found for name in _functions_of(rule)}
    for name, node in _functions(tree, ""):
        if name not in known and any(_makes(inner) for part in node.body for inner in ast.walk(part)):
            yield name, node.lineno


def _functions(tree: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The functions at the top and in classes, by qualified name."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield f"{prefix}{node.name}", node
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            yield from _functions(node, prefix)


def _makes(node: ast.AST) -> bool:
    """A call of a maker, a decorator that is one, or one that is handed to `partial`."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return any(_named(d) for d in node.decorator_list)
    return isinstance(node, ast.Call) and (_named(node.func) or any(_named(a) for a in node.args))


def _named(node: ast.AST) -> bool:
    return (isinstance(node, ast.Name) and node.id in _MAKERS) or (
        isinstance(node, ast.Attribute) and node.attr in _MAKERS
    )


def _functions_of(rule: Any) -> Iterator[str]:
    """The qualified names of the functions that a rule is made of."""
    custom = unwrapped(rule)
    parts = (plain_function(custom), *(getattr(custom, n, None) for n in ("fwd", "bwd", "jvp", "fn_fwd", "fn_bwd")))
    yield from (getattr(part, "__qualname__", "") for part in parts if part is not None)
