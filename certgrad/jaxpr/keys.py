"""Random keys: which equations of a traced program draw from them, and what they draw when JAX runs them."""

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
"""The functions of jax.random that return numbers, never NaN or an infinity, whatever the key."""
_COMPUTED = frozenset("uniform normal normal_real truncated_normal exponential gumbel laplace logistic cauchy".split())
_RANDOM = os.path.join(os.path.dirname(jax.__file__), "_src", "random")


@lru_cache(maxsize=64)
def is_key(dtype: Any) -> bool:
    """Return whether a dtype is one of random keys."""
    return bool(jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key))


def key_dtype() -> Any:
    """The dtype of random keys, as `jax.random.key` makes them now."""
    return jax.eval_shape(jax.random.key, 0).dtype


def keys_from(numbers: np.ndarray) -> Any:
    """Return random keys in the place of integers."""
    seeds = np.asarray(numbers).astype(np.uint32)
    return jax.random.key(seeds) if not seeds.shape else jax.vmap(jax.random.key)(seeds.ravel()).reshape(seeds.shape)


def sampler(eqn: Any) -> str:
    """The function of `jax.random` that an equation calls to draw numbers, such as `normal`; empty for any other.

    What it returns is some number for each key: which one, nothing here knows. What is drawn with a probability that is
    computed is no such number: it is 1 where a number of the key alone is below the probability, as its program says.
    """
    name, inner = eqn.params.get("name"), eqn.params.get("jaxpr")
    if name not in _SAMPLERS or inner is None or eqn.primitive.name != "jit":
        return ""
    if not eqn.invars or len(eqn.outvars) != 1:  # a part of one, as derivatives take functions apart
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
    """Return the operand that is a lower bound of a draw: the program ends with a maximum that takes it."""
    jaxpr = jaxpr_of(eqn.params["jaxpr"])
    made = {v: e for e in jaxpr.eqns for v in e.outvars}
    last = made.get(jaxpr.outvars[0])
    if last is None or last.primitive.name != "max":
        return None
    for v in last.invars:
        while not isinstance(v, jex.Literal) and v in made and made[v].primitive.name in KEEPS_CONSTANTS:
            v = made[v].invars[0]
        if v in jaxpr.invars:
            return int(jaxpr.invars.index(v))
    return None
