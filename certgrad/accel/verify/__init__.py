"""A second way to check the certificate of a graph, which uses nothing of the calculus that proved it.

The function is traced again, the steps are walked beside its nodes, and the sweep that runs is evaluated in rigorous
arithmetic. Tracing, the shapes of a lemma's family, and the sweep are shared with what certifies and what runs; terms,
the meaning of primitives, the derivative, the normal form and the case split are not.
"""

from certgrad.accel.verify._hearing import unsaid
from certgrad.accel.verify._verify import GraphVerification, verify_graph

__all__ = ["GraphVerification", "unsaid", "verify_graph"]
