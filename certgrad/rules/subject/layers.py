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
    """Yield a rule, then what its wrapper (`jit`, `partial`) is around, and so on to the custom function inside."""
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
    """Return what `unwrapped` does; None if the object raises when its attributes are read."""
    try:
        return unwrapped(function)
    except Exception:  # whatever the object's own `__getattr__` raises
        return None


def bound_by(function: Any) -> tuple[int, frozenset[str]]:
    """Return how many leading arguments the partials around a rule bind by position, and which by name."""
    partials = [layer for layer in _layers(function) if isinstance(layer, partial)]
    return sum(len(layer.args) for layer in partials), frozenset(n for layer in partials for n in layer.keywords)


def keywords_of(function: Callable) -> set[str]:
    """Return the parameters of a function that can be given by name; none if its signature cannot be read."""
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
"""By kind of custom function: the attributes that hold its rule, and what the function is called without them."""


def incomplete(custom: Any) -> str:
    """Return in words what a custom function lacks to have a rule; "" if it has one."""
    kind = "op" if is_op(custom) else kind_of_rule(custom)
    names, what = _MADE_BY.get(kind, ("", ""))
    holder = custom.fn if kind == "equinox.filter_custom_jvp" else custom
    return f"{what}: it has no rule" if any(getattr(holder, n, None) is None for n in names.split()) else ""


def plain_function(function: Any) -> Callable:
    """Return the Python function that a rule is for: the one that was decorated, without any wrapper."""
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
    rule_parts = (getattr(custom, name, None) for name in ("fwd", "bwd", "jvp", "fn_fwd", "fn_bwd"))
    return [part for part in (plain_function(custom), *rule_parts) if isinstance(part, FunctionType)]


def parameters_of(custom: Any, plain: Callable) -> dict[str, inspect.Parameter]:
    """Return the parameters that a call can give the function of a rule, by name.

    For JAX's custom functions, parameters that a partial inside has bound are left out, and so are keyword-only ones
    with a default.

    Raises:
        TypeError, ValueError: the parameters cannot be read.
    """
    if kind_of_rule(custom) not in ("jax.custom_vjp", "jax.custom_jvp"):
        return dict(inspect.signature(plain).parameters)
    parameters = inspect.signature(custom.fun if isinstance(custom.fun, partial) else plain).parameters
    return {n: p for n, p in parameters.items() if p.kind != p.KEYWORD_ONLY or p.default is p.empty}


def seen_by_jax(custom: Any, plain: Callable) -> frozenset[str]:
    """Return the parameters of the function that JAX's custom function holds, which may be a wrapper of `plain`."""
    try:
        return frozenset(inspect.signature(custom.fun if hasattr(custom, "fun") else plain).parameters)
    except (TypeError, ValueError):
        return frozenset(inspect.signature(plain).parameters)


def by_name(custom: Any) -> frozenset[str]:
    """Return the arguments that a rule takes by name: of Equinox's JVP rules, those after primals and tangents."""
    if kind_of_rule(custom) != "equinox.filter_custom_jvp":
        return frozenset()
    rule: Any = custom.fn.jvp
    while inspect.isfunction(inner := inspect.getclosurevars(inspect.unwrap(rule)).nonlocals.get("fn_jvp")):
        rule = inner
    keywords = [*inspect.signature(rule).parameters.values()][2:]  # after the primals and their tangents
    return frozenset(p.name for p in keywords if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))


def backward_of(custom: Any) -> tuple[Any, str] | None:
    """Return the object and the attribute that hold the backward function; None if the author wrote none."""
    kind = kind_of_rule(custom)
    if kind == "flax.nnx.custom_vjp":
        inner = getattr(custom, "custom_vjp_fn", None)
        return (custom if inner is None else inner.bwd, "bwd")
    return {"jax.custom_vjp": (custom, "bwd"), "equinox.filter_custom_vjp": (custom, "fn_bwd")}.get(kind)


REVERSE = ("jax.custom_vjp", "jax.custom_gradient", "equinox.filter_custom_vjp", "flax.nnx.custom_vjp")
"""Kinds of rules that have no forward mode."""


def place_of(function: Callable) -> tuple[str, int]:
    """Return the file and the first line of a function; ("?", 0) if it has no code."""
    code = getattr(function, "__code__", None)
    if code is None:
        return "?", 0
    return inspect.getsourcefile(function) or "?", code.co_firstlineno


def closed_over(function: Any) -> tuple[Callable, ...]:
    """Return the functions that a library's wrapper around a rule closes over, also in lists: the rule's own code."""
    functions: list[Callable] = []
    for value in captured(function):
        functions += [f for f in (value if isinstance(value, (tuple, list)) else (value,)) if inspect.isfunction(f)]
    return tuple(functions)
