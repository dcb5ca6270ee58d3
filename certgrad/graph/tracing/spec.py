"""Specs of a function's arguments: `"n d"`, `"W1: d h"`, `"labels: n:int"`, `"x: bf16[n, d]"`, `"rng: :key"`, or
arrays. They are nested as the arguments are: in lists, dicts and modules (Equinox, Flax)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from certgrad.errors import SignatureError, UsageError
from certgrad.obligations.tracing.jax_internals import key_dtype, kind_of
from certgrad.signatures.fit import fits
from certgrad.signatures.nested import BRACKETS, nested
from certgrad.signatures.signature import ArraySpec, Signature, named_dtype, parse
from certgrad.signatures.sizes import NoSizeError, Size, Star, parse_size

_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*:(.*)", re.DOTALL)
_TYPED = re.compile(r"\s*([a-z]+\d*)\[([^\[\]]*)\]\s*")
"""`f32[n, d]`, as JAX prints types."""


@dataclass(frozen=True)
class Argument:
    """One array of the function's arguments."""

    name: str
    spec: ArraySpec
    given: Any = None
    """The dtype of an array that was given as a spec."""
    array: Any = field(default=None, compare=False, repr=False)
    """The array that was given as a spec; None where only a shape and a dtype were."""

    @property
    def own(self) -> Any:
        """The dtype of the array that was given, or that the spec writes; None where the dtype is left to JAX."""
        if self.given is not None or not self.spec.exact:
            return self.given
        return np.dtype(jnp.dtype(self.spec.exact))

    def dtype(self, wide: bool) -> Any:
        """Return the dtype for tracing: its own, or JAX's default, which has 64 bits if `wide`."""
        if self.own is not None:
            return self.own
        real, whole = (np.float64, np.int64) if wide else (np.float32, np.int32)
        kinds = {"float": real, "int": whole, "bool": np.bool_}
        return key_dtype() if self.spec.dtype == "key" else np.dtype(kinds[self.spec.dtype])


@dataclass(frozen=True)
class Specs:
    """The specs of all arrays in the order of the flattened arguments, and how the arguments nest them."""

    arguments: tuple[Argument, ...]
    tree: tuple[Any, ...]
    static: Mapping[int, Any] = field(default_factory=dict)
    """The leaves that are no arrays (functions and numbers inside modules), by position among all leaves."""
    wide: bool = True
    """Whether the function is traced with 64-bit numbers."""

    def nest(self, arrays: Sequence[Any], bare: bool = False) -> list[Any]:
        """Return the arguments with these arrays at their places; with `bare`, None in the place of other leaves."""
        given, place, out = iter(arrays), 0, []
        for tree in self.tree:
            places = range(place, place + tree.num_leaves)
            leaves = [(None if bare else self.static[k]) if k in self.static else next(given) for k in places]
            out.append(jax.tree.unflatten(tree, leaves))
            place += tree.num_leaves
        return out

    def flat(self, args: Sequence[Any]) -> list[Any]:
        """Return the arrays in the arguments, in order. Raises UsageError where these are nested in another way."""
        if len(args) != len(self.tree):
            raise UsageError(f"The graph takes {len(self.tree)} arguments, and got {len(args)}.")
        leaves: list[Any] = []
        for k, (arg, tree) in enumerate(zip(args, self.tree, strict=True)):
            found_leaves, arg_tree = jax.tree.flatten(arg)
            if arg_tree != tree:
                raise UsageError(f"Argument {k} is nested as {arg_tree}, but its spec as {tree}.")
            leaves += found_leaves
        return [x for k, x in enumerate(leaves) if k not in self.static]

    @property
    def dtypes(self) -> list[Any]:
        """Return the dtypes that the arrays are traced in."""
        return [a.dtype(self.wide) for a in self.arguments]

    @property
    def arrays(self) -> list[Any] | None:
        """Return the arrays that were given as specs; None unless all specs were arrays."""
        arrays_given = [a.array for a in self.arguments]
        return None if not arrays_given or any(x is None for x in arrays_given) else arrays_given

    @property
    def dims(self) -> list[str]:
        """Return the dimension names, each once, in order of appearance."""
        dims = (d for a in self.arguments for d in a.spec.dims if not isinstance(d, Star))
        return list(dict.fromkeys(n for d in dims for n in d.names))

    def at(self, fixed: Mapping[str, Size]) -> Specs:
        """Return the specs with some dimensions set to numbers, to each other or to expressions."""
        return replace(self, arguments=tuple(replace(a, spec=a.spec.renamed(fixed)) for a in self.arguments))

    def sizes(self, shapes: Sequence[Sequence[int]]) -> dict[str, int]:
        """Return the size of each dimension that gives the arguments these shapes.

        Raises UsageError where none does; it names the first argument that does not fit, if a single one shows it.
        """
        specs = tuple(a.spec for a in self.arguments)
        if (fitting := next(fits(Signature(specs, ()), [tuple(map(int, s)) for s in shapes]), None)) is not None:
            return fitting
        # Nothing fits: find the argument to name, by the sizes that axes with a bare name show.
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
        sizes_text = ", ".join(f"{k} = {v}" for k, v in sizes.items())
        for argument, shape in zip(self.arguments, shapes, strict=True):
            if any(n not in sizes for d in argument.spec.dims if isinstance(d, Size) for n in d.names):
                continue
            expected = argument.spec.shape(sizes, {})
            if tuple(shape) != tuple(expected):
                raise UsageError(
                    f"{argument.name} has shape {tuple(shape)}, but its spec '{argument.spec}' with {sizes_text} gives "
                    f"{tuple(expected)}. Pass arrays whose dimensions agree."
                )
        shown = ", ".join(f"{a.name} {tuple(s)}" for a, s in zip(self.arguments, shapes, strict=True))
        written = ", ".join(f"{a.name}: {a.spec}" for a in self.arguments)
        raise UsageError(f"No sizes give the shapes {shown} the specs {written}. Pass arrays whose dimensions agree.")


