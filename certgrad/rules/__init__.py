"""Users' code: derivative rules (`jax.custom_vjp`, `jax.custom_jvp`, plain functions), and functions that are equal.

Submodules load on first use: reading a configuration does not load the kernel.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._check import check
    from ._declaration import declare
    from ._equal import Equality, equal
    from ._report import Report
    from ._statics import each, real

_PUBLIC = {
    "Equality": "_equal",
    "Report": "_report",
    "check": "_check",
    "declare": "_declaration",
    "each": "_statics",
    "equal": "_equal",
    "real": "_statics",
}

__all__ = ["Equality", "Report", "check", "declare", "each", "equal", "real"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(f".{_PUBLIC[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
