"""certgrad proves hand-written JAX derivative rules: for every shape, over the real numbers, with no tolerance.

Everything public is reached from here; submodules load on first use, so that importing certgrad costs nothing.

PYTEST_DONT_REWRITE: `certgrad run -m pytest` has imported it before pytest begins, of which pytest warns otherwise.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from certgrad._audit import audit, audit_op
    from certgrad._solves import solves
    from certgrad.accel import compile_graph
    from certgrad.graph import certify, trace
    from certgrad.obligations import obligation
    from certgrad.obligations.verify import verify
    from certgrad.ops import axis_of, case, op, registry
    from certgrad.rules import check, declare, each, equal, real
    from certgrad.training import train

_PUBLIC = {
    "audit": "certgrad._audit",
    "audit_op": "certgrad._audit",
    "axis_of": "certgrad.ops",
    "case": "certgrad.ops",
    "certify": "certgrad.graph",
    "check": "certgrad.rules",
    "compile_graph": "certgrad.accel",
    "declare": "certgrad.rules",
    "each": "certgrad.rules",
    "equal": "certgrad.rules",
    "obligation": "certgrad.obligations",
    "op": "certgrad.ops",
    "real": "certgrad.rules",
    "registry": "certgrad.ops",
    "solves": "certgrad._solves",
    "trace": "certgrad.graph",
    "train": "certgrad.training",
    "verify": "certgrad.obligations.verify",
}

__all__ = [
    "__version__",
    "audit",
    "audit_op",
    "axis_of",
    "case",
    "certify",
    "check",
    "compile_graph",
    "declare",
    "each",
    "equal",
    "obligation",
    "op",
    "real",
    "registry",
    "solves",
    "trace",
    "train",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'certgrad' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
