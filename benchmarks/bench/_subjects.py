"""Rules and ops, each with its audit and its peer, `check_grads`."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
from jax.test_util import check_grads

from benchmarks.bench import _drawn
from benchmarks.bench._clock import ROOT, seconds
from certgrad import audit, check
from certgrad.ops import Op
from certgrad.rules.declared.declaration import Declaration, declaration_of
from certgrad.rules.subject.layers import plain_function, unwrapped
from tests.ops.sampling import draw

CASES = ROOT / "corpus" / "cases"
"""Rules from public reports of bugs, `wrong` and `right` in a file, with the arrays of `example()`."""


@dataclass(frozen=True)
class Rule:
    """A function with its declaration, and the arrays that it is called with (float64, in order)."""

    name: str
    function: Any
    declared: Declaration
    example: Callable[[], Any]

    def audit(self) -> str:
        """The verdict, after all that a user's call does."""
        return check(self.function, self.declared.signature, **self.declared.options).verdict

    def check_grads(self) -> None:
        """JAX's numerical check, order 1. Raises AssertionError where a derivative differs."""
        statics = _drawn.statics(self.declared.static)
        given = [jnp.asarray(x) for x in self.example()]
        names = plain_function(unwrapped(self.function)).__code__.co_varnames
        wanted = self.declared.differentiable
        moving = [
            k
            for k, x in enumerate(given)
            if jnp.issubdtype(x.dtype, jnp.inexact) and (wanted is None or names[k] in wanted)
        ]

        def of_moving(*xs: Any) -> Any:
            full = list(given)
            for k, x in zip(moving, xs, strict=True):
                full[k] = x
            return self.function(*full, **statics)

        modes = ("fwd", "rev") if isinstance(unwrapped(self.function), jax.custom_jvp) else ("rev",)
        check_grads(of_moving, tuple(given[k] for k in moving), order=1, modes=modes)


@dataclass(frozen=True)
class LibraryOp:
    """An op, or one that is broken, with all of its cases."""

    name: str
    op: Op

    def audit(self) -> str:
        """The verdict."""
        return audit(self.op).verdict

    def check_grads(self) -> None:
        """JAX's numerical check of each case, rules included, at a point of its domain. Raises AssertionError."""
        for case in self.op.cases:
            call = draw(self.op, case, zlib.crc32(self.op.name.encode()))
            check_grads(call.run, tuple(call.floats), order=1, modes=("fwd", "rev"))


@dataclass(frozen=True)
class Timed:
    """Processor seconds of both sides, and the verdict."""

    name: str
    audit: float
    grads: float
    verdict: str

    @property
    def ratio(self) -> float:
        return self.audit / self.grads


def timed(subjects: Sequence[Rule | LibraryOp]) -> Iterator[Timed]:
    """Both sides of every rule, each cold, who goes first alternating; not of rules that `check_grads` cannot call."""
    warm_up()
    for k, subject in enumerate(subjects):
        if k % 2:
            grads = _grads(subject)
            spent, verdict = seconds(subject.audit)
        else:
            spent, verdict = seconds(subject.audit)
            grads = _grads(subject)
        if grads is not None:
            yield Timed(subject.name, spent, grads, verdict)


def _grads(subject: Rule | LibraryOp) -> float | None:
    """Processor seconds of `check_grads`; None where the rule refuses the arrays that it is called with."""

    def run() -> None:
        with suppress(AssertionError):  # of a wrong rule; and a tolerance may be too small for a right one
            subject.check_grads()

    with jax.enable_x64(True):
        try:
            return seconds(run)[0]
        except (AttributeError, TypeError):  # it takes no arrays of numpy's, or no floats in the place of integers
            return None


def warm_up() -> None:
    """Imports and JAX's start, on a function that is no rule of the table."""
    x = jnp.arange(12.0).reshape(3, 4)
    jax.block_until_ready(jax.jit(jax.grad(lambda x: jnp.sum(jnp.tril(x) @ x.T)))(x))
    with jax.enable_x64(True):
        check_grads(lambda x: jnp.sort(x), (jnp.arange(3.0),), order=1)
    cube = jax.custom_vjp(lambda x: x**3)
    cube.defvjp(lambda x: (x**3, x), lambda x, g: (3 * x**2 * g,))
    check(cube, "n -> n")


def in_modules(package: str) -> Iterator[Rule]:
    """The declared rules of the modules of a package of `examples`."""
    for file in sorted((ROOT / package.replace(".", "/")).glob("[a-z]*.py")):
        yield from in_module(import_module(f"{package}.{file.stem}"))


def in_module(module: Any) -> Iterator[Rule]:
    """The declared rules of a module."""
    for function in vars(module).values():
        declared = declaration_of(function, function, annotated=False) if callable(function) else None
        if declared is not None and isinstance(declared.signature, str):
            name = f"{module.__name__.rpartition('.')[2]}.{plain_function(unwrapped(function)).__name__}"
            yield Rule(name, function, declared, partial(_drawn.arrays, declared.signature))


def of_reports(which: str) -> Iterator[Rule]:
    """`wrong` or `right` of every file of `CASES` that defines it: some are scripts that compare functions."""
    if str(CASES) not in sys.path:
        sys.path.append(str(CASES))  # some import each other
    for file in sorted(CASES.glob("r*.py")):
        if f"def {which}(" not in file.read_text():
            continue
        module = import_module(file.stem)
        function = getattr(module, which)
        declared = declaration_of(function, function, annotated=False)
        if declared is not None:
            yield Rule(file.stem, function, declared, module.example)
