"""Rules that a package's source makes inside functions: objects that exist only while the function runs."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

_MAKERS = {"custom_vjp", "custom_jvp", "custom_gradient", "filter_custom_vjp", "filter_custom_jvp"}


def inner_rules(package: str) -> list[str]:
    """`module.py:line function` for each one that a function's body makes; tests are left out."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, AttributeError, ValueError):
        return []
    if spec is None or not spec.submodule_search_locations:
        return []
    out = []
    for folder in spec.submodule_search_locations:
        for file in sorted(Path(folder).rglob("*.py")):
            parts = file.relative_to(folder).with_suffix("").parts
            if any(p.startswith("test") or p.endswith("_test") for p in parts):
                continue
            try:
                tree = ast.parse(file.read_text("utf-8", errors="replace"))
            except SyntaxError:
                continue
            out += [f"{'/'.join(parts)}.py:{line} {name}" for name, line in _inside(tree, "")]
    return out


def _inside(node: ast.AST, function: str) -> Iterator[tuple[str, int]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if function and any(_makes(d) for d in child.decorator_list):
                yield f"{function}.{child.name}", child.lineno
            yield from _inside(child, f"{function}.{child.name}" if function else child.name)
        else:
            yield from _inside(child, function)


def _makes(node: ast.AST) -> bool:
    return any(
        (isinstance(n, ast.Name) and n.id in _MAKERS) or (isinstance(n, ast.Attribute) and n.attr in _MAKERS)
        for n in ast.walk(node)
    )
