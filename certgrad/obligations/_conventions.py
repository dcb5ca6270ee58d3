"""What a rule returns at the points that its theorem excludes, computed from the rule, beside JAX and PyTorch."""

from __future__ import annotations

from typing import Any

from .certificate import Convention


def conventions(op: Any) -> list[Convention]:
    """One entry for each point that the op's declaration names."""
    return [
        Convention(point=point, rule=promised, jax="", torch=op.torch_at.get(point, ""))
        for point, promised in op.convention.items()
    ]
