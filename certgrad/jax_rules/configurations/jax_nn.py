"""Functions of jax.nn: those with a custom rule, and those whose derivative is that of their formula."""

from __future__ import annotations

from typing import Any

import jax
from jax._src.config import softmax_custom_jvp

from .._configuration import Configuration, configurations

SMOOTH = "soft_sign softplus sigmoid silu log_sigmoid squareplus mish".split()


def _softmax(x: Any, axis: Any) -> Any:
    with softmax_custom_jvp(True):
        return jax.nn.softmax(x, axis)


NN: list[Configuration] = [
    *configurations("jax.nn.softmax", _softmax, "n m", form="its custom rule: jax_softmax_custom_jvp", axis=[0, 1]),
    *configurations("jax.nn.relu", jax.nn.relu, "*s", kinks=[0]),
    *configurations("jax.nn.relu6", jax.nn.relu6, "*s", kinks=[0, 6]),
    *configurations("jax.nn.log1mexp", jax.nn.log1mexp, "*s", kinks=[0]),
    *configurations("jax.nn.softmax", lambda x, axis: jax.nn.softmax(x, axis), "n m", axis=[0, 1, (0, 1)]),
    *configurations("jax.nn.softmax", lambda x, keep: jax.nn.softmax(x, where=keep), "n m, n m:bool", form="masked"),
    *configurations("jax.nn.log_softmax", lambda x, axis: jax.nn.log_softmax(x, axis), "n m", axis=[0, 1]),
    *configurations("jax.nn.logsumexp", lambda x, axis: jax.nn.logsumexp(x, axis), "n m", axis=[0, 1, None]),
    *configurations("jax.nn.logmeanexp", lambda x, axis: jax.nn.logmeanexp(x, axis), "n m", axis=[0, 1]),
    *configurations("jax.nn.standardize", lambda x, axis: jax.nn.standardize(x, axis), "n m", axis=[0, 1]),
    *(
        c
        for name in SMOOTH
        if hasattr(jax.nn, name)
        for c in configurations(f"jax.nn.{name}", getattr(jax.nn, name), "*s")
    ),
    *configurations("jax.nn.gelu", lambda x, approximate: jax.nn.gelu(x, approximate), "*s", approximate=[True, False]),
    *configurations("jax.nn.elu", jax.nn.elu, "*s", kinks=[0]),
    *configurations("jax.nn.celu", jax.nn.celu, "*s", kinks=[0]),
    *configurations("jax.nn.selu", jax.nn.selu, "*s", kinks=[0]),
    *configurations("jax.nn.leaky_relu", jax.nn.leaky_relu, "*s", kinks=[0]),
    *configurations("jax.nn.hard_tanh", jax.nn.hard_tanh, "*s", kinks=[-1, 1]),
    *configurations("jax.nn.hard_sigmoid", jax.nn.hard_sigmoid, "*s", kinks=[-3, 3]),
    *configurations("jax.nn.hard_silu", jax.nn.hard_silu, "*s", kinks=[-3, 0, 3]),
    *configurations("jax.nn.sparse_plus", jax.nn.sparse_plus, "*s", kinks=[-1, 1]),
    *configurations("jax.nn.sparse_sigmoid", jax.nn.sparse_sigmoid, "*s", kinks=[-1, 1]),
    *configurations("jax.nn.glu", jax.nn.glu, "n 2*m"),
    *configurations("jax.nn.one_hot", lambda k, x: x @ jax.nn.one_hot(k, 3, dtype=x.dtype), "n:int, m n"),
    *configurations(
        "jax.nn.dot_product_attention",
        lambda q, k, v: jax.nn.dot_product_attention(q, k, v, scale=0.125),
        "b t h d, b s h d, b s h d",
        form="scale=0.125",
    ),
    *configurations(
        "jax.nn.dot_product_attention",
        lambda q, k, v: jax.nn.dot_product_attention(q, k, v, scale=0.125, is_causal=True),
        "b t h d, b t h d, b t h d",
        form="scale=0.125, causal",
    ),
]
