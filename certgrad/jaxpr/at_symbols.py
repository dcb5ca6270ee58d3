"""The callables of an op, traced at symbolic sizes."""

from __future__ import annotations

from jax import export

from certgrad._subject import Subject
from certgrad.signatures.cases import Case

from .at_shapes import Programs, traced

_SCOPE = export.SymbolicScope()
"""One scope for all traces, so that JAX's caches recognise equal sizes of an earlier trace."""


def at_symbols(op: Subject, case: Case) -> Programs:
    """Return the programs at symbolic dimensions, with every star group as one axis, whose size has the group's name.

    An op that broadcasts is traced on vectors of one size n. Raises DoesNotTraceError.
    """
    inputs = case.signature.inputs
    if op.broadcast:
        names = ["n"]
    else:
        dims = (dim for spec in inputs for dim in spec.dims)
        declared = [n for d in dims for n in getattr(d, "names", None) or ([d.name] if d.name else [])]
        names = list(dict.fromkeys([*declared, *case.names]))
    sizes = dict(zip(names, export.symbolic_shape(", ".join(names), scope=_SCOPE), strict=True)) if names else {}
    groups = {star: (sizes.get(star),) for star in case.signature.stars}
    shapes = [(sizes["n"],) if op.broadcast else spec.shape(sizes, groups) for spec in inputs]
    ranks = dict.fromkeys(case.signature.stars, 1)
    return traced(op, case.keywords(ranks, sizes), shapes, [spec.dtype for spec in inputs])
