"""Whether an attack is wrong, in numbers."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .attack import Attack

CALLS, MANY = 4, 160
"""Rules that keep a state are wrong at some call; those of a kind that says `late`, after many."""


def gradients(function: Any, values: tuple[Any, ...], seeds: int) -> list[np.ndarray] | None:
    """What the function pulls back, or None where it raises."""
    real = [i for i, v in enumerate(values) if jnp.issubdtype(jnp.result_type(v), jnp.floating)]

    def of_real(*given: Any) -> Any:
        of = dict(zip(real, given, strict=True))
        outputs = jax.tree.leaves(function(*(of.get(i, v) for i, v in enumerate(values))))
        return [y for y in outputs if jnp.issubdtype(jnp.result_type(y), jnp.floating)]

    y, back = jax.vjp(of_real, *(values[i] for i in real))
    random = np.random.default_rng(seeds)
    given = [jnp.asarray(random.uniform(1, 2, jnp.shape(v)), jnp.result_type(v)) for v in y]
    return [np.asarray(v, dtype=np.float64) for v in back(given)]


def shown_wrong(attack: Attack, wide: bool = True) -> str:
    """How it is shown: the call at which the gradients differ, or nothing. If not `wide`, JAX has no 64-bit numbers."""
    near = {"rtol": 1e-4, "atol": 1e-9} if wide else {"rtol": 1e-2, "atol": 1e-6}
    with jax.enable_x64(wide), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = tuple(jnp.asarray(v) if isinstance(v, np.ndarray) else v for v in attack.wrong_at())
        right = gradients(attack.plain, values, 0)
        assert not wide or all(np.all(np.isfinite(v)) for v in right), f"{attack.name}: no derivative there"
        for way, wrap in (("eagerly", lambda f: f), ("under jit", jax.jit)):
            rule = wrap(attack.rule())
            for call in range(MANY if "late" in attack.kind else CALLS):
                found = gradients(rule, values, 0)
                if not all(np.allclose(f, r, **near) for f, r in zip(found, right, strict=True)):
                    return f"{way}, call {call + 1}"
    return ""
