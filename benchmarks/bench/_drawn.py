"""Arguments that fit a declared signature, for `check_grads`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from certgrad.rules.declared.statics import Each, Real

SIZES = (3, 2, 4, 5, 6)
GROUP = (3, 2)
LOW, HIGH = 0.3, 0.95
"""Between these are all floats, which suits the domains that rules are declared with; integers are 0 or 1."""


def arrays(signature: str) -> list[Any]:
    """One array for each input of a signature in one text, floats in JAX's default dtype."""
    inputs = signature.partition("->")[0].split(",")
    names = re.findall(r"(?<![:\w])[a-z]\w*", re.sub(r"(^|[ ,])\*\w+", "", signature))
    sizes = dict(zip(dict.fromkeys(names), SIZES, strict=False))
    rng = np.random.default_rng(0)
    return [_array(text.strip(), sizes, rng) for text in inputs]


def _array(text: str, sizes: Mapping[str, int], rng: np.random.Generator) -> Any:
    dims, _, kind = text.partition(":")
    shape: list[int] = []
    for dim in dims.split():
        shape += GROUP if dim.startswith("*") else [eval(dim, {}, dict(sizes))]
    if kind == "int":
        return jnp.asarray(rng.integers(0, 2, shape))
    if kind == "bool":
        return jnp.asarray(rng.uniform(size=shape) > 0.4)
    return jnp.asarray(rng.uniform(LOW, HIGH, shape))


def statics(declared: Mapping[str, Any]) -> dict[str, Any]:
    """A value for each static argument: the first of several, some positive number for any."""
    return {name: _static(value) for name, value in declared.items()}


def _static(value: Any) -> Any:
    if isinstance(value, Real):
        return 0.9
    return value.values[0] if isinstance(value, Each) else value
