"""Models of `flax.linen` and `flax.nnx`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax import nnx

from benchmarks.library_models._model import KEY, Made, mean_square, model, real, whole


def linen(
    module: nn.Module,
    *inputs: Any,
    draws: tuple[str, ...] = (),
    states: tuple[str, ...] = (),
    loss: Callable[[Any], Any] = mean_square,
) -> Made:
    """A module's loss, of parameters, statistics, a key and inputs."""
    variables = module.init({"params": KEY, **dict.fromkeys(draws, KEY)}, *inputs)

    def fn(variables: Any, key: Any, *inputs: Any) -> Any:
        out = module.apply(variables, *inputs, rngs=dict.fromkeys(draws, key), mutable=list(states) or False)
        return loss(out[0] if states else out)

    return fn, (variables, KEY, *inputs)


@model("flax.linen", "dropout")
def linen_mlp() -> Made:
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            x = nn.relu(nn.Dense(16)(x))
            return nn.Dense(4)(nn.Dropout(0.5, deterministic=False)(x))

    return linen(Net(), real(8, 5), draws=("dropout",))


@model("flax.linen", "batch statistics")
def linen_cnn() -> Made:
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            x = nn.gelu(nn.BatchNorm(use_running_average=False)(nn.Conv(8, (3, 3))(x)))
            x = nn.avg_pool(x, (2, 2), (2, 2))
            return nn.Dense(4)(x.reshape((x.shape[0], -1)))

    return linen(Net(), real(4, 8, 8, 3), states=("batch_stats",))


