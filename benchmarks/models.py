"""The models of `examples/models`, and how far an executed sweep is from `jax.grad`.

They are entries of the corpus: `python -m benchmarks.corpus models` certifies them, and `reports/models.md` is made of
its records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

MODELS = {
    "perceptrons": ("mlp",),
    "convolutions": ("cnn", "resnet_block", "unet_block"),
    "transformers": ("attention_block", "gpt2", "gpt2_in_full", "llama_block"),
    "recurrent": ("lstm",),
    "generative": ("vae", "flow"),
    "scientific": ("neural_ode", "pinn", "gcn"),
    "contrastive": ("simclr",),
    "libraries": ("classifier", "gru", "vit", "adam_step"),
}
"""Functions that make one, by their module."""


def difference(found: tuple[Any, Any], fn: Callable[..., Any], args: tuple[Any, ...]) -> float:
    """Of the executed sweep, what `value_and_grad` of the compiled graph returned, from `jax.grad`.

    The largest difference of an entry, relative to the largest entry of the gradient, or that of the values.
    """
    value, gradients = found
    moving, held = eqx.partition(args, eqx.is_inexact_array)
    expected, wanted = jax.jit(jax.value_and_grad(lambda part: fn(*eqx.combine(part, held))))(moving)
    ours, theirs = (
        [x.astype(jnp.promote_types(x.dtype, jnp.float32)) for x in jax.tree.leaves(g) if eqx.is_inexact_array(x)]
        for g in (gradients, wanted)
    )
    assert len(ours) == len(theirs), "a gradient is missing"
    largest = max(float(jnp.max(jnp.abs(x))) for x in theirs)
    apart = max(float(jnp.max(jnp.abs(a - b))) for a, b in zip(ours, theirs, strict=True))
    return max(apart / largest, abs(float(value - expected)) / max(1.0, abs(float(expected))))
