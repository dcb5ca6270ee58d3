"""A function of a user with its derivative rule, as the audit sees it.

The programs come from JAX's public transformations of the function itself, so they are what runs: `jax.vjp` of it for
the cotangents and for the primal that its `fwd` returns, `jax.jvp` for a rule in forward mode. A `jax.custom_vjp` has
no JVP of its own; its cotangents are compared with the derivative of its primal function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from certgrad.errors import SignatureError, UsageError
from certgrad.obligations._problem import Rules
from certgrad.ops._declare import Case
from certgrad.ops._signature import ArraySpec, Signature, parse

BOTH_MODES = ("jvp_is_derivative", "vjp_is_adjoint", "rule_runs_forward")
REVERSE_ONLY = ("vjp_is_adjoint", "rule_runs_forward")


class UserRule:
    """What the audit asks of an op, answered by a function and the shapes it is declared for.

    Args:
        function: a `jax.custom_vjp`, a `jax.custom_jvp`, or any JAX function, also under `jit` or `partial`.
        signature: the shapes of the array arguments, in order: `"n d, d -> n d"`.
        static: values of the other arguments, by name.
        differentiable: names of the arguments that the claim is about; all float arrays if None.
        domain: hypotheses on the arguments, in the syntax of an op's domain.
        where: the place of the definition, for messages.

    Raises:
        SignatureError: the signature does not fit the function.
        UsageError: a name is not one of the function's arguments.
    """

    params: Mapping[str, str | None] = {}
    broadcast = False
    defaults: Mapping[str, Any] = {}
    convention: Mapping[str, str] = {}
    torch_at: Mapping[str, str] = {}
    like = None

    def __init__(
        self,
        function: Callable,
        signature: str,
        *,
        static: Mapping[str, Any] | None = None,
        differentiable: Sequence[str] | None = None,
        domain: str | Sequence[str] = (),
        name: str = "",
    ) -> None:
        self.function = function
        self.custom = unwrapped(function)
        self.name = name or getattr(function, "__name__", "") or "a function"
        self.plain = plain_function(self.custom)
        self.file, self.line = place_of(self.plain)
        static = dict(static or {})
        self.domain = (domain,) if isinstance(domain, str) else tuple(domain)
        self.positions = self._array_arguments(static)
        parsed = parse(signature)
        if len(parsed.inputs) != len(self.positions):
            raise SignatureError(
                f"{self.name} ({self.where}) takes {len(self.positions)} array arguments "
                f"({', '.join(self.positions) or 'none'}), but the signature '{signature}' has {len(parsed.inputs)}. "
                "Arguments that are not arrays are given by `static`."
            )
        self.arg_names = tuple(self.positions)
        self.undifferentiated = self._held(parsed, differentiable)
        held = [replace(s, dtype="held") if n in self.undifferentiated else s for n, s in self._specs(parsed)]
        self.cases = (Case(Signature(tuple(held), parsed.outputs), static),)
        self.source = ""
        self.kinds = REVERSE_ONLY if isinstance(self.custom, jax.custom_vjp) else BOTH_MODES
        self.forward = self.plain
        self.fwd_rule = getattr(self.custom, "fwd", None)
        self.vjp_rule = getattr(self.custom, "bwd", None)
        self.jvp_rule = getattr(self.custom, "jvp", None) if isinstance(self.custom, jax.custom_jvp) else None

    @property
    def where(self) -> str:
        """File and line of the definition."""
        return f"{Path(self.file).name}:{self.line}"

    def check_complete(self) -> None:
        """A function is complete as it is."""

    def _array_arguments(self, static: Mapping[str, Any]) -> list[str]:
        """The names of the arguments that are arrays: those that are not static and have no default to fall back on."""
        try:
            parameters = inspect.signature(self.plain).parameters
        except (TypeError, ValueError):
            raise UsageError(f"The arguments of {self.name} cannot be read from its definition.") from None
        unknown = [n for n in static if n not in parameters]
        if unknown:
            raise UsageError(
                f"{self.name} ({self.where}) has no argument named {unknown[0]!r}; it has {', '.join(parameters)}."
            )
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters.values()):
            raise UsageError(
                f"{self.name} ({self.where}) takes *args or **kwargs: wrap it in a function of named arguments."
            )
        return [
            n for n, p in parameters.items() if n not in static and (p.default is p.empty or p.kind != p.KEYWORD_ONLY)
        ]

    def _specs(self, parsed: Signature) -> list[tuple[str, ArraySpec]]:
        return list(zip(self.arg_names, parsed.inputs, strict=True))

    def _held(self, parsed: Signature, differentiable: Sequence[str] | None) -> list[str]:
        floats = [n for n, s in self._specs(parsed) if s.dtype == "float"]
        if differentiable is None:
            return []
        unknown = [n for n in differentiable if n not in floats]
        if unknown:
            raise UsageError(
                f"'{unknown[0]}' is no float argument of {self.name} ({self.where}); those are {', '.join(floats)}."
            )
        return [n for n in floats if n not in differentiable]

    # --- the programs ---

    def rules(self, statics: Mapping[str, Any]) -> Rules:
        """The function's forward and derivatives over flat lists of arrays, its float outputs in order."""
        moving = [k for k, s in enumerate(self.cases[0].signature.inputs) if s.dtype == "float"]

        def outputs(args: Sequence[Any]) -> list[Any]:
            given = dict(zip(self.arg_names, args, strict=True)) | dict(statics)
            positional = [given.pop(n) for n in self._positional() if n in given]
            found = jax.tree_util.tree_leaves(self.function(*positional, **given))
            return [y for y in found if jnp.issubdtype(jnp.result_type(y), jnp.floating)]

        def of_moving(args: Sequence[Any]) -> Callable[..., list[Any]]:
            def run(*xs: Any) -> list[Any]:
                full = list(args)
                for k, x in zip(moving, xs, strict=True):
                    full[k] = x
                return outputs(full)

            return run

        def forward(args: list, params: list) -> list:
            return outputs(args)

        def jvp(args: list, tangents: list, params: list) -> list:
            return jax.jvp(of_moving(args), [args[k] for k in moving], list(tangents))[1]

        def vjp(args: list, seeds: list, params: list) -> list:
            return list(jax.vjp(of_moving(args), *(args[k] for k in moving))[1](list(seeds)))

        def primal(args: list, params: list) -> list:
            if isinstance(self.custom, jax.custom_jvp):
                points = [args[k] for k in moving]
                return jax.jvp(of_moving(args), points, [jnp.zeros_like(x) for x in points])[0]
            return jax.vjp(of_moving(args), *(args[k] for k in moving))[0]

        return Rules(forward, jvp if "jvp_is_derivative" in self.kinds else None, vjp, primal)

    def _positional(self) -> list[str]:
        parameters = inspect.signature(self.plain).parameters.values()
        return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]

    def call_rule(self, rule: Callable, *args: Any, statics: Mapping[str, Any]) -> Any:
        """Call one of the rules with its structural arguments."""
        return rule(*args, **statics)


def unwrapped(function: Any) -> Any:
    """The `custom_vjp` or `custom_jvp` inside `jit` and `partial`; the function itself if there is none."""
    found = function
    for _ in range(16):
        if isinstance(found, (jax.custom_vjp, jax.custom_jvp)):
            return found
        inner = found.func if isinstance(found, partial) else getattr(found, "__wrapped__", None)
        if inner is None:
            return function
        found = inner
    return function


def plain_function(function: Any) -> Callable:
    """The Python function that a rule is for."""
    inner = getattr(function, "fun", None) if isinstance(function, (jax.custom_vjp, jax.custom_jvp)) else function
    while isinstance(inner, partial):
        inner = inner.func
    return inspect.unwrap(inner)  # type: ignore[arg-type]


def place_of(function: Callable) -> tuple[str, int]:
    """File and line of a function."""
    code = getattr(function, "__code__", None)
    return (inspect.getsourcefile(function) or "?", code.co_firstlineno) if code is not None else ("?", 0)
