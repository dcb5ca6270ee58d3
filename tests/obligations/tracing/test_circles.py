"""Traces leave no circles behind: what they made goes when they are done, without the garbage collector."""

import gc
import weakref
from typing import Any

import jax.numpy as jnp
import numpy as np

from certgrad.obligations.tracing.jax_internals import abstract, symbols, trace


class _Local:
    """A value of a frame that calls JAX."""


def test_frames_of_a_trace_go_when_it_is_done() -> None:
    n = symbols(["n"])["n"]
    seen: list[weakref.ref[_Local]] = []

    def function(x: Any) -> Any:
        local = _Local()
        seen.append(weakref.ref(local))
        return x + jnp.zeros((n,), x.dtype)

    gc.collect()
    gc.disable()
    try:
        program = trace(function, [abstract((n,), np.float32)])
        assert seen[0]() is None
    finally:
        gc.enable()
    assert [str(v.aval.shape) for v in program.jaxpr.outvars] == ["(n,)"]
