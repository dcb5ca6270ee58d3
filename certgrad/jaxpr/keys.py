"""Random keys: which equations of a traced program draw numbers from them, and facts about the numbers."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from jax.extend import core as jex

from certgrad.jaxpr.kinds import KEEPS_CONSTANTS
from certgrad.jaxpr.programs import jaxpr_of

_SAMPLERS = frozenset(
    "_uniform _normal _normal_real _truncated_normal _bernoulli _exponential _gumbel _laplace _logistic _cauchy "
    "_rademacher _randint _shuffle".split()
)
"""The functions of jax.random that return finite numbers for every key, never NaN or an infinity."""
_COMPUTED = frozenset("uniform normal normal_real truncated_normal exponential gumbel laplace logistic cauchy".split())
_RANDOM = os.path.join(os.path.dirname(jax.__file__), "_src", "random")


@lru_cache(maxsize=64)
def is_key(dtype: Any) -> bool:
    """Return whether a dtype is that of random keys."""
    return bool(jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key))


def key_dtype() -> Any:
    """Return the dtype of random keys, as `jax.random.key` makes them under the present configuration."""
    return jax.eval_shape(jax.random.key, 0).dtype


def keys_from(numbers: np.ndarray) -> Any:
    """Return an array of random keys with the numbers as seeds."""
    seeds = np.asarray(numbers).astype(np.uint32)
    return jax.random.key(seeds) if not seeds.shape else jax.vmap(jax.random.key)(seeds.ravel()).reshape(seeds.shape)


def sampler(eqn: Any) -> str:
    """Return the function of `jax.random` by which an equation draws numbers, such as `normal`; "" for any other.

    Such a draw is read as an unknown number for each key. A Bernoulli draw with a computed probability is not: it
    depends on the probability, by a comparison with a uniform number, and is read by its program. Nor is a draw with a
    parameter that is not finite.
    """
    name, inner = eqn.params.get("name"), eqn.params.get("jaxpr")
    if name not in _SAMPLERS or inner is None or eqn.primitive.name != "jit":
        return ""
    if not eqn.invars or len(eqn.outvars) != 1:  # a part of such a function, which differentiation has split
        return ""
    info = str(getattr(getattr(jaxpr_of(inner), "debug_info", None), "func_src_info", ""))
    if not info.startswith(f"{name} at {_RANDOM}") or not is_key(eqn.invars[0].aval.dtype):
        return ""
    if name == "_bernoulli" and not all(isinstance(v, jex.Literal) for v in eqn.invars[1:]):
        return ""
    finite = all(np.isfinite(np.asarray(v.val)).all() for v in eqn.invars if isinstance(v, jex.Literal))
    return str(name).lstrip("_") if finite else ""


def computed_draw(eqn: Any) -> bool:
    """Return whether a draw is computed from uniform bits by real arithmetic, which floats round."""
    return sampler(eqn) in _COMPUTED


def at_least(eqn: Any) -> int | None:
    """Return the position of the operand that is a lower bound of a draw; None if there is none.

    The program of such a draw (`uniform`) ends with a maximum of the numbers and the bound, which may be broadcast or
    cast before.
    """
    jaxpr = jaxpr_of(eqn.params["jaxpr"])
    equation_of = {v: e for e in jaxpr.eqns for v in e.outvars}
    maximum = equation_of.get(jaxpr.outvars[0])
    if maximum is None or maximum.primitive.name != "max":
        return None
    for v in maximum.invars:
        while not isinstance(v, jex.Literal) and v in equation_of and equation_of[v].primitive.name in KEEPS_CONSTANTS:
            v = equation_of[v].invars[0]
        if v in jaxpr.invars:
            return int(jaxpr.invars.index(v))
    return None
