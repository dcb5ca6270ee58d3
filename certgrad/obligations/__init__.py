"""Obligations: what is claimed of a rule, the calculus that proves it, and the certificate that records it.

Submodules load on first use: `verify` and `balls` run without the calculus.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._audit import audit
    from ._statement import Obligation, obligation
    from .cache import Cache
    from .certificate import CODES, Certificate

_PUBLIC = {
    "CODES": "certificate",
    "Certificate": "certificate",
    "Obligation": "_statement",
    "audit": "_audit",
    "obligation": "_statement",
}

__all__ = ["CODES", "Certificate", "Obligation", "audit", "audit_op", "obligation"]


def audit_op(name: str, cache: "Cache | None" = None) -> "Certificate":
    """The certificate of an op of the library, by name; a cache as `audit` takes it. Raises UnknownOpError."""
    from certgrad.ops import registry

    from ._audit import audit

    return audit(registry.get(name), cache)


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(f".{_PUBLIC[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
