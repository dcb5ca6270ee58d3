"""The source of functions as syntax trees, and what stands where in them."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import CodeType, FunctionType


def source_tree(function: FunctionType) -> ast.FunctionDef | ast.Lambda | None:
    return tree_of_code(function.__code__)


def tree_of_code(code: CodeType) -> ast.FunctionDef | ast.Lambda | None:
    """The source of a function; None where that is not there, or not the only one at its place."""
    try:
        functions = _functions_in(inspect.getsourcefile(code) or "")
    except (OSError, TypeError, SyntaxError):
        return None
    found = [n for n in functions if _starts_at(n, code)]
    return found[0] if len(found) == 1 else None


@lru_cache(maxsize=256)
def _functions_in(file: str) -> tuple[ast.FunctionDef | ast.Lambda, ...]:
    module = ast.parse("".join(linecache.getlines(file)))
    return tuple(n for n in ast.walk(module) if isinstance(n, (ast.FunctionDef, ast.Lambda)))


def _starts_at(node: ast.FunctionDef | ast.Lambda, code: CodeType) -> bool:
    if isinstance(node, ast.FunctionDef):
        if node.name != code.co_name:
            return False
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        return code.co_firstlineno in (first, node.lineno)
    if code.co_name != "<lambda>" or node.lineno != code.co_firstlineno:
        return False
    places = [(a, b) for a, _, b, end in code.co_positions() if a is not None and b is not None and end != b]
    body = node.body
    stop = (body.end_lineno or 0, body.end_col_offset or 0)
    return bool(places) and all((body.lineno, body.col_offset) <= place < stop for place in places)


@lru_cache(maxsize=4096)
def nodes_of(tree: ast.AST) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree))


@lru_cache(maxsize=16384)
def names_in(node: ast.AST) -> frozenset[str]:
    """Return every name and attribute that occurs."""
    return frozenset(name_of(n) for n in nodes_of(node) if isinstance(n, (ast.Attribute, ast.Name)))


def parameters_of(tree: ast.FunctionDef | ast.Lambda) -> list[str]:
    return [a.arg for a in (*tree.args.posonlyargs, *tree.args.args)]


def given_to(callee: ast.FunctionDef | ast.Lambda, call: ast.Call) -> list[tuple[str, ast.expr]]:
    """The arguments of a call, each with the parameter that receives it: "" where that is not seen."""
    names = parameters_of(callee)
    by_position = [(names[k] if k < len(names) else "", a) for k, a in enumerate(call.args)]
    return [*by_position, *((k.arg or "", k.value) for k in call.keywords)]


def with_ancestors(tree: ast.AST) -> Iterator[tuple[ast.AST, list[ast.AST]]]:
    stack: list[tuple[ast.AST, list[ast.AST]]] = [(tree, [tree])]
    while stack:
        node, above = stack.pop()
        yield node, above
        stack.extend((child, [*above, node]) for child in ast.iter_child_nodes(node))


def name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def is_whole_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def compared_by_identity(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the two sides of each `a is b` and `a is not b`, but for comparisons with None."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Compare):
            for left, op, right in zip((node.left, *node.comparators), node.ops, node.comparators, strict=False):
                if isinstance(op, (ast.Is, ast.IsNot)) and not (_is_none(left) or _is_none(right)):
                    yield left, right


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def library_call(
    above: Sequence[ast.AST], also: tuple[str, ...] = (), of: tuple[str, ...] = ("jnp", "lax", "jax", "np")
) -> bool:
    """Return whether the nearest call around a node is a library's, or of a method or builtin in `also`."""
    call = next((a for a in reversed(above) if isinstance(a, ast.Call)), None)
    if call is None:
        return False
    root = call.func
    while isinstance(root, ast.Attribute):
        root = root.value
    return name_of(call.func) in also or (
        isinstance(call.func, ast.Attribute) and isinstance(root, ast.Name) and root.id in of
    )
