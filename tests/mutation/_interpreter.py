"""A rule whose traced program has one equation changed: it runs, and traces, at any shape."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from certgrad.obligations.tracing.jax_internals import inner_program, is_dropped, is_literal, jaxpr_of

Key = tuple[str, int]
"""An equation: its primitive, and which of the equations with that primitive it is, in the order of the program."""


@dataclass
class Frame:
    """One equation at one trace: its operands, the values computed before it, and how to run it."""

    key: Key
    equation: Any
    operands: list[Any]
    pool: dict[Any, Any]
    """Values by name: ("in", i) for the rule's arguments, (primitive, k, j) for the outputs of equations."""

    @property
    def params(self) -> dict[str, Any]:
        return self.equation.params

    def run(self, *operands: Any, **params: Any) -> list[Any]:
        """The equation on other operands or with other parameters."""
        out = self.equation.primitive.bind(*operands, **{**self.params, **params})
        return list(out) if self.equation.primitive.multiple_results else [out]

    def changed(self, position: int, value: Any) -> list[Any]:
        """The equation with one operand replaced."""
        operands = list(self.operands)
        operands[position] = value
        return self.run(*operands)


Hook = Callable[[Frame], list[Any] | None]
"""What an equation returns instead; None where it is left as it is."""


def interposed(rule: Callable[..., Any], hook: Hook) -> Callable[..., Any]:
    """The rule, run equation by equation through `hook`. Inner programs (jit, custom derivatives) are run in line."""

    def run(*args: Any, **keywords: Any) -> Any:
        traced = {k: v for k, v in keywords.items() if isinstance(v, (jax.Array, np.ndarray))}
        fixed = {k: v for k, v in keywords.items() if k not in traced}
        flat, tree = jax.tree.flatten((args, traced))

        def function(*leaves: Any) -> Any:
            inner_args, inner_keywords = jax.tree.unflatten(tree, leaves)
            return rule(*inner_args, **inner_keywords, **fixed)

        closed, out = jax.make_jaxpr(function, return_shape=True)(*flat)
        walk = _Walk(hook, {("in", i): x for i, x in enumerate(flat)})
        return jax.tree.unflatten(jax.tree.structure(out), walk.run(jaxpr_of(closed), closed.consts, flat))

    run.__signature__ = inspect.signature(rule)  # type: ignore[attr-defined]
    return run


@dataclass
class _Walk:
    hook: Hook
    pool: dict[Any, Any]
    counts: Counter[str] = field(default_factory=Counter)

    def run(self, jaxpr: Any, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
        env: dict[Any, Any] = dict(zip(jaxpr.invars, args, strict=True))
        env.update(zip(jaxpr.constvars, consts, strict=True))
        for equation in jaxpr.eqns:
            operands = [v.val if is_literal(v) else env[v] for v in equation.invars]
            inner = inner_program(equation)
            outs = self.equation(equation, operands) if inner is None else self.run(inner.jaxpr, inner.consts, operands)
            env.update((v, x) for v, x in zip(equation.outvars, outs, strict=True) if not is_dropped(v))
        return [v.val if is_literal(v) else env[v] for v in jaxpr.outvars]

    def equation(self, equation: Any, operands: list[Any]) -> list[Any]:
        name = equation.primitive.name
        key = name, self.counts[name]
        self.counts[name] += 1
        frame = Frame(key, equation, operands, self.pool)
        outs = self.hook(frame)
        if outs is None:
            outs = frame.run(*operands)
        self.pool.update({(*key, j): x for j, x in enumerate(outs)})
        return outs


@dataclass(frozen=True)
class Site:
    """An equation as it was seen at the general shape."""

    key: Key
    operands: tuple[Any, ...]
    """Avals."""
    literals: tuple[bool, ...]
    outputs: tuple[Any, ...]
    params: dict[str, Any] = field(hash=False, compare=False)
    earlier: tuple[tuple[Any, Any], ...] = field(hash=False, compare=False, default=())
    """(name in the pool, aval) of every value known before it."""
    same: tuple[Any, ...] = ()
    """The names in the pool of the operands (None for a literal or constant)."""


def recording(into: list[Site]) -> Hook:
    """A hook that changes nothing and lists the equations; `into` holds the last program that ran through it."""

    def hook(frame: Frame) -> None:
        if not any(len(name) == 3 for name in frame.pool):
            into.clear()
        named = {id(x): name for name, x in frame.pool.items()}
        into.append(
            Site(
                frame.key,
                tuple(v.aval for v in frame.equation.invars),
                tuple(is_literal(v) for v in frame.equation.invars),
                tuple(v.aval for v in frame.equation.outvars),
                dict(frame.params),
                tuple((name, x.aval) for name, x in frame.pool.items()),
                tuple(named.get(id(x)) for x in frame.operands),
            )
        )

    return hook
