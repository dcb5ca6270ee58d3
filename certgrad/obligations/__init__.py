"""Obligations: what is claimed of a rule, the calculus that proves it, and the certificate that records it.

Submodules load on first use: `verify` and `balls` run without the calculus.
"""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

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


__getattr__ = door(__name__, _PUBLIC)
