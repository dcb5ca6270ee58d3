"""certgrad proves hand-written JAX derivative rules: for every shape, over the real numbers, with no tolerance.

Everything public is reached from here; submodules load on first use, so that importing certgrad costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from certgrad.obligations import audit_op, obligation
    from certgrad.ops import axis_of, case, op, registry

_PUBLIC = {
    "audit_op": "certgrad.obligations",
    "obligation": "certgrad.obligations",
    "axis_of": "certgrad.ops",
    "case": "certgrad.ops",
    "op": "certgrad.ops",
    "registry": "certgrad.ops",
}

__all__ = ["__version__", "audit_op", "axis_of", "case", "obligation", "op", "registry"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'certgrad' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
