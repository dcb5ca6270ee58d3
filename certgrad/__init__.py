"""certgrad proves hand-written JAX derivative rules: for every shape, over the real numbers, with no tolerance.

Everything public is reached from here; submodules load on first use, so that importing certgrad costs nothing.

PYTEST_DONT_REWRITE: `certgrad run -m pytest` has imported it before pytest begins, of which pytest warns otherwise.
"""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

__version__ = "0.2.0"

if TYPE_CHECKING:
    from certgrad._audit import audit, audit_op
    from certgrad.accel import compile_graph
    from certgrad.graph import certify, trace
    from certgrad.jaxpr.solves import solves
    from certgrad.obligations import obligation
    from certgrad.obligations.verify import verify
    from certgrad.ops import axis_of, case, op, registry
    from certgrad.rules import check, declare, each, equal, real
    from certgrad.training import train

_PUBLIC = {
    "audit": "_audit",
    "audit_op": "_audit",
    "axis_of": "ops",
    "case": "ops",
    "certify": "graph",
    "check": "rules",
    "compile_graph": "accel",
    "declare": "rules",
    "each": "rules",
    "equal": "rules",
    "obligation": "obligations",
    "op": "ops",
    "real": "rules",
    "registry": "ops",
    "solves": "jaxpr.solves",
    "trace": "graph",
    "train": "training",
    "verify": "obligations.verify",
}

__all__ = [
    "__version__",
    "audit",
    "audit_op",
    "axis_of",
    "case",
    "certify",
    "check",
    "compile_graph",
    "declare",
    "each",
    "equal",
    "obligation",
    "op",
    "real",
    "registry",
    "solves",
    "trace",
    "train",
    "verify",
]


__getattr__ = door(__name__, _PUBLIC)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
