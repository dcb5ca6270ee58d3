"""Inputs of a program as tensors of independent entries."""

from __future__ import annotations

from certgrad.obligations.assume.signs import ANY, NONNEG
from certgrad.obligations.assume.tensor import Tensor, own_index
from certgrad.obligations.terms.atoms import access
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.power import pred


def argument(name: str, shape: tuple[Poly, ...], dtype: str) -> Tensor:
    """An arbitrary tensor: real entries, integer entries, or booleans read as [name > 0].

    A random key is a number that only opaque functions take.
    """
    entry = access(name, own_index(shape))
    if dtype == "bool":
        return Tensor(shape, pred(entry), "b", signs=NONNEG)
    return Tensor(shape, entry, "i" if dtype in ("int", "key") else "f", signs=ANY)