@model("flax.linen", "batch statistics, strides, bfloat16")
def linen_resnet_block() -> Made:
    class Block(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            y = nn.Conv(8, (3, 3), (2, 2), use_bias=False, dtype=jnp.bfloat16)(x)
            y = nn.relu(nn.BatchNorm(use_running_average=False, dtype=jnp.bfloat16)(y))
            y = nn.Conv(8, (3, 3), use_bias=False, dtype=jnp.bfloat16)(y)
            y = nn.BatchNorm(use_running_average=False, dtype=jnp.bfloat16)(y)
            return nn.relu(y + nn.Conv(8, (1, 1), (2, 2), dtype=jnp.bfloat16)(x))

    return linen(Block(), real(2, 8, 8, 3), states=("batch_stats",))


@model("flax.linen")
def linen_attention() -> Made:
    return linen(nn.MultiHeadDotProductAttention(num_heads=2, qkv_features=8), real(2, 6, 8))


@model("flax.linen", "dropout, causal mask, float16")
def linen_causal_attention() -> Made:
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            attention = nn.MultiHeadDotProductAttention(
                num_heads=2, qkv_features=8, dropout_rate=0.1, deterministic=False, dtype=jnp.float16
            )
            return attention(x, mask=nn.make_causal_mask(jnp.ones(x.shape[:2])))

    return linen(Net(), real(2, 6, 8), draws=("dropout",))


@model("flax.linen", "a loop")
def linen_lstm() -> Made:
    return linen(nn.RNN(nn.LSTMCell(8)), real(2, 5, 3))


@model("flax.linen", "a loop, bfloat16")
def linen_gru() -> Made:
    return linen(nn.RNN(nn.GRUCell(8, dtype=jnp.bfloat16)), real(2, 5, 3))


@model("flax.linen", "bfloat16")
def linen_mlp_block() -> Made:
    class Block(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            h = nn.LayerNorm(dtype=jnp.bfloat16)(x)
            h = nn.gelu(nn.Dense(16, dtype=jnp.bfloat16)(h))
            return x + nn.Dense(8, dtype=jnp.bfloat16)(h)

    return linen(Block(), real(2, 6, 8))


@model("flax.linen", "transposed convolution")
def linen_autoencoder() -> Made:
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            x = nn.GroupNorm(2)(nn.Conv(4, (3, 3), strides=2)(x))
            return nn.ConvTranspose(3, (3, 3), strides=(2, 2))(nn.swish(x))

    return linen(Net(), real(2, 8, 8, 3))


@model("flax.linen", "tied embedding, cross-entropy of optax")
def linen_language_model() -> Made:
    class Net(nn.Module):
        @nn.compact
        def __call__(self, tokens: Any) -> Any:
            embedding = nn.Embed(10, 8)
            return embedding.attend(nn.tanh(nn.Dense(8)(embedding(tokens))))

    def loss(y: Any) -> Any:
        return optax.softmax_cross_entropy_with_integer_labels(y, jnp.ones(y.shape[:-1], int)).mean()

    return linen(Net(), whole(10, 2, 5), loss=loss)


@model("flax.linen", "reparametrised noise")
def linen_vae() -> Made:
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            h = nn.tanh(nn.Dense(8)(x))
            mean, log_variance = nn.Dense(2)(h), nn.Dense(2)(h)
            z = mean + jnp.exp(log_variance / 2) * jax.random.normal(self.make_rng("noise"), mean.shape)
            y = nn.Dense(x.shape[-1])(nn.tanh(nn.Dense(8)(z)))
            seen = optax.sigmoid_binary_cross_entropy(y, jnp.clip(x, 0, 1)).sum()
            return seen - 0.5 * jnp.sum(1 + log_variance - mean**2 - jnp.exp(log_variance))

    return linen(Net(), real(4, 5), draws=("noise",), loss=lambda y: y)


def nnx_loss(make: Callable[[nnx.Rngs], Any], *inputs: Any, call: Callable[..., Any] | None = None) -> Made:
    """Of the parameters of a module, its other state, and inputs."""
    graph, parameters, rest = nnx.split(make(nnx.Rngs(0)), nnx.Param, ...)

    def fn(parameters: Any, rest: Any, *inputs: Any) -> Any:
        module = nnx.merge(graph, parameters, rest)
        return mean_square(call(module, *inputs) if call else module(*inputs))

    return fn, (parameters, rest, *inputs)


@model("flax.nnx", "dropout, batch statistics")
def nnx_mlp() -> Made:
    class Net(nnx.Module):
        def __init__(self, rngs: nnx.Rngs) -> None:
            self.first = nnx.Linear(5, 16, rngs=rngs)
            self.norm = nnx.BatchNorm(16, rngs=rngs)
            self.dropout = nnx.Dropout(0.2, rngs=rngs)
            self.last = nnx.Linear(16, 4, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            return self.last(self.dropout(nnx.relu(self.norm(self.first(x)))))

    return nnx_loss(Net, real(8, 5))


@model("flax.nnx", "dropout")
def nnx_attention() -> Made:
    def make(rngs: nnx.Rngs) -> Any:
        return nnx.MultiHeadAttention(
            num_heads=2, in_features=8, qkv_features=8, dropout_rate=0.1, decode=False, rngs=rngs
        )

    return nnx_loss(make, real(2, 6, 8), call=lambda m, x: m(x, deterministic=False))


@model("flax.nnx", "a loop")
def nnx_lstm() -> Made:
    return nnx_loss(lambda rngs: nnx.RNN(nnx.LSTMCell(3, 8, rngs=rngs)), real(2, 5, 3))


@model("flax.nnx", "bfloat16, checkpoint")
def nnx_transformer_block() -> Made:
    class Block(nnx.Module):
        def __init__(self, rngs: nnx.Rngs) -> None:
            half = {"dtype": jnp.bfloat16, "rngs": rngs}
            self.norm = nnx.RMSNorm(8, **half)
            self.attention = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=False, **half)
            self.wide, self.narrow = nnx.Linear(8, 32, **half), nnx.Linear(32, 8, **half)

        def __call__(self, x: Any) -> Any:
            x = x + self.attention(self.norm(x))
            return x + self.narrow(nnx.silu(self.wide(self.norm(x))))

    return nnx_loss(Block, real(2, 6, 8), call=lambda m, x: nnx.remat(lambda m, x: m(x))(m, x))
