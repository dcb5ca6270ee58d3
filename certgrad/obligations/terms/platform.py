"""The machine's platform as an integer of which nothing is known, and the names of platforms as numbers."""

from __future__ import annotations

from certgrad.language.platform import PLATFORM, number_of

from .atoms import access
from .index_terms import as_index, index_equal
from .polynomials import Poly, number


def is_platform(name: str) -> Poly:
    """[the platform is the one of that name]: each name is another number."""
    this = as_index(access(PLATFORM, ()) - number(number_of(name)))
    assert this is not None
    return index_equal(this)
