"""The modules of `haiku` and `haiku.nets`, in training mode: parameters, state and keys are arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp

from benchmarks.libraries._part import Part, Sizes, layer, untried

KEY = "key: :key"


def public() -> list[str]:
    return [
        before + n
        for before, place in (("", hk), ("nets.", hk.nets))
        for n in sorted(dir(place))
        if inspect.isclass(one := getattr(place, n)) and issubclass(one, hk.Module)
    ]


def module(
    make: Callable[[Sizes], Any],
    *specs: str,
    call: Callable[..., Any] = lambda m, *inputs: m(*inputs),
    **sizes: int,
) -> Part:
    """A module called on the inputs, the last of which is a key where the specs say so."""
    draws = specs[-1] == KEY

    def transformed(at: Sizes) -> Any:
        return hk.transform_with_state(lambda *inputs: call(make(at), *inputs))

    def init(at: Sizes, *inputs: Any) -> Any:
        given = inputs[:-1] if draws else inputs
        return list(jax.eval_shape(transformed(at).init, jax.eval_shape(lambda: jax.random.key(0)), *given))

    def apply(at: Sizes, variables: Any, *inputs: Any) -> Any:
        parameters, state = variables
        key, given = (inputs[-1], inputs[:-1]) if draws else (None, inputs)
        return transformed(at).apply(parameters, state, key, *given)[0]

    return layer(init, apply, *specs, **sizes)


def convolution(kind: Any, dims: str, *before: Any) -> Part:
    return module(lambda s: kind(*before, s["k"], 3), f"x: n {dims} d")


def depthwise(kind: Any, dims: str) -> Part:
    return module(lambda s: kind(2, 3), f"x: n {dims} d")


def recurrent(kind: Any) -> Part:
    return module(lambda s: kind(s["k"]), "x: n d", "s: n k")


def conv_lstm(kind: Any, dims: str, *shape: str) -> Part:
    return module(
        lambda s: kind([s[name] for name in shape], s["k"], 3),
        f"x: n {dims} d",
        f"s: n {dims} k",
        f"c: n {dims} k",
        call=lambda m, x, s, c: m(x, hk.LSTMState(s, c)),
    )


def trees(kind: Any, *said: Any) -> Part:
    """What is done to all parameters of a model at once."""
    return module(lambda s: kind(*said), "a: n d", "b: k d", call=lambda m, a, b: m({"a": {"w": a}, "b": {"w": b}}))


PARTS: dict[str, Part] = {
    "AvgPool": module(lambda s: hk.AvgPool((2, 2, 1), (2, 2, 1), "VALID"), "x: n h w d"),
    "BatchNorm": module(lambda s: hk.BatchNorm(True, True, 0.9), "x: n d", call=lambda m, x: m(x, is_training=True)),
    "Bias": module(lambda s: hk.Bias(), "x: n d"),
    "Conv1D": convolution(hk.Conv1D, "h"),
    "Conv1DLSTM": conv_lstm(hk.Conv1DLSTM, "h", "h"),
    "Conv1DTranspose": convolution(hk.Conv1DTranspose, "h"),
    "Conv2D": convolution(hk.Conv2D, "h w"),
    "Conv2DLSTM": conv_lstm(hk.Conv2DLSTM, "h w", "h", "w"),
    "Conv2DTranspose": convolution(hk.Conv2DTranspose, "h w"),
    "Conv3D": convolution(hk.Conv3D, "h w z"),
    "Conv3DLSTM": conv_lstm(hk.Conv3DLSTM, "h w z", "h", "w", "z"),
    "Conv3DTranspose": convolution(hk.Conv3DTranspose, "h w z"),
    "ConvND": convolution(hk.ConvND, "h w", 2),
    "ConvNDTranspose": convolution(hk.ConvNDTranspose, "h w", 2),
    "DeepRNN": module(
        lambda s: hk.DeepRNN([hk.VanillaRNN(s["k"]), jnp.tanh, hk.VanillaRNN(s["m"])]),
        "x: n d",
        "s: n k",
        "c: n m",
        call=lambda m, x, s, c: m(x, (s, c)),
    ),
    "DepthwiseConv1D": depthwise(hk.DepthwiseConv1D, "h"),
    "DepthwiseConv2D": depthwise(hk.DepthwiseConv2D, "h w"),
    "DepthwiseConv3D": depthwise(hk.DepthwiseConv3D, "h w z"),
    "EMAParamsTree": trees(hk.EMAParamsTree, 0.9),
    "Embed": module(lambda s: hk.Embed(s["k"], s["d"]), "x: n t:int"),
    "ExponentialMovingAverage": module(lambda s: hk.ExponentialMovingAverage(0.9), "x: n d"),
    "Flatten": module(lambda s: hk.Flatten(), "x: n t d"),
    "GRU": recurrent(hk.GRU),
    "GroupNorm": module(lambda s: hk.GroupNorm(2), "x: n h w 2*d"),
    "IdentityCore": module(lambda s: hk.IdentityCore(), "x: n d", call=lambda m, x: m(x, ())),
    "InstanceNorm": module(lambda s: hk.InstanceNorm(True, True), "x: n h w d"),
    "LSTM": module(
        lambda s: hk.LSTM(s["k"]), "x: n d", "s: n k", "c: n k", call=lambda m, x, s, c: m(x, hk.LSTMState(s, c))
    ),
    "LayerNorm": module(lambda s: hk.LayerNorm(-1, True, True), "x: n d"),
    "Linear": module(lambda s: hk.Linear(s["k"]), "x: n d"),
    "MaxPool": module(lambda s: hk.MaxPool((2, 2, 1), (2, 2, 1), "VALID"), "x: n h w d"),
    "Module": untried("the base class"),
    "MultiHeadAttention": module(
        lambda s: hk.MultiHeadAttention(2, s["k"], w_init=hk.initializers.Constant(0.1), model_size=s["m"]),
        "x: n t d",
        call=lambda m, x: m(x, x, x),
    ),
    "RMSNorm": module(lambda s: hk.RMSNorm(-1), "x: n d"),
    "RNNCore": untried("the base class of recurrent cores"),
    "ResetCore": module(
        lambda s: hk.ResetCore(hk.VanillaRNN(s["k"])),
        "x: n d",
        "reset: n:bool",
        "s: n k",
        call=lambda m, x, reset, s: m((x, reset), s),
    ),
    "Reshape": module(lambda s: hk.Reshape((-1, s["d"])), "x: n t d"),
    "SNParamsTree": trees(hk.SNParamsTree),
    "SeparableDepthwiseConv2D": depthwise(hk.SeparableDepthwiseConv2D, "h w"),
    "Sequential": module(lambda s: hk.Sequential([hk.Linear(s["k"]), jnp.tanh, hk.Linear(s["m"])]), "x: n d"),
    "SpectralNorm": module(lambda s: hk.SpectralNorm(), "x: n d"),
    "VanillaRNN": recurrent(hk.VanillaRNN),
    "nets.MLP": module(
        lambda s: hk.nets.MLP([s["k"], s["m"]]),
        "x: n d",
        KEY,
        call=lambda m, x: m(x, dropout_rate=0.3, rng=hk.next_rng_key()),
    ),
    "nets.MobileNetV1": module(
        lambda s: hk.nets.MobileNetV1(num_classes=5), "x: n h w 3", call=lambda m, x: m(x, is_training=True), h=32, w=32
    ),
    "nets.ResNet": module(
        lambda s: hk.nets.ResNet((1, 1, 1, 1), 5), "x: n h w 3", call=lambda m, x: m(x, is_training=True), h=32, w=32
    ),
    "nets.ResNet101": untried("`nets.ResNet` with 101 layers"),
    "nets.ResNet152": untried("`nets.ResNet` with 152 layers"),
    "nets.ResNet18": untried("`nets.ResNet` with 18 layers"),
    "nets.ResNet200": untried("`nets.ResNet` with 200 layers"),
    "nets.ResNet34": untried("`nets.ResNet` with 34 layers"),
    "nets.ResNet50": untried("`nets.ResNet` with 50 layers"),
    "nets.VectorQuantizer": module(
        lambda s: hk.nets.VectorQuantizer(s["d"], s["k"], 0.25), "x: n d", call=lambda m, x: m(x, is_training=True)
    ),
    "nets.VectorQuantizerEMA": module(
        lambda s: hk.nets.VectorQuantizerEMA(s["d"], s["k"], 0.25, 0.9),
        "x: n d",
        call=lambda m, x: m(x, is_training=True),
    ),
}
