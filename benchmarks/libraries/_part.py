"""A part of a library: a function with specs, at named sizes, at some names, or at numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from certgrad.graph.tracing.spec import Argument, read_specs

Sizes = Mapping[str, Any]
"""What each name stands for: a number or, while the function is traced, JAX's symbolic size."""

USUAL = {"n": 2, "t": 3, "d": 4, "k": 5, "m": 6, "h": 8, "w": 6, "z": 4}
"""The sizes of a part that is certified at numbers."""
SPATIAL = frozenset("hwz")
"""Names of the axes that windows move over."""
FEATURES = frozenset("dkm")
"""Names of sizes that a layer has from its making: what it draws its parameters with may ask for numbers."""
PROBES = (
    {"n": 3, "t": 5, "d": 7, "k": 11, "m": 13, "h": 34, "w": 38, "z": 46},
    {"n": 17, "t": 23, "d": 41, "k": 71, "m": 109, "h": 166, "w": 254, "z": 346},
)
"""Two sizes a name: which expression in the names the size of a parameter is follows from both."""


@dataclass(frozen=True)
class Call:
    """A function of arrays, and a spec for each."""

    fn: Callable[..., Any]
    specs: tuple[str, ...]

    def at(self, sizes: Mapping[str, int]) -> Call:
        """With some names set to numbers."""

        def put(spec: str) -> str:
            name, dims, dtype = _parts(spec)
            return name + " ".join(_put(dim, sizes) for dim in dims) + dtype

        return Call(self.fn, tuple(map(put, self.specs)))


@dataclass(frozen=True)
class Part:
    """How a public name is called."""

    call: Callable[[], Call]
    sizes: Sizes = field(default_factory=dict)
    """At numbers, in place of the usual ones."""
    why: str = ""
    """Why it is not tried: it computes nothing of its own, say."""

    def attempts(self) -> Iterator[tuple[str, Call]]:
        """At all names, then at numbers for windows, for features too, for all; each with what it is claimed for."""
        call = self.call()
        names = sorted({name for spec in call.specs for dim in _parts(spec)[1] for name in _names(dim)})
        sizes = {name: self.sizes.get(name, USUAL[name]) for name in names}
        said = set()
        for at_numbers in (set(), SPATIAL, SPATIAL | FEATURES, set(names)):
            given = {name: size for name, size in sizes.items() if name in at_numbers}
            free = ", ".join(name for name in names if name not in given)
            claimed = "; ".join(filter(None, [free and f"all {free}", _equations(given)])) or "scalars"
            if claimed not in said:
                said.add(claimed)
                yield claimed, call.at(given)


def function(fn: Callable[..., Any], *specs: str, **sizes: int) -> Part:
    """A part that is a function of arrays."""
    return Part(lambda: Call(fn, specs), sizes)


def untried(why: str) -> Part:
    """A public name that is no part: a base class, say."""
    return Part(lambda: Call(lambda: None, ()), why=why)


@dataclass(frozen=True)
class Layer:
    """A part with parameters: how they are made at some sizes, and what is computed of them."""

    init: Callable[..., Any]
    """`(sizes, *inputs)` → the shapes and dtypes of parameters and state, as any tree of them."""
    apply: Callable[..., Any]
    """`(sizes, parameters, *inputs)` → outputs."""
    specs: tuple[str, ...]

    def call(self) -> Call:
        """Each parameter an argument, whose shape is said in the names of the inputs."""
        (first, tree), (second, _) = (self._made(probe) for probe in PROBES)
        specs = (*(_spec(path, a, b) for (path, a), (_, b) in zip(first, second, strict=True)), *self.specs)
        places = dict(_places(specs))

        def fn(*arrays: Any) -> Any:
            sizes = {name: arrays[k].shape[axis] // times for name, (k, axis, times) in places.items()}
            leaves, inputs = arrays[: len(first)], arrays[len(first) :]
            return self.apply(sizes, jax.tree.unflatten(tree, leaves), *inputs)

        return Call(fn, specs)

    def _made(self, sizes: Sizes) -> Any:
        return jax.tree_util.tree_flatten_with_path(self.init(sizes, *abstract(self.specs, sizes)))


def layer(init: Callable[..., Any], apply: Callable[..., Any], *specs: str, **sizes: int) -> Part:
    return Part(Layer(init, apply, specs).call, sizes)


def named_leaves(tree: Any) -> dict[str, Any]:
    """The leaves, by names that sort as the leaves come."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {f"{k:02}{jax.tree_util.keystr(path)}": leaf for k, (path, leaf) in enumerate(leaves)}


def abstract(specs: Sequence[str], sizes: Sizes) -> list[jax.ShapeDtypeStruct]:
    """Shapes and dtypes of the arguments at these sizes."""
    return [jax.ShapeDtypeStruct(a.spec.shape(dict(sizes), {}), a.dtype(False)) for a in _read(specs)]


def _read(specs: Sequence[str]) -> tuple[Argument, ...]:
    return read_specs(lambda *arrays: None, specs).arguments


def _places(specs: Sequence[str]) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Where a name, or so many times it, is the size of an axis; where it stands alone comes last, and counts."""
    for alone in (False, True):
        for k, spec in enumerate(specs):
            for axis, dim in enumerate(_parts(spec)[1]):
                if (found := re.fullmatch(r"(?:(\d+)\*)?([a-z])", dim)) and (found[1] is None) == alone:
                    yield found[2], (k, axis, int(found[1] or 1))


def _spec(path: Any, first: Any, second: Any) -> str:
    """Of a parameter, from its shapes at the two probes."""
    dims = [_expression(a, b) for a, b in zip(first.shape, second.shape, strict=True)]
    name = re.sub(r"\W+", "_", jax.tree_util.keystr(path)).strip("_")
    dtype = "key" if jnp.issubdtype(first.dtype, jax.dtypes.prng_key) else str(first.dtype)
    ending = {"float32": "", "int32": ":int"}.get(dtype, f":{dtype}")
    return f"p_{name}: {' '.join(dims)}{ending}"


def _expression(first: int, second: int) -> str:
    """The simplest one in the names that is `first` at the first probe and `second` at the second."""
    if first == second:
        return str(first)
    one, two = PROBES
    pairs = [(a, b) for a in one for b in one]
    candidates = [
        *((a, one[a], two[a]) for a in one),
        *((f"{c}*{a}", c * one[a], c * two[a]) for c in range(2, 28) for a in one),
        *((f"{a}+{b}", one[a] + one[b], two[a] + two[b]) for a, b in pairs),
        *((f"{a}*{b}", one[a] * one[b], two[a] * two[b]) for a, b in pairs),
    ]
    return next(text for text, *values in candidates if values == [first, second])


def _parts(spec: str) -> tuple[str, list[str], str]:
    """`x: n d:int` as `x: `, `n` and `d`, `:int`."""
    found = re.fullmatch(r"(\s*\w+: )?([^:]*)(:\w+)?", spec)
    assert found is not None, spec
    return found[1] or "", found[2].split(), found[3] or ""


def _names(dim: str) -> list[str]:
    return re.findall(r"[a-z]", dim)


def _put(dim: str, sizes: Mapping[str, int]) -> str:
    if not set(_names(dim)) & set(sizes):
        return dim
    put = re.sub("[a-z]", lambda name: str(sizes.get(name[0], name[0])), dim)
    return put if _names(put) else str(eval(put))


def _equations(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {size}" for name, size in sizes.items())
