"""Specs of a function's arguments: `"n d"`, `"W1: d h"`, `"labels: n:int"`, in any nesting of lists and dicts."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from certgrad.errors import SignatureError, UsageError
from certgrad.ops._signature import ArraySpec, Star, parse

_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*:(?!(?:int|bool|float)\b)(.*)", re.DOTALL)


@dataclass(frozen=True)
class Argument:
    """One array of the function's arguments."""

    name: str
    spec: ArraySpec


@dataclass(frozen=True)
class Specs:
    """All arrays in the order of the flattened arguments, and how they are nested."""

    arguments: tuple[Argument, ...]
    tree: Any

    @property
    def dims(self) -> list[str]:
        """The dimension names, each once, in order of appearance."""
        dims = (d for a in self.arguments for d in a.spec.dims if not isinstance(d, Star))
        return list(dict.fromkeys(n for d in dims for n in d.names))

    def sizes(self, shapes: Sequence[Sequence[int]]) -> dict[str, int]:
        """The dimensions that give these shapes. Raises UsageError, naming argument and axis, where none do."""
        sizes: dict[str, int] = {}
        for argument, shape in zip(self.arguments, shapes, strict=True):
            if len(shape) != len(argument.spec.dims):
                raise UsageError(
                    f"{argument.name} has {len(shape)} axes, but its spec '{argument.spec}' has "
                    f"{len(argument.spec.dims)}. The graph was traced at that rank; trace another graph for this one."
                )
            for dim, size in zip(argument.spec.dims, shape, strict=True):
                if not isinstance(dim, Star) and dim.name is not None:
                    sizes.setdefault(dim.name, int(size))
        for argument, shape in zip(self.arguments, shapes, strict=True):
            expected = argument.spec.shape(sizes, {})
            if tuple(shape) != tuple(expected):
                known = ", ".join(f"{k} = {v}" for k, v in sizes.items())
                raise UsageError(
                    f"{argument.name} has shape {tuple(shape)}, but its spec '{argument.spec}' with {known} gives "
                    f"{tuple(expected)}. Pass arrays whose dimensions agree."
                )
        return sizes


def read_specs(fn: Callable[..., Any], specs: Sequence[Any]) -> Specs:
    """The specs, each leaf parsed. Raises UsageError, quoting the spec."""
    parameters = _parameters(fn)
    leaves: list[Argument] = []
    structure: list[Any] = []
    for k, spec in enumerate(specs):
        base = parameters[k] if k < len(parameters) else f"x{k}"
        flat, tree = jax.tree_util.tree_flatten_with_path(spec)
        structure.append(tree)
        leaves += [_leaf(text, base + jax.tree_util.keystr(path)) for path, text in flat]
    seen: set[str] = set()
    for argument in leaves:
        if argument.name in seen:
            raise UsageError(f"Two specs are named '{argument.name}'. Name each argument once.")
        seen.add(argument.name)
    read = Specs(tuple(leaves), tuple(structure))
    alone = {d.name for a in leaves for d in a.spec.dims if not isinstance(d, Star) and d.name}
    for name in read.dims:
        if name not in alone:
            raise UsageError(
                f"The dimension {name} stands only inside expressions, so no array shows its size. "
                f"Write an axis as '{name}' alone in some spec."
            )
    return read


def split_name(text: str) -> tuple[str | None, str]:
    """`"W1: d h"` as the name and the dimensions; no name where none is written."""
    named = _NAMED.fullmatch(text)
    return (named[1], named[2].strip()) if named else (None, text.strip())


def _leaf(text: Any, name: str) -> Argument:
    if not isinstance(text, str):
        raise UsageError(
            f"The spec of {name} is {text!r}. Write the dimensions as text, such as 'n d', or '' for a scalar."
        )
    given, body = split_name(text)
    name = given or name
    if "," in body or "->" in body:
        raise UsageError(
            f"The spec '{text}' of {name} is more than one array. Give one spec an argument, such as 'n d'."
        )
    try:
        spec = parse(f"{body} ->").inputs[0]
    except SignatureError as error:
        first = str(error).splitlines()[0].removeprefix("The signature does not parse: ")
        raise UsageError(
            f"The spec '{text}' of {name} does not parse: {first} Example: 'x: n d', or '' for a scalar."
        ) from None
    if any(isinstance(d, Star) for d in spec.dims):
        raise UsageError(f"The spec '{text}' of {name} has a star. A graph is traced at one rank: write out its axes.")
    return Argument(name, spec)


def _parameters(fn: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