def read_specs(fn: Callable[..., Any], specs: Sequence[Any]) -> Specs:
    """Return the specs of a function with each leaf parsed. Raises UsageError, quoting the spec that is wrong."""
    parameters = parameter_names(fn)
    arguments: list[Argument] = []
    trees: list[Any] = []
    static: dict[int, Any] = {}
    count = 0
    for k, argument_spec in enumerate(specs):
        base, spec = _parse_spec(argument_spec, parameters[k] if k < len(parameters) else f"x{k}")
        flat, tree = jax.tree_util.tree_flatten_with_path(spec)
        trees.append(tree)
        has_arrays = any(_is_array(leaf) for _, leaf in flat)
        for path, leaf in flat:
            # Beside arrays, a text in an attribute of a module is one of its own, such as the name of an axis.
            is_own_text = has_arrays and isinstance(leaf, str) and isinstance(path[-1], jax.tree_util.GetAttrKey)
            if (isinstance(leaf, str) and not is_own_text) or _is_array(leaf) or not path:
                arguments.append(_leaf(leaf, base + jax.tree_util.keystr(path)))
            else:
                static[count] = leaf
            count += 1
    names: set[str] = set()
    for argument in arguments:
        if argument.name in names:
            raise UsageError(f"Two specs are named '{argument.name}'. Name each argument once.")
        names.add(argument.name)
    # A spec with a 64-bit dtype needs 64-bit numbers; else JAX's present setting decides, as it would for a call.
    wide = bool(jax.config.read("jax_enable_x64")) or any(a.given is None and _needs_64_bits(a.own) for a in arguments)
    read = Specs(tuple(arguments), tuple(trees), static, wide)
    for name in read.dims:
        if name not in _shown_by([d for a in arguments for d in a.spec.dims if isinstance(d, Size)]):
            raise UsageError(
                f"The dimension {name} stands only inside expressions, so no array shows its size. "
                f"Write an axis as '{name}' alone in some spec."
            )
    return read


def _parse_spec(given: Any, base: str) -> tuple[str, Any]:
    """Return the name of an argument, by default `base`, and its spec; `params: {w: d m, b: m}` becomes a dict."""
    if not isinstance(given, str):
        return base, given
    name, body = split_name(given)
    if body[:1] not in BRACKETS or not body:
        return base, given
    try:
        return name or base, nested(body, str.strip, given)
    except SignatureError as error:
        why = str(error).partition("does not parse: ")[2]
        raise UsageError(f"The spec '{given}' does not parse: {why} Example: 'params: {{w: d m, b: m}}'.") from None


