"""The layers of `flax.nnx`, in training mode: parameters, statistics and random state are arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax
from flax import nnx

from benchmarks.libraries._part import Part, Sizes, layer, named_leaves, untried


def public() -> list[str]:
    return [n for n in sorted(dir(nnx)) if inspect.isclass(one := getattr(nnx, n)) and issubclass(one, nnx.Module)]


def module(
    make: Callable[[Sizes, nnx.Rngs], nnx.Module],
    *specs: str,
    call: Callable[..., Any] = lambda m, *inputs: m(*inputs),
    abstract: bool = True,
) -> Part:
    """A module called on the inputs. It is not made abstractly where it holds arrays that are none of its variables."""

    def split(sizes: Sizes) -> Any:
        return nnx.split((nnx.eval_shape if abstract else lambda f: f())(lambda: make(sizes, nnx.Rngs(0))))

    def init(sizes: Sizes, *inputs: Any) -> Any:
        return named_leaves(split(sizes)[1])

    def apply(sizes: Sizes, arrays: Any, *inputs: Any) -> Any:
        graph, state = split(sizes)
        state = jax.tree.unflatten(jax.tree.structure(state), [*arrays.values()])
        return call(nnx.merge(graph, state), *inputs)

    return layer(init, apply, *specs)


def cell(kind: Any) -> Part:
    """One step of a recurrent cell: the carry comes first."""
    if "LSTM" in kind.__name__:
        return module(
            lambda s, r: kind(s["d"], s["k"], rngs=r),
            "c: n k",
            "s: n k",
            "x: n d",
            call=lambda m, c, s, x: m((c, s), x),
        )
    return module(lambda s, r: kind(s["d"], s["k"], rngs=r), "s: n k", "x: n d")


PARTS: dict[str, Part] = {
    "BatchNorm": module(lambda s, r: nnx.BatchNorm(s["d"], rngs=r), "x: n d"),
    "Bidirectional": module(
        lambda s, r: nnx.Bidirectional(
            nnx.RNN(nnx.GRUCell(s["d"], s["k"], rngs=r)), nnx.RNN(nnx.GRUCell(s["d"], s["k"], rngs=r))
        ),
        "x: n t d",
    ),
    "Conv": module(lambda s, r: nnx.Conv(s["d"], s["k"], (3, 3), rngs=r), "x: n h w d"),
    "ConvTranspose": module(
        lambda s, r: nnx.ConvTranspose(s["d"], s["k"], (3, 3), strides=(2, 2), rngs=r), "x: n h w d"
    ),
    "Dict": untried("a container"),
    "Dropout": module(lambda s, r: nnx.Dropout(0.3, rngs=r), "x: n d"),
    "Einsum": module(
        lambda s, r: nnx.Einsum("ntd,tdk->ntk", (s["t"], s["d"], s["k"]), (s["t"], s["k"]), rngs=r), "x: n t d"
    ),
    "Embed": module(lambda s, r: nnx.Embed(s["k"], s["d"], rngs=r), "x: n t:int"),
    "GRUCell": cell(nnx.GRUCell),
    "GroupNorm": module(
        lambda s, r: nnx.GroupNorm(2 * s["d"], num_groups=2, rngs=r),
        "x: n h w 2*d",
    ),
    "InstanceNorm": module(lambda s, r: nnx.InstanceNorm(s["d"], rngs=r), "x: n h w d"),
    "LSTMCell": cell(nnx.LSTMCell),
    "LayerNorm": module(lambda s, r: nnx.LayerNorm(s["d"], rngs=r), "x: n d"),
    "Linear": module(lambda s, r: nnx.Linear(s["d"], s["k"], rngs=r), "x: n d"),
    "LinearGeneral": module(
        lambda s, r: nnx.LinearGeneral((s["t"], s["d"]), (s["k"], s["m"]), axis=(-2, -1), rngs=r), "x: n t d"
    ),
    "List": untried("a container"),
    "LoRA": module(lambda s, r: nnx.LoRA(s["d"], s["m"], s["k"], rngs=r), "x: n d"),
    "LoRALinear": module(lambda s, r: nnx.LoRALinear(s["d"], s["k"], lora_rank=s["m"], rngs=r), "x: n d"),
    "Module": untried("the base class"),
    "MultiHeadAttention": module(
        lambda s, r: nnx.MultiHeadAttention(
            num_heads=2, in_features=s["d"], qkv_features=2 * s["k"], dropout_rate=0.1, decode=False, rngs=r
        ),
        "x: n t d",
        call=lambda m, x: m(x, deterministic=False),
    ),
    "OptimizedLSTMCell": cell(nnx.OptimizedLSTMCell),
    "PReLU": module(lambda s, r: nnx.PReLU(), "x: n d"),
    "RMSNorm": module(lambda s, r: nnx.RMSNorm(s["d"], rngs=r), "x: n d"),
    "RNN": module(lambda s, r: nnx.RNN(nnx.LSTMCell(s["d"], s["k"], rngs=r)), "x: n t d"),
    "RNNCellBase": untried("the base class of cells"),
    "Sequential": module(
        lambda s, r: nnx.Sequential(
            nnx.Linear(s["d"], s["k"], rngs=r), jax.nn.tanh, nnx.Linear(s["k"], s["m"], rngs=r)
        ),
        "x: n d",
    ),
    "SimpleCell": cell(nnx.SimpleCell),
    "SpectralNorm": module(
        lambda s, r: nnx.SpectralNorm(nnx.Linear(s["d"], s["k"], rngs=r), rngs=r),
        "x: n d",
        call=lambda m, x: m(x, update_stats=True),
    ),
    "WeightNorm": module(
        lambda s, r: nnx.WeightNorm(nnx.Linear(s["d"], s["k"], rngs=r), rngs=r), "x: n d", abstract=False
    ),
}
