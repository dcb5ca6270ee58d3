"""What there is to audit in the installed JAX: its primitives with a derivative rule, and its custom rules."""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

import jax

from certgrad.obligations.tracing.jax_internals import primitives_with_rules

PRIMITIVE, CUSTOM, FUNCTION = "primitive", "custom rule", "function"

NO_DERIVATIVE: dict[str, frozenset[str]] = {
    "integers, booleans or keys: there is nothing to differentiate": frozenset(
        """and or xor not shift_left shift_right_logical shift_right_arithmetic mulhi random_clone random_fold_in
        random_seed random_split random_unwrap random_wrap""".split()
    ),
    "it hides the derivative by intent": frozenset({"stop_gradient"}),
    "JAX refuses to differentiate it": frozenset({"composite", "custom_vmap_call", "remat_opt"}),
}
"""Primitives that JAX lists with a rule, and that have no derivative to be right or wrong."""

_OWNERS = {
    "jax._src.nn": "jax.nn",
    "jax._src.numpy": "jax.numpy",
    "jax._src.numpy.linalg": "jax.numpy.linalg",
    "jax._src.scipy.special": "jax.scipy.special",
    "jax._src.third_party.scipy.special": "jax.scipy.special",
    "jax._src.lax.other": "jax.lax",
}
"""The public module for the custom rules of a private one. Rules of any other module are internal to JAX."""


@dataclass(frozen=True)
class Subject:
    """A primitive or a function of JAX by its name, and why it has no derivative, if it has none."""

    name: str
    kind: str
    without: str = ""


@lru_cache(maxsize=1)
def subjects() -> tuple[Subject, ...]:
    """Return all that an audit of JAX names: primitives, custom rules, and other functions with a configuration."""
    from .configurations import CONFIGURATIONS

    reasons = {name: reason for reason, names in NO_DERIVATIVE.items() for name in names}
    primitives = [Subject(name, PRIMITIVE, reasons.get(name, "")) for name in primitives_with_rules()]
    custom = [Subject(name, CUSTOM) for name in custom_rules()]
    listed = {s.name for s in (*primitives, *custom)}
    functions = sorted({c.subject for c in CONFIGURATIONS if c.subject.startswith("jax.")} - listed)
    return (*primitives, *custom, *(Subject(name, FUNCTION) for name in functions))


def custom_rules() -> list[str]:
    """Return the names of functions with a custom derivative in jax.nn, jax.numpy, jax.scipy.special and jax.lax.

    A private function is listed without its underscore or `_impl`: `jax.scipy.special.dawsn`.
    """
    return sorted({name for module in _modules() for value in vars(module).values() if (name := _name(value))})


def _modules() -> Iterator[Any]:
    """Return the modules of JAX in which custom rules are looked for, after importing them."""
    for package in ("jax._src.nn", "jax._src.numpy", "jax._src.scipy", "jax._src.third_party.scipy"):
        loaded = import_module(package)
        for info in pkgutil.iter_modules(loaded.__path__, f"{package}."):
            import_module(info.name)
    return iter([m for n, m in sorted(sys.modules.items()) if n.startswith(tuple(_OWNERS)) and m is not None])


def _name(value: Any) -> str:
    """Return the name under which a custom rule is listed; "" for anything else."""
    for _ in range(4):
        if isinstance(value, (jax.custom_jvp, jax.custom_vjp)):
            return _public(value.fun)
        value = getattr(value, "__wrapped__", None)
    return ""


def _public(plain: Any) -> str:
    """Return the public name of a function of JAX; "" for one that is internal."""
    module = plain.__module__
    owner = max((o for o in _OWNERS if module == o or module.startswith(f"{o}.")), key=len, default="")
    return f"{_OWNERS[owner]}.{plain.__name__.removeprefix('_').removesuffix('_impl')}" if owner else ""
