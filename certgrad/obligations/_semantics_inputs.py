"""Inputs of a program as tensors of independent entries."""

from __future__ import annotations

from ._facts import ANY, NONNEG
from ._power import pred
from ._tensor import Tensor, own_index
from ._terms import Poly, access


def argument(name: str, shape: tuple[Poly, ...], dtype: str) -> Tensor:
    """An arbitrary tensor: real entries, integer entries, or booleans read as [name > 0]."""
    entry = access(name, own_index(shape))
    if dtype == "bool":
        return Tensor(shape, pred(entry), "b", signs=NONNEG)
    return Tensor(shape, entry, "i" if dtype == "int" else "f", signs=ANY)
