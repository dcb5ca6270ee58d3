"""What an op is compared with, and how closely."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from certgrad.ops import Op

Arrays = list[Any]


@dataclass(frozen=True)
class Reference:
    """JAX's own code for the function that an op computes, called as the op is: arrays, then keyword arguments."""

    function: Callable[..., Any] | None = None
    """None: the function that the op names as its `like`."""
    arrays: Callable[..., Arrays] | None = None
    """`arrays(rng, shapes, keywords)`: float64, integer and boolean arguments, where uniform draws inside the declared
    domain will not do: integers in range, masks with an entry kept, matrices that have an inverse."""
    ulps: tuple[float, float] = (4.0, 8.0)
    """How far value and gradient in float32 may be from the reference in float64: in units of the last place of each
    entry (elementwise ops), or of the largest entry (all others)."""
    apart: Mapping[float, str] = field(default_factory=dict)
    """Points of an elementwise op's argument at which it differs from the reference, and why: kinks, and bad values."""
    alike: Mapping[float, str] = field(default_factory=dict)
    """Points at which the two agree, but are both far from the truth in float32 or bfloat16, and why."""
    scales: Mapping[float, str] = field(default_factory=dict)
    """Scales of the arguments of an op that is not elementwise at which it is far from the truth and from the
    reference in that dtype, and why."""
    half: bool = True
    """Whether the reference computes in bfloat16."""
    slow: str = ""
    """Why the gradient may take more than 1.5 times as long as the reference's."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Dimensions in the benchmark, where those of `benchmarks/bench/ops.py` do not suit; a star group's under "*b"."""
    derivatives: int = 2
    """How often JAX can differentiate it."""
    takes_integers: bool = True
    """Whether the reference accepts integers, so that promotion can be compared."""


def named(path: str) -> Callable[..., Any]:
    """The function of that name: "jax.numpy.sum"."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def function_of(op: Op, reference: Reference) -> Callable[..., Any]:
    """The function that the op is compared with."""
    if reference.function is not None:
        return reference.function
    assert op.like, f"op '{op.name}' names no function of JAX; write its reference in tests/ops/references"
    return named(op.like)
