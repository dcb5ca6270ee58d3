"""Signatures such as `"*b n k, *b k m -> *b n m"`: the shapes an op takes and returns, for every value of the names.

Arrays are separated by commas, dims by blanks. A dim is a name, an integer, or a sum of products of them without blanks
(`2*m`, `n+1`); `*s` stands for any number of axes. An array without dims is a scalar, and so are `scalar` and `()`,
as numpy writes it. `:int` or `:bool` after an array says that it holds integers or booleans, `:key` random keys,
`:complex` complex numbers; without a suffix it holds floats. A dtype of JAX (`:uint32`, `:bfloat16`, `:bf16`) fixes the
dtype itself.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from certgrad.errors import SignatureError
from certgrad.signatures.nested import split_at_commas
from certgrad.signatures.sizes import NoSizeError, Size, Star, integer_size, parse_axis

_TOKEN = re.compile(r"\S+")
_DTYPES = ("float", "int", "bool", "key", "complex")
_REAL = ("float16", "bfloat16", "float32", "float64")
PARTS = {"complex64": "float32", "complex128": "float64"}
"""For each dtype of complex numbers, the dtype of their real and imaginary parts."""
SCALAR = "scalar"
SCALARS = (SCALAR, "()")
_WHOLE = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_SHORT = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
_SHORT |= {"c64": "complex64", "c128": "complex128"}
_SHORT |= {f"{name[0]}{name.lstrip('uint')}": name for name in _WHOLE}


def named_dtype(text: str) -> tuple[str, str] | None:
    """Return the kind of a dtype, and the dtype itself if the text names one (`bf16`), else "". None for no dtype."""
    name = _SHORT.get(text, text)
    if name in _DTYPES:
        return name, ""
    kinds = {"float": _REAL, "int": _WHOLE, "complex": PARTS}
    return next(((kind, name) for kind, names in kinds.items() if name in names), None)


@dataclass(frozen=True)
class ArraySpec:
    """The shape and the kind of dtype of one array."""

    dims: tuple[Size | Star, ...]
    dtype: str = "float"
    exact: str = ""
    """The dtype itself, where the signature names one: `uint32`."""

    @property
    def stars(self) -> tuple[str, ...]:
        """The names of the star groups, in order."""
        return tuple(dim.name for dim in self.dims if isinstance(dim, Star))

    def shape(self, sizes: Mapping[str, Any], groups: Mapping[str, Sequence[Any]]) -> tuple[Any, ...]:
        """Return the shape for these sizes of the named dims and these shapes of the star groups."""
        shape: list[Any] = []
        for dim in self.dims:
            shape.extend(groups[dim.name] if isinstance(dim, Star) else [dim.evaluate(sizes)])
        return tuple(shape)

    def position(self, name: str, ranks: Mapping[str, int]) -> int | tuple[int, ...]:
        """Return the axis of the dim `name`, or of one made of it such as `2*n`, when the star groups have these ranks.

        For a star group "*n" it is a tuple of all its axes. Raises SignatureError if the array has no such dim.
        """
        axis = 0
        for dim in self.dims:
            if isinstance(dim, Star) and name == str(dim):
                return tuple(range(axis, axis + ranks[dim.name]))
            if isinstance(dim, Size) and name in (str(dim), *dim.names):
                return axis
            axis += ranks[dim.name] if isinstance(dim, Star) else 1
        raise SignatureError(f"The array '{self}' has no dim '{name}'. Name one of its dims, as in axis_of(\"n\").")

    def at(self, sizes: Mapping[str, int]) -> "ArraySpec":
        """Return the spec with numbers for the names; a star group is one axis."""
        dims = (sizes[d.name] if isinstance(d, Star) else d.evaluate(sizes) for d in self.dims)
        return replace(self, dims=tuple(map(integer_size, dims)))

    def renamed(self, dims: Mapping[str, Size]) -> "ArraySpec":
        """Return the spec with sizes in the place of names: `2*c` with 4*c for c is `2*4*c`."""
        return replace(self, dims=tuple(d if isinstance(d, Star) else d.at(dims) for d in self.dims))

    def __str__(self) -> str:
        text, dtype = " ".join(map(str, self.dims)), self.exact or self.dtype
        return text if dtype == "float" else f"{text}:{dtype}"


@dataclass(frozen=True)
class Signature:
    """The shapes and dtypes of an op's inputs and outputs."""

    inputs: tuple[ArraySpec, ...]
    outputs: tuple[ArraySpec, ...]

    @property
    def stars(self) -> tuple[str, ...]:
        """The star groups, each once, in order of appearance."""
        return tuple(dict.fromkeys(star for spec in (*self.inputs, *self.outputs) for star in spec.stars))

    @property
    def names(self) -> tuple[str, ...]:
        """The named dims, each once, in order of appearance."""
        specs = (*self.inputs, *self.outputs)
        return tuple(
            dict.fromkeys(name for spec in specs for dim in spec.dims if isinstance(dim, Size) for name in dim.names)
        )

    def at(self, sizes: Mapping[str, int]) -> "Signature":
        """Return the signature with numbers for the names; a star group is one axis."""
        return Signature(tuple(s.at(sizes) for s in self.inputs), tuple(s.at(sizes) for s in self.outputs))

    def renamed(self, dims: Mapping[str, Size]) -> "Signature":
        """Return the signature with sizes in the place of names."""
        return Signature(tuple(s.renamed(dims) for s in self.inputs), tuple(s.renamed(dims) for s in self.outputs))

    def __str__(self) -> str:
        left, right = (", ".join(map(str, specs)) for specs in (self.inputs, self.outputs))
        return f"{left} -> {right}"


