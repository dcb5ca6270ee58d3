"""How often an audit calls the code of a rule: at most twelve times its forward and twelve times its backward.

A rule in forward mode is both: it gives tangents in half of its calls, and JAX transposes it in the others.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import pytest

import certgrad
from benchmarks.bench import of_layers

ORDINARY, LAYERS = "examples.ordinary", "benchmarks.bench.of_layers"
MOST = 12
RULES = {
    f"{ORDINARY}.activations": ["swiglu"],
    f"{ORDINARY}.indexing": ["rows", "reversed_rows", "transposed", "differences", "padded", "beside", "flattened"],
    f"{ORDINARY}.layers": ["linear", "low_rank", "scores", "layer_norm", "rms_norm", "gated", "bilinear", "perceptron"],
    f"{ORDINARY}.losses": ["squared_error", "binary_cross_entropy", "hinge", "z_loss"],
    f"{ORDINARY}.reductions": ["variance", "dot"],
    LAYERS: ["affine", "softmax", "attention", "recurrence"],
}
"""Of one rank, without a number that is left open, and with questions about at most three single sizes, of which each
has one more trace."""
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
    """A module of rules that tells of its calls; its source is the file as it is."""
    found = importlib.util.find_spec(name)
    assert found is not None
    assert found.origin is not None
    file = Path(found.origin)
    tree = _Marking().visit(ast.parse(file.read_text()))
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            if hasattr(node, "lineno") and not hasattr(child, "lineno"):
                ast.copy_location(child, node)
    spec = importlib.util.spec_from_file_location(f"marked_{name.rpartition('.')[2]}", file)
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


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", [f"{module}.{rule}" for module, rules in RULES.items() for rule in rules])
def test_an_audit_calls_a_rule_a_dozen_times(name: str) -> None:
    module, _, rule = name.rpartition(".")
    function = getattr(_marked(module), rule)
    declared = function.__certgrad__
    with _counting() as counted:
        assert certgrad.check(function, declared.signature, **declared.options).proved
    most = {"fwd": MOST, "bwd": MOST} if isinstance(function, jax.custom_vjp) else {"jvp": 2 * MOST}
    calls = {part: counted[_mark_of(getattr(function, part))] for part in most}
    assert all(0 < calls[part] <= most[part] for part in most), calls


_COUNT = 0


def _counting_in_a_closure(backward: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[[], int]]:
    calls = {"backward": 0}

    def counting(residuals: Any, g: Any) -> Any:
        calls["backward"] += 1
        return backward(residuals, g)

    return counting, lambda: calls["backward"]


def _counting_in_the_module(backward: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[[], int]]:
    global _COUNT
    _COUNT = 0

    def counting(residuals: Any, g: Any) -> Any:
        global _COUNT
        _COUNT += 1
        return backward(residuals, g)

    return counting, lambda: _COUNT


@pytest.mark.one_in(3)
@pytest.mark.parametrize("counted", [_counting_in_a_closure, _counting_in_the_module])
@pytest.mark.parametrize("name", RULES[LAYERS])
def test_a_refusal_for_state_ends_the_audit(name: str, counted: Callable[..., Any]) -> None:
    """It holds at any sizes and for each argument, so that none of these is tried alone."""
    right = getattr(of_layers, name)
    backward, calls = counted(right.bwd)
    rule = jax.custom_vjp(right.fun)
    rule.defvjp(right.fwd, backward)
    found = certgrad.check(rule, right.__certgrad__.signature)
    assert found.verdict == "unproved"
    assert "outlives the call" in found.reason
    assert all("outlives the call" in a.reason for a in found.arguments)
    assert 0 < calls() <= MOST
