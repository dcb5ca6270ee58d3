"""Obligations: what is claimed of a rule, the calculus that proves it, and the certificate that records it.

Submodules load on first use: `verify` and `balls` run without the calculus.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .auditing.audit import audit
    from .auditing.statement import Obligation, obligation
    from .certificate import CODES, Certificate

_PUBLIC = {
    "CODES": "certificate",
    "Certificate": "certificate",
    "Obligation": "auditing.statement",
    "audit": "auditing.audit",
    "obligation": "auditing.statement",
}

__all__ = ["CODES", "Certificate", "Obligation", "audit", "obligation"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(f".{_PUBLIC[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
