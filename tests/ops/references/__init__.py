"""Each op's reference: JAX's own code for the same function, used by the tests and by `benchmarks/bench/ops.py`.

One module a chapter of the catalogue, each with a table from the names of ops to their references. An op without an
entry is compared with the function that it names as its `like`.
"""

from collections.abc import Callable
from typing import Any

from certgrad.ops import Op

from . import blocks, composed, elementwise, linear, losses, normalization, reductions, shape
from ._reference import Reference, function_of

__all__ = ["REFERENCES", "Reference", "function", "reference"]

_CHAPTERS = (elementwise, reductions, linear, shape, normalization, losses, blocks, composed)
REFERENCES: dict[str, Reference] = {name: one for chapter in _CHAPTERS for name, one in chapter.REFERENCES.items()}


def reference(op: Op) -> Reference:
    """The op's entry, or the default one."""
    return REFERENCES.get(op.name, Reference())


def function(op: Op) -> Callable[..., Any]:
    """JAX's own code for the op's function, called as the op is."""
    return function_of(op, reference(op))
