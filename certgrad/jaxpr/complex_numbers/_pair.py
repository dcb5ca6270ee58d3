"""Complex values as pairs of real values, and values that cannot be expressed as pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax._src.core import jaxprs_in_params

from certgrad.jaxpr.programs import jaxpr_of


class Pair(NamedTuple):
    """A complex value: real and imaginary part, of one shape and dtype."""

    re: Any
    im: Any


class NoPairsError(Exception):
    """A primitive has no rule on pairs. The message names it."""


class Unread:
    """A value that cannot be expressed as a pair. It is no error unless it is used."""

    def __init__(self, what: str) -> None:
        self.what = what


class Factors(Unread):
    """An output of JAX's LU factorisation of a complex matrix, which only a solver may use.

    `place` is the position of the output: 0 are the factors, 2 is the permutation.
    """

    def __init__(self, matrix: Pair, place: int) -> None:
        super().__init__("lu")
        self.matrix, self.place = matrix, place


def lifted(x: Any) -> Pair:
    """Return a real or complex value as a pair."""
    return x if isinstance(x, Pair) else Pair(x, jnp.zeros_like(x))


def flat(values: Sequence[Any]) -> list[Any]:
    """Return the values, each pair as its two parts. Raises NoPairsError for a value that is `Unread`."""
    if unread := [x for x in values if isinstance(x, Unread)]:
        raise NoPairsError(unread[0].what)
    return [part for x in values for part in (x if isinstance(x, Pair) else (x,))]


def real_dtype(dtype: Any) -> Any:
    """Return the dtype of the parts of a complex dtype."""
    return np.finfo(dtype).dtype


def is_complex(aval: Any) -> bool:
    """Return whether a type, or an array, is of complex numbers."""
    return getattr(getattr(aval, "dtype", None), "kind", "") == "c"


def touches(eqn: Any) -> bool:
    """Return whether an equation, or a program in it, reads or makes complex numbers."""
    return any(is_complex(v.aval) for v in (*eqn.invars, *eqn.outvars)) or any(
        touches(inner) for program in jaxprs_in_params(eqn.params) for inner in jaxpr_of(program).eqns
    )


def has_complex(jaxpr: Any) -> bool:
    """Return whether a program reads or makes complex numbers."""
    # Many variables share few types.
    types = {id(v.aval): v.aval for eqn in jaxpr.eqns for v in (*eqn.invars, *eqn.outvars)}
    return any(map(is_complex, types.values())) or any(
        has_complex(jaxpr_of(program)) for eqn in jaxpr.eqns if eqn.params for program in jaxprs_in_params(eqn.params)
    )
