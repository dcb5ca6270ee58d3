"""Programs that write into mutable references (`jax.new_ref`), as the programs of values that JAX compiles.

A reference that a program makes and does not return is like a value that each equation hands on to the next, also
through loops and branches. JAX rewrites a program with references in that form before it compiles it ("discharge"); the
same function of JAX is used here. A reference from outside, or one that is returned, is state: a program with one stays
as it is, and has side effects.
"""

from __future__ import annotations

from typing import Any

from jax._src.core import jaxprs_in_params
from jax._src.state.discharge import discharge_state

from certgrad.jaxpr.programs import jaxpr_of

_MAKE = frozenset({"empty_ref", "new_ref", "run_state"})
"""Primitives that make a reference."""
_OF_ITS_OWN = frozenset({"pallas_call"})
"""Primitives that run a program of references in their own way, and are left as they are."""


def without_references(program: Any) -> Any:
    """Return the closed program without references; None where it makes none, or shares one with the outside."""
    return None if shares_references(program) or not _makes_one(program) else discharge_state(program)


def shares_references(program: Any) -> bool:
    """Return whether the program takes, holds or returns a reference."""
    jaxpr = jaxpr_of(program)
    return any(hasattr(v.aval, "inner_aval") for v in (*jaxpr.invars, *jaxpr.constvars, *jaxpr.outvars))


def _makes_one(program: Any) -> bool:
    """Return whether the program, or a program inside it, makes a reference."""
    for eqn in jaxpr_of(program).eqns:
        if eqn.primitive.name in _MAKE:
            return True
        if not eqn.params or eqn.primitive.name in _OF_ITS_OWN:
            continue
        if any(map(_makes_one, jaxprs_in_params(eqn.params))):
            return True
    return False
