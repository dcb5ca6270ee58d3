"""The platform in statements: an unknown integer that is compared with numbers for the names of platforms."""

from __future__ import annotations

from .tree import ZERO, Compare, Entry, linear

PLATFORM = "⟨platform⟩"


def number_of(name: str) -> int:
    """The number that stands for a platform: each name has another."""
    return int.from_bytes(name.encode())


def platform_named(s: Compare) -> str:
    """Return `the platform is cpu` for a statement that the machine's is the one of a name; else nothing."""
    summands = linear(s.left)
    if s.relation not in ("=", "!=") or s.right != ZERO or len(summands) != 2:
        return ""
    (c, machine), (number, nothing) = sorted(summands, key=lambda one: not one[1])
    if machine != (Entry(PLATFORM),) or nothing:
        return ""
    value = -number / c
    whole = value.numerator if value.denominator == 1 and value > 0 else 0
    name = whole.to_bytes((whole.bit_length() + 7) // 8).decode(errors="replace")
    return f"the platform {'is' if s.relation == '=' else 'is not'} {name}" if name.isidentifier() else ""
