"""An attack: a derivative rule that is wrong somewhere, and where."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Attack:
    """A wrong rule, as a user could write it, with what shows that it is wrong."""

    name: str
    """Unique, snake case."""
    kind: str
    """The class: `A5 sizes`, `4.3 caches`, `5 ties` …"""
    rule: Callable[[], Callable[..., Any]]
    """Makes the function with its wrong rule anew: a `jax.custom_vjp` or `jax.custom_jvp` function, of arrays only."""
    plain: Callable[..., Any]
    """The function that the rule claims to differentiate, without any rule of its own."""
    signature: str
    """The shapes, as `certgrad.check` takes them: `"n d, d -> n"`."""
    wrong_at: Callable[[], tuple[Any, ...]]
    """Arrays (numpy, float64) that fit the signature, lie in the domain, and at which the gradient of the rule is wrong
    (or NaN) while that of the plain function is defined."""
    domain: tuple[str, ...] = ()
    """Hypotheses handed to `certgrad.check`."""
    excluded_by: tuple[str, ...] = ()
    """Hypotheses, as reports print them, that exclude every point at which the rule is wrong: a proof under one of
    them is no wrong proof. Looked at by hand, one by one."""
    declared: Mapping[str, Any] = field(default_factory=dict)
    """Further keyword arguments of `certgrad.check`: `static`, `differentiable`."""
