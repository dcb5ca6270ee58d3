"""The values that functions close over, and which objects hold a derivative rule."""

from __future__ import annotations

from contextlib import suppress
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jax

_FILTERED = ("filter_custom_vjp", "filter_custom_jvp")


def captured(function: Any) -> list[Any]:
    """Return the values that a function closes over; the cell of a variable that is not assigned yet is left out."""
    values = []
    for cell in getattr(function, "__closure__", None) or ():
        with suppress(ValueError):
            values.append(cell.cell_contents)
    return values


def closed_over(function: FunctionType) -> list[tuple[str, Any]]:
    """Return the names and values of the variables that a function closes over, those that are assigned."""
    variables = []
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):
            variables.append((name, cell.cell_contents))
    return variables


def module_of(kind: type) -> str:
    """Return the name of the module of a class; "" where its `__module__` is no string but a descriptor."""
    return kind.__module__ if isinstance(kind.__module__, str) else ""


def kind_of_rule(value: Any) -> str:
    """Return the decorator that made an object with a derivative rule, as users write it; "" for any other object."""
    import jax  # imported here, as reading a configuration does not need JAX

    if isinstance(value, jax.custom_vjp):
        return "jax.custom_gradient" if _of_custom_gradient(value) else "jax.custom_vjp"
    if isinstance(value, jax.custom_jvp):
        return "jax.custom_jvp"
    kind = type(value)
    if kind.__name__ in _FILTERED and module_of(kind).startswith("equinox"):
        return f"equinox.{kind.__name__}"
    if module_of(kind).startswith("flax.nnx") and kind.__name__.endswith("CustomVjp"):
        return "flax.nnx.custom_vjp"
    return ""


def _of_custom_gradient(value: jax.custom_vjp) -> bool:
    code = getattr(value.fun, "__code__", None)
    return code is not None and code.co_qualname.startswith("custom_gradient.<locals>")
