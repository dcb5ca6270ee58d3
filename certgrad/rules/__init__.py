"""Derivative rules in users' code: `jax.custom_vjp`, `jax.custom_jvp`, plain functions, proved like the library's.

Submodules load on first use: reading a configuration does not load the kernel.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._check import check
    from ._declaration import declare
    from ._report import Report
    from ._statics import each, real

_PUBLIC = {
    "Report": "_report",
    "check": "_check",
    "declare": "_declaration",
    "each": "_statics",
    "real": "_statics",
}

__all__ = ["Report", "check", "declare", "each", "real"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(f".{_PUBLIC[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
