"""A rule under test as plain callables, its inputs, and its programs at one concrete shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, Protocol

from certgrad.obligations.balls import _jaxpr
from certgrad.obligations.balls._errors import MalformedRule
from certgrad.obligations.balls._values import Array, is_float
from certgrad.signatures.sizes import Size, Star

Kind = Literal["float", "int", "bool", "key"]
Arrays = list[Any]
MAX_NUMBERS = 24
"""Points are drawn near at most this many numbers of a program, the smallest ones."""
LARGEST = 1000
"""The largest number near which points are drawn; beyond, the rounding of a literal grows to a gap."""


@dataclass(frozen=True)
class Rule:
    """The callables of one op at a fixed rank, taking and returning flat lists of arrays.

    `forward(inputs) -> outputs`; `jvp(inputs, tangents) -> tangents`; `vjp(inputs, seeds) -> cotangents`. Tangents and
    cotangents stand for the differentiable inputs, in order; seeds for the float outputs. `primal(inputs) -> outputs`
    is what the rule itself returns as the output, if it does.
    """

    forward: Callable[[Arrays], Arrays]
    jvp: Callable[[Arrays, Arrays], Arrays] | None = None
    vjp: Callable[[Arrays, Arrays], Arrays] | None = None
    primal: Callable[[Arrays], Arrays] | None = None
    wide: bool = True
    """Whether programs are traced in float64; else in float32."""


class Structure(Protocol):
    """A property of an array as a whole, such as that a matrix is symmetric."""

    def structured(self, x: Array) -> Array:
        """Return an array with the property, made of x; x itself if it has the property. Rationals stay rationals."""
        ...

    def along(self, x: Array, dx: Array) -> Array:
        """Return a tangent, made of dx, along which the array x keeps its property."""
        ...


@dataclass(frozen=True)
class Input:
    """One argument: its dims (`n`, `*s`, `3`, `2*m`, `n+1`), its kind, and whether it has a tangent."""

    name: str
    dims: tuple[Size | Star, ...] = ()
    kind: Kind = "float"
    differentiable: bool = True
    told: tuple[int, ...] = ()
    """Integers that the domain or a program compares the entries with, such as a label to ignore: drawn as entries."""
    exact: str = ""
    """The dtype of its integers where programs trace at no other: raw random keys are uint32. Else empty."""
    structure: Structure | None = None
    """The property that its drawn arrays get, if any."""

    def structured(self, x: Array) -> Array:
        """Return the array with the property that it must have; the array itself if there is none."""
        return x if self.structure is None else self.structure.structured(x)

    @property
    def moves(self) -> bool:
        """Whether it has a tangent: it is a float and differentiable."""
        return self.differentiable and self.kind == "float"


@dataclass(frozen=True)
class Dims:
    """Concrete sizes: of named dims, and of star groups (a tuple each, its length the rank)."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    stars: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def shape(self, dims: Sequence[Size | Star]) -> tuple[int, ...]:
        """Return the shape that these dims stand for."""
        out: list[int] = []
        for dim in dims:
            if isinstance(dim, Star):
                out.extend(self.stars[dim.name])
            else:
                out.append(dim.evaluate(self.sizes))
        return tuple(out)


def names_in(inputs: Sequence[Input]) -> tuple[list[str], list[str]]:
    """Return the named dims and the star groups of a signature's inputs, each once, in order of appearance."""
    dims = [dim for argument in inputs for dim in argument.dims]
    stars = [dim.name for dim in dims if isinstance(dim, Star)]
    named = [name for dim in dims if isinstance(dim, Size) for name in dim.names]
    return list(dict.fromkeys(named)), list(dict.fromkeys(stars))


