"""What is mutated: the ops of the library, and the index rules of `index_rules`."""

from __future__ import annotations

from certgrad.ops import Composed, Op, registry
from tests.mutation.index_rules import rules

SUBJECTS: dict[str, Op] = {op.name: op for op in (*registry, *rules) if not isinstance(op, Composed)}
INDEX_RULES: tuple[Op, ...] = tuple(rules)
HEAVY = (
    *("attention", "causal_attention", "plane_convolution", "cross_entropy"),
    *("multi_head_attention", "residual_attention", "masked_attention", "flash_attention"),
)
"""Rules whose broken forms take seconds each: a tenth of the mutants of others."""


def subject(name: str) -> Op:
    """By its name; the rules of libraries are looked for where they are asked for alone."""
    if name in SUBJECTS:
        return SUBJECTS[name]
    from tests.mutation.library_rules import library

    return next(op for op in library if op.name == name)


def how_many(name: str, per_op: int, per_rule: int) -> int:
    """How many mutants of the op a run looks at."""
    if name in HEAVY:
        return max(min(per_op, per_rule) // 10, 1)
    return per_rule if any(name == op.name for op in INDEX_RULES) else per_op
