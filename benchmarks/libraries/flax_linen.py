"""The layers of `flax.linen`, in training mode: parameters and statistics are arguments, as are the keys."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax

from benchmarks.libraries._part import Part, Sizes, layer, untried


def public() -> list[str]:
    return [n for n in sorted(dir(nn)) if inspect.isclass(one := getattr(nn, n)) and issubclass(one, nn.Module)]


def linen(make: Callable[[Sizes], nn.Module], *specs: str, drops: bool = False, **said: Any) -> Part:
    """A module called on the inputs; with `drops`, on a key too, which comes last. `said` are its keywords."""

    def run(sizes: Sizes, inputs: Any, method: Any) -> Any:
        rngs = {"dropout": inputs[-1]} if drops else {}
        return method(make(sizes), inputs[:-1] if drops else inputs, rngs)

    def init(sizes: Sizes, *inputs: Any) -> Any:
        def made(module: nn.Module, given: Any, rngs: Any) -> Any:
            keys = {"params": jax.random.key(0), **rngs}
            return jax.eval_shape(lambda keys, given: module.init(keys, *given, **said), keys, tuple(given))

        return run(sizes, inputs, made)

    def apply(sizes: Sizes, variables: Any, *inputs: Any) -> Any:
        states = [name for name in variables if name != "params"]
        return run(
            sizes, inputs, lambda m, given, rngs: m.apply(variables, *given, rngs=rngs, mutable=states, **said)[0]
        )

    return layer(init, apply, *specs, *(["key: :key"] if drops else []))


def cell(kind: type[nn.Module]) -> Part:
    """One step of a recurrent cell: the carry comes first."""
    carry = ["c: n k", "s: n k"] if "LSTM" in kind.__name__ else ["s: n k"]

    def init(sizes: Sizes, *inputs: Any) -> Any:
        return jax.eval_shape(lambda *inputs: kind(sizes["k"]).init(jax.random.key(0), *_carried(inputs)), *inputs)

    def apply(sizes: Sizes, variables: Any, *inputs: Any) -> Any:
        return kind(sizes["k"]).apply(variables, *_carried(inputs))

    return layer(init, apply, *carry, "x: n d")


def _carried(inputs: Any) -> Any:
    *carry, x = inputs
    return (tuple(carry) if len(carry) > 1 else carry[0]), x


class _ConvLSTM(nn.Module):
    """One step of the cell: its carry is an argument."""

    features: Any

    @nn.compact
    def __call__(self, c: Any, s: Any, x: Any) -> Any:
        return nn.ConvLSTMCell(self.features, (3, 3))((c, s), x)


class _Quantised(nn.Module):
    """A layer whose products are done by one of flax's operations in eight bits."""

    features: Any
    operation: Any

    @nn.compact
    def __call__(self, x: Any) -> Any:
        return nn.Dense(self.features, dot_general_cls=self.operation)(x)


class _Einsum(nn.Module):
    """A product of two inputs in eight bits."""

    @nn.compact
    def __call__(self, x: Any, y: Any) -> Any:
        return nn.Fp8Einsum()("nd,dk->nk", x, y)


class _Normed(nn.Module):
    """A normalisation of a layer's weights."""

    features: Any
    by: Any

    @nn.compact
    def __call__(self, x: Any) -> Any:
        layer = nn.Dense(self.features)
        return nn.WeightNorm(layer)(x) if self.by is nn.WeightNorm else nn.SpectralNorm(layer)(x, update_stats=True)


def attention(kind: Any) -> Part:
    return linen(
        lambda s: kind(num_heads=2, qkv_features=2 * s["k"], dropout_rate=0.1, deterministic=False),
        "x: n t d",
        drops=True,
    )


PARTS: dict[str, Part] = {
    "BatchNorm": linen(lambda s: nn.BatchNorm(use_running_average=False), "x: n d"),
    "Bidirectional": linen(
        lambda s: nn.Bidirectional(nn.RNN(nn.GRUCell(s["k"])), nn.RNN(nn.GRUCell(s["k"]))), "x: n t d"
    ),
    "Conv": linen(lambda s: nn.Conv(s["k"], (3, 3)), "x: n h w d"),
    "ConvLSTMCell": linen(lambda s: _ConvLSTM(s["k"]), "c: n h w k", "s: n h w k", "x: n h w d"),
    "ConvLocal": linen(lambda s: nn.ConvLocal(s["k"], (3, 3)), "x: n h w d"),
    "ConvTranspose": linen(lambda s: nn.ConvTranspose(s["k"], (3, 3), strides=(2, 2)), "x: n h w d"),
    "Dense": linen(lambda s: nn.Dense(s["k"]), "x: n d"),
    "DenseGeneral": linen(lambda s: nn.DenseGeneral((s["k"], s["m"]), axis=(-2, -1)), "x: n t d"),
    "Dropout": linen(lambda s: nn.Dropout(0.3, deterministic=False), "x: n d", drops=True),
    "Einsum": linen(lambda s: nn.Einsum((s["t"], s["d"], s["k"]), "ntd,tdk->ntk"), "x: n t d"),
    "Embed": linen(lambda s: nn.Embed(s["k"], s["d"]), "x: n t:int"),
    "Fp8DirectDotGeneralOp": linen(lambda s: _Quantised(s["k"], nn.Fp8DirectDotGeneralOp), "x: n d"),
    "Fp8DotGeneral": linen(lambda s: _Quantised(s["k"], nn.Fp8DotGeneral), "x: n d"),
    "Fp8DotGeneralOp": linen(lambda s: _Quantised(s["k"], nn.Fp8DotGeneralOp), "x: n d"),
    "Fp8Einsum": linen(lambda s: _Einsum(), "x: n d", "y: d k"),
    "GRUCell": cell(nn.GRUCell),
    "GroupNorm": linen(lambda s: nn.GroupNorm(2), "x: n h w 2*d"),
    "InstanceNorm": linen(lambda s: nn.InstanceNorm(), "x: n h w d"),
    "LSTMCell": cell(nn.LSTMCell),
    "LayerNorm": linen(lambda s: nn.LayerNorm(), "x: n d"),
    "MGUCell": cell(nn.MGUCell),
    "Module": untried("the base class"),
    "MultiHeadAttention": attention(nn.MultiHeadAttention),
    "MultiHeadDotProductAttention": attention(nn.MultiHeadDotProductAttention),
    "NANOOFp8DotGeneralOp": linen(lambda s: _Quantised(s["k"], nn.NANOOFp8DotGeneralOp), "x: n d"),
    "OptimizedLSTMCell": cell(nn.OptimizedLSTMCell),
    "PReLU": linen(lambda s: nn.PReLU(), "x: n d"),
    "RMSNorm": linen(lambda s: nn.RMSNorm(), "x: n d"),
    "RNN": linen(lambda s: nn.RNN(nn.LSTMCell(s["k"])), "x: n t d"),
    "RNNCellBase": untried("the base class of cells"),
    "SelfAttention": attention(nn.SelfAttention),
    "Sequential": linen(lambda s: nn.Sequential([nn.Dense(s["k"]), nn.tanh, nn.Dense(s["m"])]), "x: n d"),
    "SimpleCell": cell(nn.SimpleCell),
    "SpectralNorm": linen(lambda s: _Normed(s["k"], nn.SpectralNorm), "x: n d"),
    "WeightNorm": linen(lambda s: _Normed(s["k"], nn.WeightNorm), "x: n d"),
}
