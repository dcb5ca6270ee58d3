"""JAX's own sign bit of floats (`jnp.signbit`, which `copysign` and others are made of), recognised by its program."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from certgrad._threads import Kept

from ._programs import Program, is_literal, program_of
from ._text import serialised
from ._tracing import wide_floats

_texts = Kept()


def is_sign_bit(eqn: Any) -> bool:
    """The equation calls the program that JAX makes of `signbit`, of its first operand.

    Where JAX differentiates it, a tangent stands beside, which nothing is made of.
    """
    if eqn.primitive.name not in ("jit", "pjit") or eqn.params.get("name") != "signbit" or not eqn.invars:
        return False
    aval = eqn.invars[0].aval
    if aval.dtype not in (np.float32, np.float64):
        return False
    key = str(aval)
    if key not in _texts.table:
        with wide_floats(aval.dtype == np.float64):
            made: Any = jax.make_jaxpr(jnp.signbit)(jax.ShapeDtypeStruct(aval.shape, aval.dtype))
        (call,) = made.eqns
        _texts.table[key] = serialised(program_of(call.params["jaxpr"]))
    program = program_of(eqn.params["jaxpr"])
    first, *others = program.jaxpr.invars
    jaxpr = SimpleNamespace(
        invars=[first], constvars=program.jaxpr.constvars, eqns=program.jaxpr.eqns, outvars=program.jaxpr.outvars
    )
    unused = not any(v in others for e in jaxpr.eqns for v in e.invars if not is_literal(v))
    return unused and serialised(Program(jaxpr, program.consts)) == _texts.table[key]