def parse(text: str, given: Sequence[str] = (), pairs: bool = False) -> Signature:
    """Return the signature that `text` writes. Keyword arguments determine the dims `given`, which outputs may name.

    With `pairs`, arrays may be complex. Raises SignatureError, with a caret under what is wrong.
    """
    if text.count("->") != 1:
        where = text.find("->", text.find("->") + 1) if "->" in text else len(text)
        raise _error(text, where, "a signature has exactly one '->' between what goes in and what comes out")
    arrow = text.index("->")
    inputs = _parse_side(text, 0, arrow, pairs)
    outputs = _parse_side(text, arrow + 2, len(text), pairs)
    if not pairs and any(spec.dtype == "complex" for spec in (*inputs, *outputs)):
        advice = (
            "only rules in code take and return complex numbers; give the real and the imaginary part as two arrays"
        )
        raise _error(text, text.index(":c"), advice)
    input_stars = {star for spec in inputs for star in spec.stars}
    names = {name for spec in inputs for dim in spec.dims if isinstance(dim, Size) for name in dim.names}
    names |= set(given)
    for spec in outputs:
        for dim in spec.dims:
            missing = {dim.name} - input_stars if isinstance(dim, Star) else set(dim.names) - names
            if missing:
                at = text.index(str(dim), arrow)
                raise _error(text, at, f"'{dim}' stands in an output but in no input, so its size is unknown")
    return Signature(inputs, outputs)


def for_people(text: str) -> str:
    """Return a signature, or its inputs alone, with `scalar` for each array without dims, which would print as nothing.

    A text that is no signature is returned as it is.
    """
    try:
        return " -> ".join(", ".join(map(_named_scalar, split_at_commas(side, text))) for side in text.split("->"))
    except SignatureError:
        return text


def _named_scalar(array: str) -> str:
    array = array.strip().replace("()", SCALAR)
    return SCALAR + array if not array or array.startswith(":") else array


def _parse_side(text: str, start: int, stop: int, pairs: bool) -> tuple[ArraySpec, ...]:
    """Return the arrays of `text[start:stop]`, the inputs or the outputs of a signature."""
    specs, at = [], start
    for part in text[start:stop].split(","):
        specs.append(_parse_array(text, at, at + len(part), pairs))
        at += len(part) + 1
    return tuple(specs)


def _parse_array(text: str, start: int, stop: int, pairs: bool) -> ArraySpec:
    """Return the array that `text[start:stop]` writes. Raises SignatureError with a caret under the wrong token.

    `last` is the suffix such as `int`, once it was read: nothing may follow it.
    """
    dims: list[Size | Star] = []
    dtype, exact, last = "float", "", ""
    for match in _TOKEN.finditer(text, start, stop):
        token, colon, suffix = match[0].partition(":")
        if last:
            raise _error(text, match.start(), f"':{last}' is the last thing of an array")
        if colon:
            if (kind_and_dtype := named_dtype(suffix)) is None:
                kinds = ":int, :bool, :key, :complex" if pairs else ":int, :bool, :key"
                advice = f"write {kinds}, or one of JAX such as :uint32"
                raise _error(text, match.start() + len(token), f"':{suffix}' is no dtype; {advice}")
            (dtype, exact), last = kind_and_dtype, suffix
        if token in SCALARS and not (dims or text[match.end() : stop].strip()):
            continue
        if token == SCALAR:
            raise _error(text, match.start(), "'scalar' is an array without dims, and stands alone")
        if not token:
            continue
        try:
            dim = parse_axis(token)
        except NoSizeError:
            advice = f"'{token}' is no dim; a dim is a name, an integer, 2*m, n+1, or *s for any axes"
            raise _error(text, match.start(), advice) from None
        if isinstance(dim, Star) and dim in dims:
            raise _error(text, match.start(), f"'{token}' stands twice in one array")
        dims.append(dim)
    return ArraySpec(tuple(dims), dtype, exact)


def _error(text: str, at: int, problem: str) -> SignatureError:
    return SignatureError(f"The signature does not parse: {problem}.\n  {text}\n  {' ' * at}^")
