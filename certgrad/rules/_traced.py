"""Whether a rule traces, and the program of its function, in 64 bits or in 32."""

from __future__ import annotations

from certgrad.errors import CertgradError
from certgrad.obligations.generality.instances import family
from certgrad.obligations.generality.traces import Spec, Traces
from certgrad.obligations.prove.problem import trace_forward
from certgrad.obligations.tracing.jax_internals import Program

from ._user_rule import UserRule


def traces(made: Traces) -> bool:
    """The first case of a rule traces, in 64 bits or in 32."""
    return not untraced(made)


def untraced(made: Traces) -> str:
    """Why the first case of a rule traces neither in 64 bits nor in 32; or an empty text."""
    why = ""
    for wide in (True, False):
        found = made.make(Spec(0, 0, (), wide))
        if not isinstance(found, CertgradError):
            return ""
        why = why or str(found)
        if "float" not in str(found):  # it does not fail for its dtype
            return why
    return why


def forward_of(rule: UserRule) -> Program | None:
    """The forward of the rule's first case, in 64 bits or in 32; None where it does not trace."""
    instance = family(rule, rule.cases[0]).prove[0]
    for wide in (True, False):
        try:
            return trace_forward(rule.rules(instance.statics), instance.shapes(), len(rule.params), rule.name, wide)
        except (CertgradError, RecursionError) as error:
            if "float" not in str(error):
                return None
    return None
