"""The doors of certgrad: the verdict that each gives on an example.

An example is a rule, and a real function of arrays that calls it. Doors to rules are asked about the rule, and doors to
graphs about the function. What the doors that read whole files say is computed once for a file.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
from typer.testing import CliRunner

import certgrad
from certgrad import ops
from certgrad.accel import NotCertifiedError, compile_graph
from certgrad.cli import app
from certgrad.cli._errors import ExitCode
from certgrad.errors import CertgradError
from certgrad.obligations.certificate import Certificate, sealed
from certgrad.obligations.tracing.jax_internals import unremembered
from certgrad.recording import Record, audited, certified
from certgrad.report import json as reports
from certgrad.rules.certificates.printed import print_rule
from certgrad.rules.finding.find import find
from certgrad.training import SGD, certify_step
from tests.doors.examples import NAME, Example, Function, named

ROOT = Path(__file__).parents[2]


def _pulled(function: Function, count: int) -> Function:
    def vjp(*values: Any) -> Any:
        found = jax.vjp(function, *values[:count])[1](values[count])
        return found if count > 1 else found[0]

    return vjp


def _through_check(example: Example) -> str:
    return certgrad.check(example.custom, example.signature).verdict


def _through_audit(example: Example) -> str:
    return _audited(example.target).verdict


def _through_plugin(example: Example) -> str:
    return _plugin(example.module, example.is_first)[example.module.__name__, example.rule]


def _through_run(example: Example) -> str:
    record = Record(False)
    with record.noticing(), _of_its_own(example):
        jax.grad(example.function)(*example.points)
    assert record.notes is not None
    found = {one.result.name.rpartition(":")[2]: one for one in audited(record.notes) if one.called}
    return found[example.rule].result.certificate.verdict


def _through_run_graphs(example: Example) -> str:
    record = Record(True)
    with record.noticing(), _of_its_own(example):
        jax.grad(example.function, argnums=tuple(range(len(example.names))))(*example.points)
    assert record.functions is not None
    return next((one.verdict for one in certified(record.functions, 120.0)), "nothing recorded")


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
    return "error" if result.exit_code == ExitCode.USAGE else str(json.loads(result.stdout)["verdict"])


def _through_verify(example: Example) -> str:
    """`certgrad verify`: the certificate of the right rule, under the name of the rule that is there now."""
    report = b'{"format": 1, "certgrad": "0", "rules": [], "remarks": [], "problems": [], "certificates": [%s]}'
    certificate = _before(example)
    with tempfile.TemporaryDirectory() as folder:
        document = Path(folder) / "audit.json"
        document.write_bytes(report % reports.encode(certificate))
        with unremembered():  # the command has a process of its own
            result = CliRunner().invoke(app, ["verify", str(document), "--target", example.target, "--format", "json"])
    return str(json.loads(result.stdout)["verifications"][0]["outcome"])


def _through_coq(example: Example) -> str:
    """The theorems that are printed of that certificate and of the rule that is there now; none of them is judged.

    `stated` or `not stated`; `captured` where a variable of a sum has the name of a size or an array.
    """
    (rule,) = find(example.target).rules
    certificate = _before(example)
    with unremembered():
        stated = [t.statement for t in print_rule(certificate, rule).theorems if not t.reason]
    for statement in stated:
        bound = " ".join(re.findall(r"^  forall \(([^:]+) :", statement, re.MULTILINE)).split()
        if set(bound) & set(re.findall(r"\bfun (\w+)", statement)):
            return "captured"
    return "stated" if stated else "not stated"


DOORS: dict[str, Callable[[Example], str]] = {
    "check": _through_check,
    "audit": _through_audit,
    "plugin": _through_plugin,
    "run": _through_run,
    "run --graphs": _through_run_graphs,
    "@op": _through_op,
    "@composed": _through_composed,
    "certify": _through_certify,
    "certify_step": _through_certify_step,
    "equal": _through_equal,
    "compile_graph": _through_compiled,
    "graph": _through_graph,
    "verify": _through_verify,
    "coq": _through_coq,
}


def verdict_through(door: str, example: Example) -> str:
    """The verdict of a door, or `error` where it refuses the example as JAX does, in words.

    The plugin says `passed`, `skipped` or `failed`; compiled execution whether it runs.
    """
    try:
        return DOORS[door](example)
    except CertgradError:
        return "error"


@lru_cache
def _audited(target: str) -> Certificate:
    """The certificate that `certgrad audit TARGET` makes of a rule."""
    with unremembered():
        result = CliRunner().invoke(app, ["audit", target, "--format", "json", "--jobs", "1", "--no-cache"])
    (certificate,) = json.loads(result.stdout)["certificates"]
    return reports.decode(json.dumps(certificate).encode())


def _before(example: Example) -> Certificate:
    """The certificate of the right rule, as it is where that was under the name of this one."""
    certificate = _audited(example.twin.target)
    return sealed(msgspec.structs.replace(certificate, op=f"{example.module.__name__}:{example.rule}"))


@contextmanager
def _of_its_own(example: Example) -> Iterator[None]:
    """A program of the user's fails where its rule does, and what was recorded until then is there."""
    try:
        yield
    except Exception:
        if not example.wrong:
            raise


@lru_cache
def _plugin(module: ModuleType, first: bool) -> dict[tuple[str, str], str]:
    """What becomes of the test of each rule of one kind with `pytest --certgrad`, in an empty folder: of those of the
    first example, or of all variants.
    """
    every = [Example(module, v, wrong) for v in module.VARIANTS for wrong in (False, True)]
    options = [f"--certgrad-target={target}" for target in {e.target for e in every if e.is_first or not first}]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "--certgrad", *options, "-rA", "-p", "no:cacheprovider"],
            capture_output=True,
            text=True,
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            check=False,
        )
    lines = re.findall(r"^(PASSED|FAILED|SKIPPED|ERROR).*?([\w.]+):(\w+)(?: - .*)?$", done.stdout, re.MULTILINE)
    return {(module, name): word.lower() for word, module, name in lines}