def _shown_by(dims: Sequence[Size]) -> set[str]:
    """Return the names whose sizes follow from the lengths of axes: `h` from `2*h`, and then `w` from `h+w`."""
    known_names: set[str] = set()
    progress = True
    while progress:
        progress = False
        for dim in dims:
            unknown_names = [n for n in dim.occurrences if n not in known_names]
            if len(unknown_names) == 1:  # one occurrence: the length is linear in it, and can be solved for it
                known_names.add(unknown_names[0])
                progress = True
    return known_names


def _needs_64_bits(dtype: Any) -> bool:
    return dtype in (np.float64, np.int64, np.uint64)


def split_name(text: str) -> tuple[str | None, str]:
    """Return the name and the rest of a spec such as `"W1: d h"`; None for the name where none is written.

    A dtype right after the colon, without a blank, makes no name of what is before it: `n:int` is an axis n of ints.
    """
    named = _NAMED.fullmatch(text)
    if named is None:
        return None, text.strip()
    suffix = re.match(r"\w*", named[2])
    if suffix is not None and named_dtype(suffix[0]) is not None and not _TYPED.fullmatch(named[2]):
        return None, text.strip()
    return named[1], named[2].strip()


def written_spec(body: str) -> ArraySpec:
    """Return the spec that a text without a name writes: `n d`, `n:int`, `f32[n, d]`. Raises SignatureError."""
    if (typed := _TYPED.fullmatch(body)) is not None:
        body = f"{typed[2].replace(',', ' ')}:{typed[1]}"
    return parse(f"{body} ->").inputs[0]


def _leaf(text: Any, name: str) -> Argument:
    """Return the argument that a spec such as 'x: n d' writes; `name` is its name if the spec has none.

    Raises UsageError where it does not parse or has a star.
    """
    if _is_array(text):
        return _array(text, name)
    if not isinstance(text, str):
        raise UsageError(
            f"The spec of {name} is {text!r}. Write the dimensions as text, such as 'n d', or '' for a scalar."
        )
    written_name, body = split_name(text)
    name = written_name or name
    if ("," in body and not _TYPED.fullmatch(body)) or "->" in body:
        raise UsageError(
            f"The spec '{text}' of {name} is more than one array. Give one spec an argument, such as 'n d'."
        )
    try:
        spec = written_spec(body)
    except SignatureError as error:
        first = str(error).splitlines()[0].removeprefix("The signature does not parse: ")
        raise UsageError(
            f"The spec '{text}' of {name} does not parse: {first} Example: 'x: n d', or '' for a scalar."
        ) from None
    if any(isinstance(d, Star) for d in spec.dims):
        raise UsageError(f"The spec '{text}' of {name} has a star. A graph is traced at one rank: write out its axes.")
    return Argument(name, spec)


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "shape") and hasattr(leaf, "dtype")


def _array(value: Any, name: str) -> Argument:
    """Return an array, or its shape and dtype, as a spec whose sizes are numbers. Its values matter to no proof.

    The dtype is that of JAX's conversion: without 64-bit numbers, an array of float64 is one of float32.
    """
    kind = kind_of(value.dtype)
    if kind not in "fibk":
        raise UsageError(
            f"{name} has dtype {value.dtype}. A graph takes arrays of real numbers, integers, booleans and random keys."
        )
    dims = tuple(_dim(d, name) for d in value.shape)
    dtype = value.dtype if kind == "k" else jax.dtypes.canonicalize_dtype(value.dtype)
    spec = ArraySpec(dims, {"f": "float", "i": "int", "b": "bool", "k": "key"}[kind])
    has_values = isinstance(value, np.ndarray | np.generic | jax.Array) and not isinstance(value, jax.core.Tracer)
    return Argument(name, spec, dtype, value if has_values else None)


def _dim(size: Any, name: str) -> Size:
    """Return an axis of an array, a number or a symbolic size of JAX, as a spec's. Raises UsageError."""
    with suppress(NoSizeError):
        if (dim := parse_size(size)).is_sum_of_products:
            return dim
    raise UsageError(f"{name} has an axis of size {size}. Write it as sums and products of names, such as 2*n+1.")


def parameter_names(fn: Callable[..., Any]) -> list[str]:
    """Return the names of a function's positional arguments; an empty list where it has no signature to read."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
