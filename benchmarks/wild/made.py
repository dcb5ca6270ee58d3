"""Rules that packages make at each call, made once: what is at module level can be named.

Each is the package's own object. A package that is not installed has none here.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp


def made_by(call: Callable[[], Any]) -> Any:
    """The first `jax.custom_jvp` that is made during a call."""
    made: list[Any] = []
    custom = jax.custom_jvp

    def kept(function: Callable[..., Any]) -> Any:
        made.append(custom(function))
        return made[-1]

    with mock.patch.object(jax, "custom_jvp", kept):
        call()
    return made[0]


with suppress(ImportError):
    _truncated = import_module("numpyro.distributions").DoublyTruncatedPowerLaw(1.5, 0.1, 0.9)
    truncated_power_law_log_prob = made_by(lambda: _truncated.log_prob(0.5))
    truncated_power_law_cdf = made_by(lambda: _truncated.cdf(0.5))
    truncated_power_law_icdf = made_by(lambda: _truncated.icdf(0.5))

with suppress(ImportError):
    _native, _sigmoid, _stable = (
        import_module(f"mlstm_kernels.jax.parallel.{name}.fwbw")
        for name in ("native", "native_siging", "native_stablef")
    )
    mlstm_native = _native._mlstm_parallel_fwbw_generator(jnp.float32)
    mlstm_siging = _sigmoid._mlstm_siging_parallel_fwbw_generator(jnp.float32)
    mlstm_stablef = _stable._mlstm_parallel_fwbw_generator(jnp.float32)
