"""The machine's platform as an integer of which nothing is known, and the names of platforms as numbers."""

from __future__ import annotations

from .atoms import access
from .index_terms import as_index, index_equal
from .polynomials import Poly, number

PLATFORM = "⟨platform⟩"


def is_platform(name: str) -> Poly:
    """[the platform is the one of that name]: each name is another number."""
    this = as_index(access(PLATFORM, ()) - number(int.from_bytes(name.encode())))
    assert this is not None
    return index_equal(this)
