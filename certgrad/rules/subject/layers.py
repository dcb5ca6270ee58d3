"""The layers of a rule object: its wrappers, the custom function inside, the Python function under it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType
from typing import Any

import jax

from certgrad._subject import is_op
from certgrad.jaxpr.closures import captured, kind_of_rule


def _layers(function: Any) -> Iterator[Any]:
    """A rule, what its wrappers `jit` and `partial` are around, and so on; the custom function inside is the last."""
    layer = function
    for _ in range(16):
        yield layer
        if kind_of_rule(layer):
            return
        layer = layer.func if isinstance(layer, partial) else getattr(layer, "__wrapped__", None)
        if layer is None:
            return


def unwrapped(function: Any) -> Any:
    """Return the custom function inside `jit` and `partial`; the function itself if there is none."""
    *_, last = _layers(function)
    return last if kind_of_rule(last) else function


def unwrapped_safely(function: Any) -> Any:
    """Return the same; None where the object raises on a question about its attributes."""
    try:
        return unwrapped(function)
    except Exception:  # an object may answer any question with one
        return None


def bound_by(function: Any) -> tuple[int, frozenset[str]]:
    """Return how many leading arguments the partials around a rule bind by position, and which by name."""
    partials = [layer for layer in _layers(function) if isinstance(layer, partial)]
    return sum(len(one.args) for one in partials), frozenset(name for one in partials for name in one.keywords)


def keywords_of(function: Callable) -> set[str]:
    """Return the arguments that can be given by name."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return set()
    return {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}


_MADE_BY = {
    "op": ("jvp_rule vjp_rule", "an op without its jvp or its vjp"),
    "flax.nnx.custom_vjp": ("bwd", "an nnx.custom_vjp without defvjp"),
    "jax.custom_vjp": ("fwd bwd", "a custom_vjp without defvjp"),
    "jax.custom_jvp": ("jvp", "a custom_jvp without defjvp"),
    "equinox.filter_custom_vjp": ("fn_fwd fn_bwd", "a filter_custom_vjp without def_fwd and def_bwd"),
    "equinox.filter_custom_jvp": ("jvp", "a filter_custom_jvp without def_jvp"),
}
"""The attributes that hold the rule of a custom function, and what it is without them."""


def incomplete(custom: Any) -> str:
    """Return what a custom function lacks to have a rule; "" if it has one."""
    kind = "op" if is_op(custom) else kind_of_rule(custom)
    names, what = _MADE_BY.get(kind, ("", ""))
    holder = custom.fn if kind == "equinox.filter_custom_jvp" else custom
    return f"{what}: it has no rule" if any(getattr(holder, n, None) is None for n in names.split()) else ""


def plain_function(function: Any) -> Callable:
    """The Python function that a rule is for."""
    inner = function
    if kind_of_rule(function) == "jax.custom_gradient":
        inner = inspect.getclosurevars(function.fun).nonlocals["fun"]
    elif isinstance(function, (jax.custom_vjp, jax.custom_jvp)) or kind_of_rule(function) == "flax.nnx.custom_vjp":
        inner = function.fun
    elif kind_of_rule(function) == "equinox.filter_custom_vjp":
        inner = function.fn
    elif kind_of_rule(function) == "equinox.filter_custom_jvp":
        wrapper = inspect.unwrap(function.fn.fun)  # a type checker may have decorated it
        inner = inspect.getclosurevars(wrapper).nonlocals.get("fn", wrapper)
    elif is_op(function):
        inner = function.forward
    while isinstance(inner, partial):
        inner = inner.func
    return inspect.unwrap(inner)


def parts_of_rule(custom: Any) -> list[FunctionType]:
    """Return the Python functions of a rule: the primal function, its forward and its backward or its JVP."""
    others = (getattr(custom, name, None) for name in ("fwd", "bwd", "jvp", "fn_fwd", "fn_bwd"))
    return [part for part in (plain_function(custom), *others) if isinstance(part, FunctionType)]


def parameters_of(custom: Any, plain: Callable) -> dict[str, inspect.Parameter]:
    """What a call can give the function of a rule. Inside JAX's custom functions a partial has given its arguments, and
    what has no position stays as it is.

    Raises:
        TypeError, ValueError: they cannot be read.
    """
    if kind_of_rule(custom) not in ("jax.custom_vjp", "jax.custom_jvp"):
        return dict(inspect.signature(plain).parameters)
    found = inspect.signature(custom.fun if isinstance(custom.fun, partial) else plain).parameters
    return {n: p for n, p in found.items() if p.kind != p.KEYWORD_ONLY or p.default is p.empty}


def seen_by_jax(custom: Any, plain: Callable) -> frozenset[str]:
    """The parameters of the function that JAX's custom function holds, which may be a wrapper of the one meant."""
    try:
        return frozenset(inspect.signature(custom.fun if hasattr(custom, "fun") else plain).parameters)
    except (TypeError, ValueError):
        return frozenset(inspect.signature(plain).parameters)


def by_name(custom: Any) -> frozenset[str]:
    """Arguments that the rule takes by their names: Equinox hands on those that a call names, beside the others."""
    if kind_of_rule(custom) != "equinox.filter_custom_jvp":
        return frozenset()
    rule: Any = custom.fn.jvp
    while inspect.isfunction(inner := inspect.getclosurevars(inspect.unwrap(rule)).nonlocals.get("fn_jvp")):
        rule = inner
    others = [*inspect.signature(rule).parameters.values()][2:]  # after the primals and their tangents
    return frozenset(p.name for p in others if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))


def backward_of(custom: Any) -> tuple[Any, str] | None:
    """The object and attribute that hold the backward function which runs; None if there is none of the author's."""
    kind = kind_of_rule(custom)
    if kind == "flax.nnx.custom_vjp":
        inner = getattr(custom, "custom_vjp_fn", None)
        return (custom if inner is None else inner.bwd, "bwd")
    return {"jax.custom_vjp": (custom, "bwd"), "equinox.filter_custom_vjp": (custom, "fn_bwd")}.get(kind)


REVERSE = ("jax.custom_vjp", "jax.custom_gradient", "equinox.filter_custom_vjp", "flax.nnx.custom_vjp")
"""Kinds of rules that have no forward mode."""


def place_of(function: Callable) -> tuple[str, int]:
    """File and line of a function; a decorated one starts at its `def`."""
    code = getattr(function, "__code__", None)
    if code is None:
        return "?", 0
    return inspect.getsourcefile(function) or "?", code.co_firstlineno


def closed_over(function: Any) -> tuple[Callable, ...]:
    """Return the functions that a library's wrapper around a rule closes over, also in lists: the rule's own code."""
    found: list[Callable] = []
    for value in captured(function):
        found += [f for f in (value if isinstance(value, (tuple, list)) else (value,)) if inspect.isfunction(f)]
    return tuple(found)
