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
    parameters = ", ".join(f"{k}={v}" for k, v in sorted(eqn.params.items()))
    avals = [v.aval for v in eqn.outvars]
    tensors = [reader.tensor(reader.name(), tuple(map(size, a.shape)), sort_of(a.dtype)) for a in avals]
    names = [_name(reader, x) for x in operands]
    definition = Opaque(tuple(tensors), reader.times, f"{eqn.primitive.name}({parameters})", tuple(names))
    return reader.determined(definition, [a.dtype for a in avals])


def _name(reader: Reader, x: Operand) -> str:
    """Return the name of the tensor that an operand is; an operand that is none is defined as a new tensor.

    It is a tensor if its entry at 0, …, 0 is the entry of a tensor at this index.
    """
    origin: list[Node] = [Integer(0)] * x.rank
    read = x.at(*origin)
    if not isinstance(read, SortedEntry) or read.index[len(read.index) - x.rank :] != tuple(origin):
        read = reader.named("operand", x).at(*origin)
        assert isinstance(read, SortedEntry)
    return read.name
