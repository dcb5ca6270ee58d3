"""The platform in statements: an unknown integer that is compared with numbers for the names of platforms."""

from __future__ import annotations

from .tree import ZERO, Compare, Entry, linear

PLATFORM = "⟨platform⟩"


def number_of(name: str) -> int:
    """Return the number that stands for a platform; no two names have the same."""
    return int.from_bytes(name.encode())


def platform_named(s: Compare) -> str:
    """Return `the platform is cpu` for a statement that compares the machine's number with one of a name; else ""."""
    summands = linear(s.left)
    if s.relation not in ("=", "!=") or s.right != ZERO or len(summands) != 2:
        return ""
    (c, machine), (number, no_factors) = sorted(summands, key=lambda summand: not summand[1])
    if machine != (Entry(PLATFORM),) or no_factors:
        return ""
    value = -number / c
    code = value.numerator if value.denominator == 1 and value > 0 else 0
    name = code.to_bytes((code.bit_length() + 7) // 8).decode(errors="replace")
    return f"the platform {'is' if s.relation == '=' else 'is not'} {name}" if name.isidentifier() else ""
