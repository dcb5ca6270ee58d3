"""The certificate of an op, by whichever argument proves it: the calculus, or induction over the parts."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from certgrad._subject import Subject

if TYPE_CHECKING:
    from certgrad.obligations.cache import Cache
    from certgrad.obligations.certificate import Certificate


def audit(op: Subject, cache: Cache | None = None) -> Certificate:
    """Return the certificate of an op. A rule that is wrong is a verdict, not an exception.

    An op with rules of its own is proved by the calculus, a composed one by induction over the nodes of its program.
    With a cache an op of the library is traced as ever; where all is as in an earlier audit, its proofs are not
    repeated. An op of other code is proved each time, and compared with what happens at numbers and in calls, unless
    it says otherwise. Raises TraceError or RuleError where the op's functions do not trace, or return the wrong number,
    shape or dtype.
    """
    from certgrad.ops._composed import Composed

    if isinstance(op, Composed):
        from certgrad.graph.certifying.composed import audit as by_induction

        return by_induction(op, cache)
    from certgrad.obligations import audit as by_the_calculus
    from certgrad.obligations.cache import of_library

    if of_library(op):
        return by_the_calculus(op, cache)
    compared = copy(op)
    compared.conformance = True if op.conformance is None else op.conformance
    return by_the_calculus(compared)


def audit_op(name: str, cache: Cache | None = None) -> Certificate:
    """Return the certificate of an op of the library, by name; a cache as `audit` takes it. Raises UnknownOpError."""
    from certgrad.ops import registry

    return audit(registry.get(name), cache)
