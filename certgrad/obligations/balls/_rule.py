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
"""Numbers of a program near which points are drawn, the smallest first; further ones are not used."""
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
    """Traced in float64, else in float32."""


class Structure(Protocol):
    """A property of an array as a whole, such as that a matrix is symmetric."""

    def structured(self, x: Array) -> Array:
        """An array with the property, made of any array; one that has it is unchanged. Rationals stay rationals."""
        ...

    def along(self, x: Array, dx: Array) -> Array:
        """The tangent along which an array with the structure keeps it."""
        ...


@dataclass(frozen=True)
class Input:
    """One argument: its dims (`n`, `*s`, `3`, `2*m`, `n+1`), its kind, and whether it has a tangent."""

    name: str
    dims: tuple[Size | Star, ...] = ()
    kind: Kind = "float"
    differentiable: bool = True
    told: tuple[int, ...] = ()
    """Whole numbers that somebody names for its entries, such as a label that is ignored: they are drawn as well."""
    exact: str = ""
    """The dtype of its integers, where programs do not trace at others: raw random keys are of uint32."""
    structure: Structure | None = None
    """Points are drawn with it."""

    def structured(self, x: Array) -> Array:
        """The array, with the structure that it has to have."""
        return x if self.structure is None else self.structure.structured(x)

    @property
    def moves(self) -> bool:
        """Whether a tangent is drawn for it."""
        return self.differentiable and self.kind == "float"


@dataclass(frozen=True)
class Dims:
    """Concrete sizes: of named dims, and of star groups (a tuple each, its length the rank)."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    stars: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def shape(self, dims: Sequence[Size | Star]) -> tuple[int, ...]:
        """The shape that dims stand for."""
        out: list[int] = []
        for dim in dims:
            if isinstance(dim, Star):
                out.extend(self.stars[dim.name])
            else:
                out.append(dim.evaluate(self.sizes))
        return tuple(out)


def names_in(inputs: Sequence[Input]) -> tuple[list[str], list[str]]:
    """The named dims and the star groups of a signature's inputs, in order of appearance."""
    dims = [dim for one in inputs for dim in one.dims]
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
        self.shapes = [dims.shape(one.dims) for one in inputs]
        self.moving = [i for i, one in enumerate(inputs) if one.moves]
        self._own_dtypes = False

    def _arguments(self) -> list[Any]:
        own = self._own_dtypes
        return [
            self._placeholder(shape, one.kind, one.exact if own else "")
            for shape, one in zip(self.shapes, self.inputs, strict=True)
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
        """inputs -> outputs. Integers have 64 bits, or the dtypes that are named where that does not trace."""
        run = lambda *xs: list(self.rule.forward(list(xs)))  # noqa: E731
        try:
            return self._trace("forward", run, self._arguments())
        except MalformedRule:
            if not any(one.exact for one in self.inputs):
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
        """The programs for which the point is drawn, each with its arguments there and, for the forward, their
        tangents.
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
        """The programs of an obligation."""
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
        """The numbers in the programs of an obligation that may bound a region, such as the ends of a clip."""
        found = {x for p in self._of(kind) for x in _jaxpr.numbers(p) if x != 0 and abs(x) <= LARGEST}
        return sorted(found)[:MAX_NUMBERS]

    def integers(self, kind: str) -> tuple[int, ...]:
        """The whole numbers in the programs of an obligation that may bound or mask an integer."""
        found = {k for p in self._of(kind) for k in _jaxpr.integers(p) if abs(k) <= LARGEST}
        return tuple(sorted(found, key=lambda k: (abs(k), k))[:MAX_NUMBERS])

    @cached_property
    def primal(self) -> Any:
        """inputs -> the outputs that the rule itself computes."""
        primal = self.rule.primal
        assert primal is not None
        wanted = [tuple(aval.shape) for aval in self.forward.out_avals]
        return self._checked("primal", lambda *xs: list(primal(list(xs))), self._arguments(), wanted)

    @cached_property
    def jvp(self) -> Any:
        """inputs, tangents -> tangents of the float outputs."""
        rule, count = self.rule.jvp, len(self.inputs)
        assert rule is not None
        run = lambda *flat: list(rule(list(flat[:count]), list(flat[count:])))  # noqa: E731
        return self._checked("jvp", run, [*self._arguments(), *self._tangents()], self.output_shapes)

    @cached_property
    def vjp(self) -> Any:
        """inputs, seeds -> cotangents of the differentiable inputs."""
        rule, count = self.rule.vjp, len(self.inputs)
        assert rule is not None
        run = lambda *flat: list(rule(list(flat[:count]), list(flat[count:])))  # noqa: E731
        seeds = [self._placeholder(shape, "float") for shape in self.output_shapes]
        return self._checked("vjp", run, [*self._arguments(), *seeds], [self.shapes[i] for i in self.moving])

    def _checked(self, what: str, function: Callable[..., Any], arguments: Sequence[Any], wanted: Sequence[Any]) -> Any:
        traced = self._trace(what, function, arguments)
        found = [tuple(aval.shape) for aval in traced.out_avals]
        if found != list(wanted):
            raise MalformedRule(f"{what} returns shapes {found}, expected {list(wanted)}")
        return traced
