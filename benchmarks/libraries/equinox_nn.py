"""The layers of `equinox.nn`, in training mode: the arrays of a module and of its state are arguments.

A batch is `vmap`ped, as Equinox has it, where a layer needs one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from equinox import nn

from benchmarks.libraries._part import Part, Sizes, layer, named_leaves, untried


def public() -> list[str]:
    return [n for n in sorted(dir(nn)) if inspect.isclass(one := getattr(nn, n)) and issubclass(one, eqx.Module)]


def module(
    make: Callable[[Sizes, Any], Any], *specs: str, call: Callable[..., Any] = lambda m, *inputs: m(*inputs)
) -> Part:
    """A module, or module and state, called on the inputs."""

    def abstract(sizes: Sizes) -> Any:
        made = eqx.filter_eval_shape(lambda key: make(sizes, key), jax.random.key(0))
        return eqx.partition(made, lambda x: isinstance(x, jax.ShapeDtypeStruct))

    def init(sizes: Sizes, *inputs: Any) -> Any:
        return named_leaves(abstract(sizes)[0])

    def apply(sizes: Sizes, arrays: Any, *inputs: Any) -> Any:
        shapes, rest = abstract(sizes)
        tree = jax.tree.structure(shapes)
        out = call(eqx.combine(jax.tree.unflatten(tree, [*arrays.values()]), rest), *inputs)
        return [x for x in jax.tree.leaves(out) if eqx.is_array(x)]

    return layer(init, apply, *specs)


def pool(kind: Any, dims: str, *size: Any) -> Part:
    """A pooling, which has no parameters."""
    return module(lambda s, key: kind(*size), f"x: d {dims}")


def convolution(kind: Any, dims: str, *before: int) -> Part:
    return module(lambda s, key: kind(*before, s["d"], s["k"], 3, padding=1, key=key), f"x: d {dims}")


def batch_norm(sizes: Sizes, key: Any) -> Any:
    return nn.make_with_state(nn.BatchNorm)(sizes["d"], axis_name="batch", mode="batch")


def over_batch(made: Any, x: Any) -> Any:
    layer_, state = made
    return jax.vmap(layer_, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(x, state)[0]


def spectral_norm(sizes: Sizes, key: Any) -> Any:
    linear = nn.Linear(sizes["d"], sizes["k"], key=key)
    return nn.make_with_state(nn.SpectralNorm)(linear, "weight", key=key)


def shared(sizes: Sizes, key: Any) -> Any:
    """A transposed embedding as the last layer."""
    embedding = nn.Embedding(sizes["k"], sizes["d"], key=key)
    linear = nn.Linear(sizes["d"], sizes["k"], use_bias=False, key=key)
    return nn.Shared((embedding, linear), where=lambda pair: pair[1].weight, get=lambda pair: pair[0].weight)


def tied(made: Any, tokens: Any) -> Any:
    embedding, linear = made()
    return jax.vmap(linear)(jax.vmap(embedding)(tokens))


PARTS: dict[str, Part] = {
    "AdaptiveAvgPool1d": pool(nn.AdaptiveAvgPool1d, "h", 2),
    "AdaptiveAvgPool2d": pool(nn.AdaptiveAvgPool2d, "h w", 2),
    "AdaptiveAvgPool3d": pool(nn.AdaptiveAvgPool3d, "h w z", 2),
    "AdaptiveMaxPool1d": pool(nn.AdaptiveMaxPool1d, "h", 2),
    "AdaptiveMaxPool2d": pool(nn.AdaptiveMaxPool2d, "h w", 2),
    "AdaptiveMaxPool3d": pool(nn.AdaptiveMaxPool3d, "h w z", 2),
    "AdaptivePool": pool(nn.AdaptivePool, "h", 2, 1, jnp.mean),
    "AvgPool1d": pool(nn.AvgPool1d, "h", 2, 2),
    "AvgPool2d": pool(nn.AvgPool2d, "h w", 2, 2),
    "AvgPool3d": pool(nn.AvgPool3d, "h w z", 2, 2),
    "BatchNorm": module(batch_norm, "x: n d", call=over_batch),
    "Conv": convolution(nn.Conv, "h w", 2),
    "Conv1d": convolution(nn.Conv1d, "h"),
    "Conv2d": convolution(nn.Conv2d, "h w"),
    "Conv3d": convolution(nn.Conv3d, "h w z"),
    "ConvTranspose": convolution(nn.ConvTranspose, "h w", 2),
    "ConvTranspose1d": convolution(nn.ConvTranspose1d, "h"),
    "ConvTranspose2d": convolution(nn.ConvTranspose2d, "h w"),
    "ConvTranspose3d": convolution(nn.ConvTranspose3d, "h w z"),
    "Dropout": module(lambda s, key: nn.Dropout(0.3), "x: n d", "key: :key", call=lambda m, x, key: m(x, key=key)),
    "Embedding": module(
        lambda s, key: nn.Embedding(s["k"], s["d"], key=key), "x: n:int", call=lambda m, x: jax.vmap(m)(x)
    ),
    "GRUCell": module(lambda s, key: nn.GRUCell(s["d"], s["k"], key=key), "x: d", "s: k"),
    "GroupNorm": module(lambda s, key: nn.GroupNorm(2, 2 * s["d"]), "x: 2*d h w"),
    "Identity": module(lambda s, key: nn.Identity(), "x: n d"),
    "LSTMCell": module(
        lambda s, key: nn.LSTMCell(s["d"], s["k"], key=key),
        "x: d",
        "s: k",
        "c: k",
        call=lambda m, x, s, c: m(x, (s, c)),
    ),
    "Lambda": module(lambda s, key: nn.Lambda(jax.nn.gelu), "x: n d"),
    "LayerNorm": module(lambda s, key: nn.LayerNorm(s["d"]), "x: d"),
    "Linear": module(lambda s, key: nn.Linear(s["d"], s["k"], key=key), "x: d"),
    "MLP": module(lambda s, key: nn.MLP(s["d"], s["k"], s["m"], 2, key=key), "x: d"),
    "MaxPool1d": pool(nn.MaxPool1d, "h", 2, 2),
    "MaxPool2d": pool(nn.MaxPool2d, "h w", 2, 2),
    "MaxPool3d": pool(nn.MaxPool3d, "h w z", 2, 2),
    "MultiheadAttention": module(
        lambda s, key: nn.MultiheadAttention(2, s["d"], qk_size=s["k"], vo_size=s["m"], dropout_p=0.1, key=key),
        "x: t d",
        "key: :key",
        call=lambda m, x, key: m(x, x, x, key=key),
    ),
    "PReLU": module(lambda s, key: nn.PReLU(), "x: n d"),
    "Pool": pool(nn.Pool, "h", 0.0, jax.lax.add, 1, 2, 2),
    "RMSNorm": module(lambda s, key: nn.RMSNorm(s["d"]), "x: d"),
    "RotaryPositionalEmbedding": module(
        lambda s, key: nn.RotaryPositionalEmbedding(2 * s["d"]),
        "x: t 2*d",
    ),
    "Sequential": module(
        lambda s, key: nn.Sequential(
            [nn.Linear(s["d"], s["k"], key=key), nn.Lambda(jax.nn.tanh), nn.Linear(s["k"], s["m"], key=key)]
        ),
        "x: d",
    ),
    "Shared": module(shared, "x: n:int", call=tied),
    "SpectralNorm": module(spectral_norm, "x: d", call=lambda made, x: made[0](x, made[1])[0]),
    "StateIndex": untried("a place in the state"),
    "StatefulLayer": untried("the base class of layers with state"),
    "WeightNorm": module(lambda s, key: nn.WeightNorm(nn.Linear(s["d"], s["k"], key=key), "weight"), "x: d"),
}
