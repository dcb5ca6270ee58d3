"""Values of which only this is known: the same is done to the same operands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._jax import size, sort_of
from ..expression import Entry, Expression, Integer, Opaque
from ..rule import Operand, structured

if TYPE_CHECKING:
    from ..reading import Reader


@structured(
    "random_bits",
    "random_fold_in",
    "random_seed",
    "random_split",
    "random_unwrap",
    "random_wrap",
    "random_clone",
    "threefry2x32",
    "platform_index",
    "bitcast_convert_type",
    "random_gamma_grad",
)
def opaque(reader: Reader, eqn: Any, *operands: Operand) -> list[Operand]:
    """A function of the operands and parameters, of which nothing else is known"""
    said = ", ".join(f"{k}={v}" for k, v in sorted(eqn.params.items()))
    avals = [v.aval for v in eqn.outvars]
    tensors = [reader.tensor(reader.name(), tuple(map(size, a.shape)), sort_of(a.dtype)) for a in avals]
    named = [_name(reader, x) for x in operands]
    made = Opaque(tuple(tensors), reader.times, f"{eqn.primitive.name}({said})", tuple(named))
    return reader.determined(made, [a.dtype for a in avals])


def _name(reader: Reader, x: Operand) -> str:
    """The tensor that an operand is."""
    here: list[Expression] = [Integer(0)] * x.rank
    read = x.at(*here)
    if not isinstance(read, Entry) or read.indices[len(read.indices) - x.rank :] != tuple(here):
        read = reader.named("operand", x).at(*here)
        assert isinstance(read, Entry)
    return read.tensor
