"""Whether the shapes of a call fit a signature."""

from collections.abc import Iterator, Sequence
from typing import Any

from certgrad.ops._signature import ArraySpec, Dim, Signature, Star

Shape = tuple[Any, ...]
Binding = dict[str, Any]  # a named dim to its length, and a star group ("*s") to its shape


def fit(signature: Signature, shapes: Sequence[Shape]) -> Binding | None:
    """The sizes with which the inputs of the signature have these shapes; None if there are none.

    Lengths are compared with ==, so they may be symbolic dims.
    """
    if len(shapes) != len(signature.inputs):
        return None
    return next(_fit_arrays(signature.inputs, tuple(shapes), {}), None)


def _fit_arrays(specs: tuple[ArraySpec, ...], shapes: tuple[Shape, ...], known: Binding) -> Iterator[Binding]:
    if not specs:
        yield known
        return
    for binding in _fit_dims(specs[0].dims, shapes[0], known):
        yield from _fit_arrays(specs[1:], shapes[1:], binding)


def _fit_dims(dims: tuple[Any, ...], shape: Shape, known: Binding) -> Iterator[Binding]:
    if not dims:
        if not shape:
            yield known
        return
    first, rest = dims[0], dims[1:]
    if isinstance(first, Star):
        key = str(first)
        lengths = [len(known[key])] if key in known else range(len(shape) + 1)
        for length in lengths:
            group = shape[:length]
            if len(group) == length and known.get(key, group) == group:
                yield from _fit_dims(rest, shape[length:], {**known, key: group})
    elif shape:
        for binding in _fit_dim(first, shape[0], known):
            yield from _fit_dims(rest, shape[1:], binding)


def _fit_dim(dim: Dim, length: Any, known: Binding) -> Iterator[Binding]:
    unknown = [name for name in dim.names if name not in known]
    if not unknown:
        if dim.evaluate(known) == length:
            yield known
    elif dim.name is not None:
        yield {**known, dim.name: length}
    elif len(unknown) == 1 and (size := _solve(dim, unknown[0], length, known)) is not None:
        yield {**known, unknown[0]: size}


def _solve(dim: Dim, name: str, length: Any, known: Binding) -> Any:
    """The size of the name with which the dim, linear in it, has this length; None if there is none of at least 1."""
    start = dim.evaluate({**known, name: 0})
    slope = dim.evaluate({**known, name: 1}) - start
    size = (length - start) // slope
    return size if dim.evaluate({**known, name: size}) == length and size >= 1 else None
