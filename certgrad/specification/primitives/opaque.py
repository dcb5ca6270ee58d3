"""Values of which only this is known: the same is done to the same operands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from certgrad.language.tree import Integer, Node, SortedEntry

from .._jax import size, sort_of
from ..program import Opaque
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
    here: list[Node] = [Integer(0)] * x.rank
    read = x.at(*here)
    if not isinstance(read, SortedEntry) or read.index[len(read.index) - x.rank :] != tuple(here):
        read = reader.named("operand", x).at(*here)
        assert isinstance(read, SortedEntry)
    return read.name
