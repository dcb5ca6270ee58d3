"""The rules that a package's source makes, in its modules and inside functions, as they are written."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MAKERS = {"custom_vjp", "custom_jvp", "custom_gradient", "filter_custom_vjp", "filter_custom_jvp"}
_NO_TESTS = ("test", "conftest", "benchmark", "example")


@dataclass(frozen=True)
class Written:
    """A rule in the source: `module:outer.inner`, and where it is."""

    name: str
    file: str
    line: int


def written(package: str) -> list[Written]:
    """Each function that a decorator makes a rule, and each call that makes one; tests are left out."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, AttributeError, ValueError):
        return []
    if spec is None or not spec.submodule_search_locations:
        return []
    out: dict[str, Written] = {}
    for folder in spec.submodule_search_locations:
        for file in sorted(Path(folder).rglob("*.py")):
            parts = file.relative_to(folder).with_suffix("").parts
            if any(p.startswith(_NO_TESTS) or p.endswith("_test") for p in parts):
                continue
            source = file.read_text("utf-8", errors="replace")
            if "custom_" not in source or "jax" not in source:
                continue
            try:
                tree = ast.parse(source)
            except SyntaxError:
                continue
            module = ".".join((package, *(p for p in parts if p != "__init__")))
            for name, line in _rules(tree, ""):
                out.setdefault(f"{module}:{name}", Written(f"{module}:{name}", f"{'/'.join(parts)}.py", line))
    return [*out.values()]


def _rules(node: ast.AST, outer: str) -> Iterator[tuple[str, int]]:
    for child in ast.iter_child_nodes(node):
        inner = outer
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner = f"{outer}.{child.name}" if outer else child.name
            if not isinstance(child, ast.ClassDef) and any(_makes(d) for d in child.decorator_list):
                yield inner, child.lineno
            for part in child.body:
                yield from _rules(ast.Module([part], []), inner)
            continue
        if isinstance(child, ast.Call) and _is_maker(child.func) and child.args:
            made = ast.unparse(child.args[0])
            yield f"{outer}.{made}" if outer else made, child.lineno
        yield from _rules(child, inner)


def _makes(node: ast.AST) -> bool:
    return any(_is_maker(n) for n in ast.walk(node))


def _is_maker(node: ast.AST) -> bool:
    """`jax.custom_vjp` by any name but that of TensorFlow."""
    if isinstance(node, ast.Attribute):
        return node.attr in _MAKERS and not (isinstance(node.value, ast.Name) and node.value.id == "tf")
    return isinstance(node, ast.Name) and node.id in _MAKERS
