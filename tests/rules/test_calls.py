"""How often an audit calls the code of a rule: at most twelve times its forward and twelve times its backward."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import pytest

import certgrad

ORDINARY = Path(__file__).parents[2] / "examples" / "ordinary"
MOST = 12
RULES = {
    "activations": ["swiglu"],
    "indexing": ["transposed", "differences", "padded", "beside", "flattened"],
    "layers": ["linear", "low_rank", "scores", "layer_norm", "rms_norm", "gated"],
    "losses": ["squared_error", "binary_cross_entropy", "hinge", "z_loss"],
    "reductions": ["variance", "dot"],
}
"""Of one rank, without a number that is left open, and without questions of JAX's about single sizes, as those of
`jnp.einsum` of three arrays are: each has one more trace."""
_counted: Counter[str] = Counter()
_waiting = [False]


def _heard(event: str, args: Any) -> None:
    if event == "certgrad.tests.call" and _waiting[0]:
        _counted[args[0]] += 1


sys.addaudithook(_heard)


class _Marking(ast.NodeTransformer):
    """Has each function tell Python's audit hooks that it is called, under a name of its own that has no digits."""

    def __init__(self) -> None:
        self.marks = 0

    def _tells(self) -> ast.expr:
        self.marks += 1
        return ast.parse(f"_tell('certgrad.tests.call', '{_mark(self.marks)}')", mode="eval").body

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        self.generic_visit(node)
        node.body = ast.copy_location(ast.IfExp(self._tells(), ast.Constant(None), node.body), node.body)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.body.insert(1 if ast.get_docstring(node) else 0, ast.copy_location(ast.Expr(self._tells()), node.body[0]))
        return node


def _mark(number: int) -> str:
    return "@" + "".join("abcdefghij"[int(d)] for d in str(number))


def _marked(name: str) -> ModuleType:
    """A module of the ordinary rules that tells of its calls; its source is the file as it is."""
    file = ORDINARY / f"{name}.py"
    tree = _Marking().visit(ast.parse(file.read_text()))
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            if hasattr(node, "lineno") and not hasattr(child, "lineno"):
                ast.copy_location(child, node)
    spec = importlib.util.spec_from_file_location(f"marked_{name}", file)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    vars(module)["_tell"] = sys.audit
    sys.modules[module.__name__] = module
    exec(compile(ast.fix_missing_locations(tree), str(file), "exec"), vars(module))
    return module


def _mark_of(function: Any) -> str:
    return next(c for c in function.__code__.co_consts if isinstance(c, str) and c.startswith("@"))


@contextmanager
def _counting() -> Iterator[Counter[str]]:
    _counted.clear()
    _waiting[0] = True
    try:
        yield _counted
    finally:
        _waiting[0] = False


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", [f"{module}.{rule}" for module, rules in RULES.items() for rule in rules])
def test_an_audit_calls_a_rule_a_dozen_times(name: str) -> None:
    module, _, rule = name.partition(".")
    function = getattr(_marked(module), rule)
    assert isinstance(function, jax.custom_vjp)
    declared = function.__certgrad__  # type: ignore[attr-defined]
    with _counting() as counted:
        assert certgrad.check(function, declared.signature, **declared.options).proved
    calls = {part: counted[_mark_of(getattr(function, part))] for part in ("fwd", "bwd")}
    assert 0 < calls["fwd"] <= MOST, calls
    assert 0 < calls["bwd"] <= MOST, calls
