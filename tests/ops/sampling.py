"""Arguments for the ops: shapes that fit a case of the signature, values inside the domain."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.ops import Case, Op
from tests.ops.references import function, reference

PARAMS = {"c": 1.7, "alpha": 1.3, "eps": 0.3, "b": 4.0, "cap": 2.0, "p": 0.3, "lo": -0.5, "hi": 0.6}
PARAMS |= {"correction": 0.5, "epsilon": 0.2, "tau": 0.7, "temperature": 1.6}
PARAMS |= {"a": -0.8, "lambd": 0.4, "threshold": 0.2, "value": -1.5}
PARAMS |= {
    "constant_values": 0.7,
    "margin": 0.4,
    "temperature": 0.5,
    "label_smoothing": 0.2,
    "q": 0.3,
    "k": 1.5,
    "delta": 0.7,
    "beta": 0.6,
    "negative_slope": 0.2,
}
SIZES = (3, 2, 4)
GROUPS = ((2,), (), (2,), (3,), ())


@dataclass
class Call:
    """One call of an op: arrays and keyword arguments."""

    op: Op
    arrays: list[Any]
    keywords: dict[str, Any]
    out_shapes: tuple[tuple[int, ...], ...]

    @property
    def moving(self) -> list[int]:
        """The positions of the float arguments."""
        return [i for i, x in enumerate(self.arrays) if jnp.issubdtype(x.dtype, jnp.floating)]

    @property
    def floats(self) -> list[Any]:
        return [self.arrays[i] for i in self.moving]

    def run(self, *floats: Any) -> Any:
        """The op, as a function of its float arguments."""
        return self.op.call_case(*self.filled(floats), **self.keywords)

    def forward(self, *floats: Any) -> Any:
        """The op's forward as plain JAX code, without its rules."""
        statics = {**self.op.defaults, **self.keywords}
        return self.op.call_rule(self.op.forward, *self.filled(floats), statics=statics)

    def like(self, *floats: Any) -> Any:
        """JAX's own code for the same function."""
        return function(self.op)(*self.filled(floats), **self.keywords)

    def shaped(self, arrays: Sequence[Any]) -> Any:
        """Arrays, one an output, as the op returns them: alone or in a tuple."""
        return tuple(arrays) if len(self.out_shapes) > 1 else arrays[0]

    def filled(self, floats: tuple[Any, ...]) -> list[Any]:
        """All arguments, with these for the float ones."""
        full = list(self.arrays)
        for i, x in zip(self.moving, floats, strict=True):
            full[i] = x
        return full


def draw(
    op: Op,
    case: Case,
    seed: int,
    dtype: Any = jnp.float64,
    stretch: bool = False,
    sizes: Mapping[str, int] | None = None,
    groups: Mapping[str, tuple[int, ...]] | None = None,
) -> Call:
    """A call that fits the case, inside the domain. `stretch`: the arguments of a broadcasting op differ in shape.

    sizes, groups: the dimensions and the axes of star groups, where small ones will not do.
    """
    rng = np.random.default_rng(seed)
    signature = case.signature
    sizes = dict(zip(case.names, SIZES * 4, strict=False)) | dict(sizes or {})
    small = dict.fromkeys(signature.stars, (2, 3)) if op.broadcast else dict(zip(signature.stars, GROUPS, strict=False))
    groups = small | dict(groups or {})
    ranks = {star: len(group) for star, group in groups.items()}
    keywords = {name: PARAMS[name] for name in op.params}
    keywords |= case.keywords(ranks, sizes)
    shapes = [spec.shape(sizes, groups) for spec in signature.inputs]
    if stretch:
        shapes = [((2, 1), (3,), (1, 1))[i] for i in range(len(shapes))]
    values = _values(op, case, shapes, keywords, rng)
    kinds = [spec.dtype for spec in signature.inputs]
    arrays = [jnp.asarray(x, dtype if kind == "float" else None) for x, kind in zip(values, kinds, strict=True)]
    outs = [np.broadcast_shapes(*shapes)] if stretch else [spec.shape(sizes, groups) for spec in signature.outputs]
    return Call(op, arrays, keywords, tuple(outs))


def _values(op: Op, case: Case, shapes: list[tuple[int, ...]], keywords: dict[str, Any], rng: Any) -> list[Any]:
    drawn = reference(op).arrays
    if drawn is not None:
        return drawn(rng, shapes, keywords)
    floats = [i for i, spec in enumerate(case.signature.inputs) if spec.dtype == "float"]
    values: list[Any] = [rng.uniform(size=shape) > 0.4 for shape in shapes]
    for i, value in zip(floats, _inside(op, keywords, [shapes[i] for i in floats], rng), strict=True):
        values[i] = value
    return values


def holds(domain: str, values: dict[str, Any]) -> Any:
    """Whether the domain holds, elementwise."""
    text = re.sub(r"(.+) not in integers", r"((\1) != floor(\1))", domain)
    text = re.sub(r"(.+) not in nonpositive_integers", r"((\1) != floor(\1)) | ((\1) > 0)", text)
    text = " | ".join(f"({part})" for part in text.split(" or "))
    return eval(text, {"cos": np.cos, "floor": np.floor}, values)


def _inside(op: Op, keywords: dict[str, Any], shapes: list[tuple[int, ...]], rng: Any) -> list[Any]:
    names = [
        name for name, spec in zip(op.arg_names, op.cases[0].signature.inputs, strict=True) if spec.dtype == "float"
    ]
    for attempt in range(2000):
        # Domains such as 0 < x < 1 need narrower draws; each array stays inside one of these ranges.
        low, high = ((-3.0, 3.0), (0.0, 1.0), (0.0, 3.0), (-1.0, 1.0), (1.0, 4.0))[attempt % 5]
        values = [np.asarray(rng.uniform(low, high, size=shape)) for shape in shapes]
        known = dict(zip(names, values, strict=True)) | {k: v for k, v in keywords.items() if k in op.params}
        if all(np.all(holds(domain, known)) for domain in op.domain):
            return values
    raise AssertionError(f"no point found inside the domain of {op.name}")


def first_of_each(pairs: Sequence[tuple[Op, Case]]) -> list[Any]:
    """Parameters of tests of these ops and cases: those after the first case of an op are slow."""
    seen: set[str] = set()
    marks = [pytest.mark.slow if op.name in seen or seen.add(op.name) else () for op, _ in pairs]
    return [pytest.param(*p, marks=m, id="-".join(map(label, p))) for p, m in zip(pairs, marks, strict=True)]


def label(value: Any) -> str:
    """A short id of a parametrised test."""
    if isinstance(value, Op):
        return value.name
    if isinstance(value, Case):
        return ",".join(f"{name}={one}" for name, one in value.statics.items()) or str(value.signature)
    return str(value)


def number(text: str, **known: float) -> list[float]:
    """The numbers that a convention such as "1/2, 0" or "alpha" names, with the parameters of PARAMS."""
    names = {"inf": math.inf, "nan": math.nan, "log": math.log, "slope": 0.2, **known}
    return [float(eval(part, names, dict(PARAMS))) for part in text.split(",")]
