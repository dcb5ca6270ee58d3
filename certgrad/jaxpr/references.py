"""Programs that write into mutable references (`jax.new_ref`), as programs of values: what JAX itself compiles.

A reference that a program makes and keeps to itself is a value that is handed from one equation to the next, also
through loops and branches. JAX turns every program with references into that one before it compiles it ("discharges"
it), and it is taken from JAX here. A reference from outside, or one that is returned, is state: such a program stays as
it is, and has side effects.
"""

from __future__ import annotations

from typing import Any

from jax._src.core import jaxprs_in_params
from jax._src.state.discharge import discharge_state

from certgrad.jaxpr.programs import jaxpr_of

_MAKE = frozenset({"empty_ref", "new_ref", "run_state"})
"""What makes a reference, and hands it on or keeps it."""
_OF_ITS_OWN = frozenset({"pallas_call"})
"""What runs a program of references in its own way."""


def without_references(program: Any) -> Any:
    """The closed program as one of values; None where it makes no reference, or shares one with the outside."""
    return None if shares_references(program) or not _makes_one(program) else discharge_state(program)


def shares_references(program: Any) -> bool:
    """Return whether the program takes, holds or returns a reference."""
    jaxpr = jaxpr_of(program)
    return any(hasattr(v.aval, "inner_aval") for v in (*jaxpr.invars, *jaxpr.constvars, *jaxpr.outvars))


def _makes_one(program: Any) -> bool:
    for eqn in jaxpr_of(program).eqns:
        if eqn.primitive.name in _MAKE:
            return True
        if not eqn.params or eqn.primitive.name in _OF_ITS_OWN:
            continue
        if any(map(_makes_one, jaxprs_in_params(eqn.params))):
            return True
    return False
