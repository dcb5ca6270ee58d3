"""The doors of certgrad: the verdict that each gives on an example.

An example is a rule, and a real function of arrays that calls it. Doors to rules are asked about the rule, and doors to
graphs about the function. What the doors that read whole files say is computed once for a file.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
from typer.testing import CliRunner

import certgrad
from certgrad import ops
from certgrad.accel import NotCertifiedError, compile_graph
from certgrad.cli import app
from certgrad.recording import Record, audited, certified
from certgrad.report import json as reports
from certgrad.training import SGD, certify_step

ROOT = Path(__file__).parents[2]
NAME = "example"


@dataclass(frozen=True)
class Example:
    """A rule of a module, and a scalar function of arrays in which it is used.

    `use` makes the function of any function in the rule's place; `plain` is the rule's own function, without the rule.
    """

    module: ModuleType
    rule: str
    plain: Callable[..., Any]
    signature: str
    use: Callable[[Callable[..., Any]], Callable[..., Any]]
    shapes: tuple[str, ...]

    @property
    def custom(self) -> Any:
        return getattr(self.module, self.rule)

    @property
    def file(self) -> str:
        return str(self.module.__file__)

    @property
    def function(self) -> Callable[..., Any]:
        """The function in which the rule is used, with the names of its arguments."""
        return named(self.use(self.custom), self.names)

    @property
    def right(self) -> Callable[..., Any]:
        """The same, differentiated by JAX without the rule."""
        return named(self.use(self.plain), self.names)

    @property
    def names(self) -> list[str]:
        return [shape.partition(":")[0] for shape in self.shapes]

    @property
    def points(self) -> list[jax.Array]:
        """An array for each argument of the function, each axis of length 3."""
        axes = [shape.partition(":")[2].split() for shape in self.shapes]
        return [jnp.linspace(0.5, 2.0 + k, 3 ** len(names)).reshape([3] * len(names)) for k, names in enumerate(axes)]

    @property
    def case(self) -> str:
        """The signature of the function."""
        return ", ".join(shape.partition(":")[2].strip() for shape in self.shapes) + " -> "


def named(function: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
    """The function with these names of its arguments."""

    def run(*values: Any) -> Any:
        return function(*values)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    run.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])  # type: ignore[attr-defined]
    run.__name__ = NAME
    return run


def _pulled(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    def vjp(*values: Any) -> Any:
        found = jax.vjp(function, *values[:count])[1](values[count])
        return found if count > 1 else found[0]

    return vjp


def _through_check(example: Example) -> str:
    return certgrad.check(example.custom, example.signature).verdict


def _through_audit(example: Example) -> str:
    return _audit(example.file)[example.rule]


def _through_plugin(example: Example) -> str:
    return _plugin(example.file)[example.rule]


def _through_run(example: Example) -> str:
    record = Record(False)
    with record.noticing():
        jax.grad(example.function)(*example.points)
    assert record.notes is not None
    found = {one.result.name.rpartition(":")[2]: one for one in audited(record.notes) if one.called}
    return reports.decode(found[example.rule].result.certificate).verdict


def _through_run_graphs(example: Example) -> str:
    record = Record(True)
    with record.noticing():
        jax.grad(example.function, argnums=tuple(range(len(example.names))))(*example.points)
    assert record.functions is not None
    return next(iter(certified(record.functions, 120.0))).verdict


def _through_op(example: Example) -> str:
    """An op whose vjp is JAX's, by the rule, and whose jvp is JAX's without it."""
    names, count, right, function = example.names, len(example.names), example.right, example.function
    one = ops.op(example.case, registry=ops.Registry())(right)

    def push(*values: Any) -> Any:
        return jax.jvp(right, values[:count], values[count:])[1]

    one.jvp(named(push, [*names, *(f"d{n}" for n in names)]))
    one.vjp(named(_pulled(function, count), [*names, "seed"]))
    return certgrad.audit(one).verdict


def _through_composed(example: Example) -> str:
    return certgrad.audit(ops.composed(example.case, registry=ops.Registry())(example.function)).verdict


def _through_certify(example: Example) -> str:
    return certgrad.certify(certgrad.trace(example.function, *example.shapes)).verdict


def _through_certify_step(example: Example) -> str:
    return certify_step(certgrad.trace(example.function, *example.shapes), SGD, example.names).verdict


def _through_equal(example: Example) -> str:
    """The gradient by the rule, and the one without it."""
    which = tuple(range(len(example.names)))
    mine, right = (named(jax.grad(f, argnums=which), example.names) for f in (example.function, example.right))
    arrays = example.case.rpartition("->")[0].strip()
    return certgrad.equal(mine, right, f"{arrays} -> {arrays}").verdict


def _through_compiled(example: Example) -> str:
    """Compiled execution runs what is proved, and returns the derivative."""
    try:
        compiled = compile_graph(certgrad.trace(example.function, *example.shapes))
    except NotCertifiedError:
        return "not certified"
    _, gradients = compiled.value_and_grad(*example.points)
    which = tuple(range(len(example.names)))
    wanted = jax.grad(example.right, argnums=which)(*example.points)
    agree = all(jnp.allclose(a, b, rtol=1e-4) for a, b in zip(jax.tree.leaves(gradients), wanted, strict=True))
    return "runs" if agree else "runs wrongly"


def _through_graph(example: Example) -> str:
    """`certgrad graph MODULE:FUNCTION`, of a function that the module is given for the time."""
    setattr(example.module, NAME, example.function)
    try:
        specs = [part for shape in example.shapes for part in ("--spec", shape)]
        result = CliRunner().invoke(app, ["graph", f"{example.module.__name__}:{NAME}", *specs, "--format", "json"])
    finally:
        delattr(example.module, NAME)
    return str(json.loads(result.stdout)["verdict"])


DOORS: dict[str, Callable[[Example], str]] = {
    "check": _through_check,
    "audit": _through_audit,
    "plugin": _through_plugin,
    "run": _through_run,
    "run --graphs": _through_run_graphs,
    "op": _through_op,
    "composed": _through_composed,
    "certify": _through_certify,
    "certify_step": _through_certify_step,
    "equal": _through_equal,
    "compile_graph": _through_compiled,
    "graph": _through_graph,
}


def verdict_through(door: str, example: Example) -> str:
    """The verdict of a door. The plugin says `passed`, `skipped` or `failed`; compiled execution whether it runs."""
    return DOORS[door](example)


@lru_cache
def _audit(file: str) -> dict[str, str]:
    """The verdicts of `certgrad audit FILE`, by the name of the rule."""
    result = CliRunner().invoke(app, ["audit", file, "--format", "json", "--jobs", "1"])
    return {one["op"].rpartition(":")[2]: one["verdict"] for one in json.loads(result.stdout)["certificates"]}


@lru_cache
def _plugin(file: str) -> dict[str, str]:
    """What becomes of each rule's test with `pytest --certgrad`, in an empty folder."""
    asked = ["--certgrad", "--certgrad-target", file, "-rA", "-p", "no:cacheprovider"]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *asked],
            capture_output=True,
            text=True,
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            check=False,
        )
    found = re.findall(r"^(PASSED|FAILED|SKIPPED|ERROR).*?:(\w+)(?: - .*)?$", done.stdout, re.MULTILINE)
    return {name: word.lower() for word, name in found}
