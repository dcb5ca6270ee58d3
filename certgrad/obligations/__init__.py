"""Obligations: what is claimed of a rule, the calculus that proves it, and the certificate that records it."""

from ._audit import audit
from ._statement import Obligation, obligation
from .certificate import CODES, Certificate


def audit_op(name: str) -> Certificate:
    """The certificate of an op of the library, by name. Raises UnknownOpError."""
    from certgrad.ops import registry

    return audit(registry.get(name))


__all__ = ["CODES", "Certificate", "Obligation", "audit", "audit_op", "obligation"]
