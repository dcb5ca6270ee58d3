"""The callables of a subject, traced at symbolic sizes."""

from __future__ import annotations

from jax import export

from certgrad._subject import Subject
from certgrad.signatures.cases import Case

from .at_shapes import Programs, traced

_SCOPE = export.SymbolicScope()
"""One for all, so that JAX finds in its caches what it traced before."""


def at_symbols(op: Subject, case: Case) -> Programs:
    """The programs at symbolic dimensions, every star group as one axis of the size of its name.

    Raises DoesNotTraceError.
    """
    inputs = case.signature.inputs
    if op.broadcast:
        names = ["n"]
    else:
        dims = (dim for spec in inputs for dim in spec.dims)
        found = [n for d in dims for n in getattr(d, "names", None) or ([d.name] if d.name else [])]
        names = list(dict.fromkeys([*found, *case.names]))
    sizes = dict(zip(names, export.symbolic_shape(", ".join(names), scope=_SCOPE), strict=True)) if names else {}
    groups = {star: (sizes.get(star),) for star in case.signature.stars}
    shapes = [(sizes["n"],) if op.broadcast else spec.shape(sizes, groups) for spec in inputs]
    ranks = dict.fromkeys(case.signature.stars, 1)
    return traced(op, case.keywords(ranks, sizes), shapes, [spec.dtype for spec in inputs])
