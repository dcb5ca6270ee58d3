"""The machine's platform as an integer of which nothing is known, and the names of platforms as numbers."""

from __future__ import annotations

from .atoms import access
from .index import Ix
from .index_terms import as_index, index_equal
from .integers import Entry
from .polynomials import Poly, number

PLATFORM = "⟨platform⟩"


def is_platform(name: str) -> Poly:
    """[the platform is the one of that name]: each name is another number."""
    this = as_index(access(PLATFORM, ()) - number(int.from_bytes(name.encode())))
    assert this is not None
    return index_equal(this)


def named_platform(ix: Ix) -> str | None:
    """The name for which [ix = 0] says that the platform is that one, if it says that."""
    only = ix.only_term() if ix.const.is_zero else ix.shifted(-ix.const).only_term()
    value = (-ix.const).constant()
    if not isinstance(only, Entry) or only.tensor != PLATFORM or value is None:
        return None
    code = int(value.p)
    return code.to_bytes((code.bit_length() + 7) // 8).decode(errors="replace")
