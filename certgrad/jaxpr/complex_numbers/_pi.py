"""π as a primitive of traced programs, which is read as the exact number; a literal would be a rounded one."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import mlir

PI = "certgrad_pi"

_pi_p = Primitive(PI)


def pi(dtype: Any) -> jax.Array:
    """Return π as a scalar of a float dtype."""
    return _pi_p.bind(dtype=np.dtype(dtype))


def _value(*, dtype: Any) -> jax.Array:
    return jax.numpy.asarray(np.pi, dtype)


_pi_p.def_impl(_value)
_pi_p.def_abstract_eval(lambda *, dtype: jax.core.ShapedArray((), dtype))
mlir.register_lowering(_pi_p, mlir.lower_fun(_value, multiple_results=False))