class Programs:
    """The rule's traced programs at one concrete shape, each traced when first asked for.

    Raises:
        MalformedRule: a program does not trace, or returns the wrong number or shape of outputs.
    """

    def __init__(self, rule: Rule, inputs: Sequence[Input], dims: Dims) -> None:
        self.rule = rule
        self.inputs = tuple(inputs)
        self.dims = dims
        self.shapes = [dims.shape(argument.dims) for argument in inputs]
        self.moving = [i for i, argument in enumerate(inputs) if argument.moves]
        self._own_dtypes = False  # whether integers have the dtypes that `Input.exact` names

    def _arguments(self) -> list[Any]:
        with_exact_dtypes = self._own_dtypes
        return [
            self._placeholder(shape, argument.kind, argument.exact if with_exact_dtypes else "")
            for shape, argument in zip(self.shapes, self.inputs, strict=True)
        ]

    def _tangents(self) -> list[Any]:
        return [self._placeholder(self.shapes[i], "float") for i in self.moving]

    def _placeholder(self, shape: Sequence[int], kind: str, exact: str = "") -> Any:
        return _jaxpr.placeholder(shape, kind, self.rule.wide, exact)

    def _trace(self, what: str, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        try:
            return _jaxpr.trace(function, arguments, self.rule.wide)
        except Exception as error:
            shapes = ", ".join(str(shape) for shape in self.shapes)
            raise MalformedRule(f"{what} does not trace at shapes {shapes}: {error}") from error

    @cached_property
    def forward(self) -> Any:
        """The traced forward: inputs -> outputs.

        Integers have 64 bits; if it does not trace so, they have the dtypes that their inputs name.
        """
        run = lambda *xs: list(self.rule.forward(list(xs)))  # noqa: E731
        try:
            return self._trace("forward", run, self._arguments())
        except MalformedRule:
            if not any(argument.exact for argument in self.inputs):
                raise
        self._own_dtypes = True
        return self._trace("forward", run, self._arguments())

    @cached_property
    def floats(self) -> list[int]:
        """The positions of the float outputs."""
        return [i for i, aval in enumerate(self.forward.out_avals) if is_float(aval.dtype)]

    @cached_property
    def output_shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the float outputs."""
        return [tuple(self.forward.out_avals[i].shape) for i in self.floats]

    def runs(self, point: Any) -> list[Any]:
        """Return the programs with their arguments at the point, each as (program, arguments, tangents or None).

        The forward gets the point's tangents. The jvp or vjp is left out where the point has no tangents or seeds.
        """
        rule, has_tangents = self.rule, len(point.tangents) == len(self.moving)
        out: list[Any] = [(self.forward, point.inputs, point.along(self.moving) if has_tangents else None)]
        if rule.jvp is not None and has_tangents:
            out.append((self.jvp, [*point.inputs, *point.tangents], None))
        if rule.vjp is not None and len(point.seeds) == len(self.floats):
            out.append((self.vjp, [*point.inputs, *point.seeds], None))
        if rule.primal is not None:
            out.append((self.primal, point.inputs, None))
        return out

    def _of(self, kind: str) -> list[Any]:
        """Return the programs that an obligation of this kind compares."""
        programs = [self.forward]
        if kind == "rule_runs_forward":
            programs.append(self.primal)
        if kind == "jvp_is_derivative" or (kind == "vjp_is_adjoint" and self.rule.jvp is not None):
            programs.append(self.jvp)
        if kind == "vjp_is_adjoint":
            programs.append(self.vjp)
        return programs

    def long_literals(self, kind: str) -> bool:
        """Return whether the programs of an obligation hold floats with as many digits as their dtype has."""
        return any(map(_jaxpr.holds_long, self._of(kind)))

    def numbers(self, kind: str) -> list[Fraction]:
        """Return the numbers in an obligation's programs that may bound a region, such as the ends of a clip."""
        candidates = {x for p in self._of(kind) for x in _jaxpr.numbers(p) if x != 0 and abs(x) <= LARGEST}
        return sorted(candidates)[:MAX_NUMBERS]

    def integers(self, kind: str) -> tuple[int, ...]:
        """Return the integers in an obligation's programs that may bound or mask an integer, by size."""
        candidates = {k for p in self._of(kind) for k in _jaxpr.integers(p) if abs(k) <= LARGEST}
        return tuple(sorted(candidates, key=lambda k: (abs(k), k))[:MAX_NUMBERS])

    @cached_property
    def primal(self) -> Any:
        """The traced outputs that the rule itself computes: inputs -> outputs."""
        primal = self.rule.primal
        assert primal is not None
        output_shapes = [tuple(aval.shape) for aval in self.forward.out_avals]
        return self._checked("primal", lambda *xs: list(primal(list(xs))), self._arguments(), output_shapes)

    @cached_property
    def jvp(self) -> Any:
        """The traced JVP: inputs, tangents -> tangents of the float outputs."""
        rule, count = self.rule.jvp, len(self.inputs)
        assert rule is not None
        run = lambda *flat: list(rule(list(flat[:count]), list(flat[count:])))  # noqa: E731
        return self._checked("jvp", run, [*self._arguments(), *self._tangents()], self.output_shapes)

    @cached_property
    def vjp(self) -> Any:
        """The traced VJP: inputs, seeds -> cotangents of the differentiable inputs."""
        rule, count = self.rule.vjp, len(self.inputs)
        assert rule is not None
        run = lambda *flat: list(rule(list(flat[:count]), list(flat[count:])))  # noqa: E731
        seeds = [self._placeholder(shape, "float") for shape in self.output_shapes]
        return self._checked("vjp", run, [*self._arguments(), *seeds], [self.shapes[i] for i in self.moving])

    def _checked(self, what: str, function: Callable[..., Any], arguments: Sequence[Any], wanted: Sequence[Any]) -> Any:
        """Return the traced program. Raises MalformedRule where its outputs do not have the shapes `wanted`."""
        traced = self._trace(what, function, arguments)
        shapes = [tuple(aval.shape) for aval in traced.out_avals]
        if shapes != list(wanted):
            raise MalformedRule(f"{what} returns shapes {shapes}, expected {list(wanted)}")
        return traced
