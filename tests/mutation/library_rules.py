"""Rules of JAX, optax, Flax and numpyro, as their packages define them: for names of sizes, and at numbers.

Forward, JVP and VJP are what JAX makes of the function and its own rule. They are no part of the tests' default run:
`python -m tests.mutation --libraries`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax.linen import fp8_ops
from jax._src.nn import functions as nn
from jax._src.numpy import lax_numpy, linalg, ufuncs
from jax._src.scipy import special
from numpyro.distributions import util
from optax.losses import _classification

from certgrad.ops import op
from certgrad.ops._registry import Registry

library = Registry()


def _unary(name: str, signature: str, f: Callable[..., Any], domain: str | tuple[str, ...] = ()) -> None:
    def forward(x: Any) -> Any:
        return f(x)

    forward.__name__ = f"library_{name}"
    forward.__doc__ = f"`{f.__module__}.{getattr(f, '__name__', name)}`."
    made = op(signature, domain=domain, registry=library)(forward)
    made.jvp(lambda x, dx: jax.jvp(f, (x,), (dx,))[1])
    made.vjp(lambda x, seed: jax.vjp(f, x)[1](seed)[0])


def _binary(name: str, signature: str, f: Callable[..., Any], domain: str | tuple[str, ...] = ()) -> None:
    def forward(x: Any, y: Any) -> Any:
        return f(x, y)

    forward.__name__ = f"library_{name}"
    forward.__doc__ = f"`{f.__module__}.{getattr(f, '__name__', name)}`."
    made = op(signature, domain=domain, registry=library)(forward)
    made.jvp(lambda x, y, dx, dy: jax.jvp(f, (x, y), (dx, dy))[1])
    made.vjp(lambda x, y, seed: jax.vjp(f, x, y)[1](seed))


def _product(x: Any, y: Any) -> Any:
    numbers = (((1,), (0,)), ((), ()))
    return fp8_ops.dot_general_with_precision(x, y, numbers, None, None)


for _suffix, _vector, _matrix in (("", "n", "n d"), ("_at_numbers", "3", "3 4")):
    for _name, _f, _domain in (
        ("relu", nn.relu, "x != 0"),
        ("relu6", nn.relu6, ()),
        ("log1mexp", nn.log1mexp, "x > 0"),
        ("logit", special.logit, "x > 0 and x < 1"),
        ("xlogx", special._xlogx, "x > 0"),
        ("i0", lax_numpy._i0, "x != 0"),
        ("sinc_at_0", lambda x: ufuncs._sinc_maclaurin(0, x), ()),
        ("log1mexp_of_numpyro", util.log1mexp, "x < 0"),
        ("silu", jax.nn.silu, ()),
        ("gelu", jax.nn.gelu, ()),
    ):
        _unary(_name + _suffix, f"{_matrix} -> {_matrix}", _f, _domain)
    for _name, _f, _domain in (
        ("logaddexp", jnp.logaddexp, ()),
        ("xlogy", special.xlogy, "x != 0 and y > 0"),
        ("xlog1py", special.xlog1py, "x != 0 and y > -1"),
    ):
        _binary(_name + _suffix, f"{_matrix}, {_matrix} -> {_matrix}", _f, _domain)
    _binary("weighted_logsoftmax" + _suffix, f"{_vector}, {_vector} -> {_vector}", _classification.weighted_logsoftmax)
    _unary("softmax" + _suffix, f"{_matrix} -> {_matrix}", lambda x: jax.nn.softmax(x, -1))
    _unary("logsumexp" + _suffix, f"{_matrix} -> {_vector}", lambda x: jax.nn.logsumexp(x, 1))
    _binary(
        "dot_general_with_precision" + _suffix, "n d, d m -> n m" if _vector == "n" else "2 3, 3 4 -> 2 4", _product
    )
_unary("slogdet_of_2_by_2", "2 2 -> ", lambda x: linalg._slogdet_small(x)[1])
