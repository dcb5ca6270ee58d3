"""Functions that JAX computes by approximation, recognised by their programs, and what they approximate.

The rules of such functions are the derivatives of the ideal functions, and so not those of what is computed: the two
are as far apart as the approximation is from what it approximates, which is some rounding units.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, log10
from typing import Any

import jax
import numpy as np
from flint import arb
from jax import numpy as jnp
from jax._src.scipy import special as _special

from certgrad._threads import Kept, precision

from ._programs import Program, jaxpr_of, program_of
from ._text import serialised
from ._tracing import wide_floats


@dataclass(frozen=True)
class Approximation:
    """A function of one real number."""

    name: str
    function: Callable[[Any], Any]
    """With its custom rule."""
    ideal: Callable[[Any], Any]
    """What it approximates, in primitives that the calculus knows."""
    exact: Callable[[arb], arb]
    """The same in ball arithmetic, by which the distance is measured."""
    text: str
    points: tuple[float, float, int]
    """First, last, how many: where it is measured."""

    def program(self, aval: Any) -> Program:
        """The ideal function as a program."""
        with wide_floats(aval.dtype == np.float64):
            return program_of(jax.make_jaxpr(self.ideal)(jax.ShapeDtypeStruct(aval.shape, aval.dtype)))

    def said(self, dtype: Any) -> str:
        """What a certificate says of reading the function as the ideal one."""
        low, high, count = self.points
        return (
            f"{self.name} is read as {self.text}, which it approximates: at {count} points from {low:g} to {high:g} "
            f"the two differ by less than {_distance(self, np.dtype(dtype)):g} in "
            f"{np.dtype(dtype).name} (of their value, where that is above 1)"
        )


def _distance(one: Approximation, dtype: np.dtype) -> float:
    """The largest distance as measured, relative where values are above 1, rounded up to a power of 10."""
    key = one.name, dtype.name
    if key not in _distances.table:
        low, high, count = one.points
        with wide_floats(dtype == np.float64):
            x = np.linspace(low, high, count, dtype=dtype)
            found = np.asarray(one.function(jnp.asarray(x)))
        with precision(BITS):
            exact = [float(one.exact(arb(float(v))).mid()) for v in x]
        apart = max(abs(float(a) - b) / max(abs(b), 1) for a, b in zip(found, exact, strict=True))
        _distances.table[key] = 10.0 ** ceil(log10(apart)) if apart else 0.0
    return float(_distances.table[key])


BITS = 256
_distances = Kept()
_programs = Kept()

APPROXIMATIONS: Sequence[Approximation] = (
    Approximation(
        "log_ndtr",
        _special.log_ndtr,
        lambda x: jnp.log(jax.lax.erfc(-x / jnp.sqrt(jnp.asarray(2.0, x.dtype))) / 2),
        lambda x: ((-x / arb(2).sqrt()).erfc() / 2).log(),
        "log(erfc(−x/√2)/2)",
        (-40.0, 12.0, 105),
    ),
)


def approximation(program: Program) -> Approximation | None:
    """Which of these functions a program computes: it is the one that JAX makes of it."""
    jaxpr = program.jaxpr
    if len(jaxpr.invars) != 1 or len(jaxpr.outvars) != 1:
        return None
    aval = jaxpr.invars[0].aval
    if getattr(aval, "dtype", None) not in (np.float32, np.float64):
        return None
    for one in APPROXIMATIONS:
        # Of a number it takes the fewest equations: there is nothing to broadcast.
        if len(jaxpr.eqns) < len(_program(one, aval.update(shape=())).jaxpr.eqns):
            continue
        own = _program(one, aval)
        if len(jaxpr.eqns) == len(own.jaxpr.eqns) and serialised(program) == serialised(own):
            return one
    return None


def _program(one: Approximation, aval: Any) -> Program:
    """Its own program at such arrays."""
    key = one.name, str(aval)
    if key not in _programs.table:
        with wide_floats(aval.dtype == np.float64):
            traced = jax.make_jaxpr(one.function)(jax.ShapeDtypeStruct(aval.shape, aval.dtype))
        _programs.table[key] = program_of(jaxpr_of(traced).eqns[0].params["call_jaxpr"])
    return _programs.table[key]
