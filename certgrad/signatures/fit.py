"""Checks that the shapes of a call fit a signature.

The comparisons of dimensions here can refuse a call and do nothing else, so that the audit need not trace the contrary
case of each comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax

from certgrad.signatures.cases import AxisOf, Case, RankOf, SizeOf, names_in, resolved
from certgrad.signatures.signature import ArraySpec, Signature
from certgrad.signatures.sizes import Size, Star

Shape = tuple[Any, ...]
Binding = dict[str, Any]  # a named dim to its length, and a star group ("*s") to its shape


def fits(signature: Signature, shapes: Sequence[Shape], known: Binding | None = None) -> Iterator[Binding]:
    """Yield every choice of sizes with which the inputs of the signature have these shapes, each with the known ones.

    With several star groups there may be several choices. Lengths are compared with ==, so that they may be symbolic.
    """
    if len(shapes) == len(signature.inputs):
        yield from _fit_arrays(signature.inputs, tuple(shapes), known or {})


def covers(case: Case, shapes: Sequence[Shape], statics: Mapping[str, Any]) -> bool:
    """Return whether the case is the op at these shapes and keyword arguments: some sizes and ranks give both.

    Sizes are read from keywords first, then from shapes, then from keywords again; the keyword values that follow must
    be the given ones.
    """
    declared = {
        n: v for n, v in case.statics.items() if n in statics and (isinstance(v, AxisOf | RankOf) or names_in(v))
    }
    names = set(names_in(tuple(declared.values())))
    sizes_of_keywords = _fit_keywords(declared, statics, {})
    if sizes_of_keywords is None:
        return False
    for by_shapes in fits(case.signature, shapes, sizes_of_keywords):
        binding = _fit_keywords(declared, statics, by_shapes)  # a keyword may determine a size that the shapes do not
        if binding is None or not names <= binding.keys():
            continue
        ranks = {star: len(binding[f"*{star}"]) for star in case.signature.stars}
        if all(resolved(v, case.signature, ranks, binding) == statics[n] for n, v in declared.items()):
            return True
    return False


def _fit_keywords(asked: Mapping[str, Any], statics: Mapping[str, Any], known: Binding) -> Binding | None:
    """Return the known sizes with those that keywords' values determine; None if a keyword cannot have its value."""
    binding: Binding | None = known
    for name in (*asked, *asked):  # twice, as a later keyword may determine a size that an earlier one needs
        binding = _fit_value(asked[name], statics[name], binding) if binding is not None else None
    return binding


def _fit_value(declared: Any, value: Any, known: Binding) -> Binding | None:
    """Return the known sizes with one that the keyword's value determines; None if it cannot have that value."""
    if isinstance(declared, SizeOf):
        unknown = [name for name in declared.dim.names if name not in known]
        return known if len(unknown) > 1 else next(_fit_dim(declared.dim, value, known), None)
    if isinstance(declared, tuple):
        for declared_part, part in zip(declared, value, strict=True):
            binding = _fit_value(declared_part, part, known)
            if binding is None:
                return None
            known = binding
    return known


def _fit_arrays(specs: tuple[ArraySpec, ...], shapes: tuple[Shape, ...], known: Binding) -> Iterator[Binding]:
    """Yield every choice of sizes, the known ones included, with which the arrays have these shapes."""
    if not specs:
        yield from _with_postponed_sizes(known)
        return
    for binding in _fit_dims(specs[0].dims, shapes[0], known):
        yield from _fit_arrays(specs[1:], shapes[1:], binding)


def _fit_dims(dims: tuple[Any, ...], shape: Shape, known: Binding) -> Iterator[Binding]:
    """Yield every choice of sizes with which dims are this shape: from left to right, a star group by any length."""
    if not dims:
        if not shape:
            yield known
        return
    first, rest = dims[0], dims[1:]
    if isinstance(first, Star):
        key = str(first)
        if not any(isinstance(dim, Star) for dim in rest):  # the length of the last star group follows
            lengths: Iterable[int] = [len(shape) - len(rest)] if len(shape) >= len(rest) else []
        else:
            lengths = [len(known[key])] if key in known else range(len(shape) + 1)
        for length in lengths:
            group = shape[:length]
            if len(group) == length and known.get(key, group) == group:
                yield from _fit_dims(rest, shape[length:], {**known, key: group})
    elif shape:
        for binding in _fit_dim(first, shape[0], known):
            yield from _fit_dims(rest, shape[1:], binding)


def _fit_dim(dim: Size, length: Any, known: Binding) -> Iterator[Binding]:
    """Yield the known sizes with the one that a dim of this length determines; nothing if the dim cannot have it.

    A dim of several unknown names is postponed: it is kept in the binding under a key with " = ".
    """
    unknown = [name for name in dim.names if name not in known]
    if not unknown:
        if dim.evaluate(known) == length:
            yield known
    elif dim.name is not None:
        yield {**known, dim.name: length}
    elif len(unknown) > 1:
        yield {**known, f"{dim} = {length}": (dim, length)}  # postponed: another dim may determine a name
    elif (size := _solve(dim, unknown[0], length, known)) is not None:
        yield {**known, unknown[0]: size}


def _with_postponed_sizes(known: Binding) -> Iterator[Binding]:
    """Yield the binding with the sizes that postponed dims determine, now that all arrays are read.

    Postponed dims are tried again as long as one of them is resolved; if none is, nothing is yielded.
    """
    waiting = {key: pair for key, pair in known.items() if " = " in key}
    if not waiting:
        yield known
        return
    sizes = {key: size for key, size in known.items() if key not in waiting}
    for dim, length in waiting.values():
        binding = next(_fit_dim(dim, length, sizes), None)
        if binding is None:
            return
        sizes = binding
    if sum(" = " in key for key in sizes) < len(waiting):
        yield from _with_postponed_sizes(sizes)


def _solve(dim: Size, name: str, length: Any, known: Binding) -> Any:
    """Return the size n ≥ 1 of the name at which the dim start + slope·n has this length; None if there is none."""
    start = dim.evaluate({**known, name: 0})
    slope = dim.evaluate({**known, name: 1}) - start
    if slope == 0:  # the value of a keyword is a factor of 0 here, and no size
        return None
    size = (length - start) // slope
    return size if dim.evaluate({**known, name: size}) == length and _is_positive(size) else None


def _is_positive(size: Any) -> bool:
    """Return whether the size is at least 1; for a symbolic size, whether all its values are."""
    try:
        return bool(size >= 1)
    except jax.errors.InconclusiveDimensionOperation:
        return False
