"""The source of functions as syntax trees, and questions about names, calls and comparisons in them."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import CodeType, FunctionType


def source_tree(function: FunctionType) -> ast.FunctionDef | ast.Lambda | None:
    """Return the syntax tree of a function's source; None where it is not available (see `tree_of_code`)."""
    return tree_of_code(function.__code__)


def tree_of_code(code: CodeType) -> ast.FunctionDef | ast.Lambda | None:
    """Return the syntax tree of the function with this code.

    Return None where there is no source, or where not exactly one function begins at the code's place in it.
    """
    try:
        functions = _functions_in(inspect.getsourcefile(code) or "")
    except (OSError, TypeError, SyntaxError):
        return None
    candidates = [n for n in functions if _starts_at(n, code)]
    return candidates[0] if len(candidates) == 1 else None


@lru_cache(maxsize=256)
def _functions_in(file: str) -> tuple[ast.FunctionDef | ast.Lambda, ...]:
    module = ast.parse("".join(linecache.getlines(file)))
    return tuple(n for n in ast.walk(module) if isinstance(n, (ast.FunctionDef, ast.Lambda)))


def _starts_at(node: ast.FunctionDef | ast.Lambda, code: CodeType) -> bool:
    """Return whether a function in source may be the one with this code.

    A `def` is told by its name and its first line, or that of a decorator; a lambda by its line and by the columns of
    all its instructions, which lie in its body.
    """
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
    """Return every name and attribute in a syntax tree."""
    return frozenset(name_of(n) for n in nodes_of(node) if isinstance(n, (ast.Attribute, ast.Name)))


def parameters_of(tree: ast.FunctionDef | ast.Lambda) -> list[str]:
    return [a.arg for a in (*tree.args.posonlyargs, *tree.args.args)]


def given_to(callee: ast.FunctionDef | ast.Lambda, call: ast.Call) -> list[tuple[str, ast.expr]]:
    """Return the arguments of a call, each after the parameter that receives it; "" where that is not shown."""
    names = parameters_of(callee)
    by_position = [(names[k] if k < len(names) else "", a) for k, a in enumerate(call.args)]
    return [*by_position, *((k.arg or "", k.value) for k in call.keywords)]


def with_ancestors(tree: ast.AST) -> Iterator[tuple[ast.AST, list[ast.AST]]]:
    """Yield each node with the nodes around it, the outermost first; the tree itself comes with itself."""
    stack: list[tuple[ast.AST, list[ast.AST]]] = [(tree, [tree])]
    while stack:
        node, above = stack.pop()
        yield node, above
        stack.extend((child, [*above, node]) for child in ast.iter_child_nodes(node))


def name_of(node: ast.expr) -> str:
    """Return a name, or the last name of an attribute (`sum` of `jnp.sum`); "" for other expressions."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def is_whole_number(node: ast.expr) -> bool:
    """Return whether an expression is an integer literal, perhaps with a minus."""
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
    """Return whether the innermost call in `above`, the nodes around a node, is of a library's function.

    That is a function of a module named in `of`, as `jnp.linalg.norm`, or any function or method named in `also`.
    """
    call = next((a for a in reversed(above) if isinstance(a, ast.Call)), None)
    if call is None:
        return False
    root = call.func
    while isinstance(root, ast.Attribute):
        root = root.value
    return name_of(call.func) in also or (
        isinstance(call.func, ast.Attribute) and isinstance(root, ast.Name) and root.id in of
    )
