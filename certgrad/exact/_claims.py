"""The claims at one point: the JVP is the derivative, the VJP its adjoint, the value that of the function."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import lcm
from typing import Any

from flint import arb

from certgrad.language import tree as t
from certgrad.language.arithmetic import UndefinedError
from certgrad.specification.evaluate import Evaluation
from certgrad.specification.program import Defined, Opaque, Program, Tensor

from ._factors import chosen
from ._model import Model
from ._number import Number
from ._primes import P
from ._programs import OutsideError, Programs
from ._sides import Beside
from ._weights import total, weight

JVP, VJP, VALUE, REFERENCE = "jvp_is_derivative", "vjp_is_adjoint", "rule_runs_forward", "forward_equals_reference"
ROUNDING, APPROXIMATION = 1e-8, 1e-9
"""Gaps between the sides, relative to them or to 1, that are no difference: one below `ROUNDING` may be rounding,
where a program holds floats with all of their digits; one below `APPROXIMATION` from a series that a library uses."""


STEP, CLOSE, TINY = arb(2) ** -60, 1e-12, 2**-50
"""`STEP`: how far from a seam points are tried. `CLOSE`: how close values have to be there for a smooth function,
relative to 1 and to the values. `TINY`: with numbers of the code below it, a function may bend nearer to the seam."""


PLACES = (("beside", 1), ("beside", -1), ("further", 1))
"""Near a seam: a kink of x·|x|/(|x| + 10⁻³⁰⁰) is seen from both sides, one of x²·y/(x² + y²) along two directions."""


class SpecialError(Exception):
    """No claim is made at the point: the function is undefined there, or may have no derivative."""


class RoundedError(Exception):
    """The two sides differ by so little that a literal of the code may be rounded."""


class UnequalError(Exception):
    """The two sides are not equal by the laws, and not seen to differ over the reals."""


@dataclass(frozen=True)
class Difference:
    """A failure of a claim: at which entry, and both sides; `point` has the arguments as floats."""

    claim: str
    where: str
    left: float | None
    right: float | None
    sizes: Mapping[str, int]
    point: Mapping[str, Any]
    reason: str = ""

    def __str__(self) -> str:
        at = ", ".join(f"{name} = {value}" for name, value in self.point.items())
        sides = self.reason or f"{self.left} and {self.right}"
        return f"{self.claim} at {at}: {self.where and self.where + ': '}{sides}"


class DiffersError(Exception):
    """A claim fails at the point, over the reals."""

    def __init__(self, claim: str, where: str, left: arb | None, right: arb | None, reason: str = "") -> None:
        super().__init__(claim)
        self.claim, self.where, self.reason = claim, where, reason
        self.left, self.right = (None if x is None else float(x.mid()) for x in (left, right))


Side = tuple[int, arb, int]
"""A side of a claim: modulo P, over the reals, and the sum of the degrees of its numerator and its denominator."""


def _side(u: Any, model: Model) -> Side:
    """Return a number as a side of a claim."""
    if isinstance(u, bool):
        u = int(u)
    n = model.lifted(u)
    return n.a, n.x, n.top + n.low


def _slope(u: Any) -> Side:
    """Return the tangent of a number as a side of a claim; 0 where it has none."""
    if not isinstance(u, Number) or u.d is None:
        return 0, arb(0), 0
    return u.d, u.dx, u.top + 3 * u.low + 1


def _nearby_entry(u: Any, model: Model, key: Any, place: str, side: int) -> Any:
    """Return an entry at a point nearby: that of an active argument is moved to `side`, by a drawn distance."""
    if not isinstance(u, Number):
        return u
    if u.d is None:
        return Number(model, u.a, u.b, u.x)
    moved = model.drawn(key, u.x + side * (model.residue(place, key) / P - 0.5) * STEP)
    moved.d, moved.dx = model.residue("d", key), u.dx
    return moved


def _has_tiny_numbers(program: Program) -> bool:
    """Return whether the program has a number so small that the function may bend closer to a seam than points are
    tried.
    """
    entries = (d.entry for d in program.definitions if isinstance(d, Defined))
    numbers = (n.rational for entry in entries for n in t.walk(entry) if isinstance(n, t.Number))
    return any(0 < abs(c) < TINY for c in numbers)


def _close(x: arb, y: arb) -> bool:
    return bool(abs(x - y) < CLOSE * (1 + abs(x)))


class Claims:
    """The claims about programs, at one point of a model after the other. `run` compares both sides of each."""

    def __init__(self, programs: Programs, model: Model, most: float) -> None:
        self.programs, self.model = programs, model
        self.most = most
        """The most entries of a program that are evaluated at a point."""
        self.entries: Mapping[Any, Any] = {}
        self.seeds: Mapping[Any, Any] = {}
        self.degree = 1
        self.compared = 0
        self.doubt: Exception | None = None
        """The first claim that stayed open at the point, as an exception; None if none did."""
        self.seam = False
        """Whether equal numbers are compared at the point, so that the slopes are those nearby."""
        self._evaluations: dict[str, Evaluation] = {}
        self._nearby = 0

    def at(self, entries: Mapping[Any, Any], seeds: Mapping[Any, Any]) -> Claims:
        """Go to another point: entries of arguments and of cotangents, by role and index. Return the claims."""
        self.entries, self.seeds = entries, seeds
        self.degree, self.compared, self.doubt, self._nearby = 1, 0, None, 0
        for evaluation in self._evaluations.values():
            evaluation.forget()
        return self

    @property
    def entries_known(self) -> int:
        """How many entries of programs were evaluated at the point."""
        return self._nearby + sum(evaluation.count for evaluation in self._evaluations.values())

    def run(self, special: bool, at_seams: bool = False) -> None:
        """Compare both sides of each claim at this point.

        Raises SpecialError where nothing is claimed, DiffersError, RoundedError or UnequalError where the sides differ,
        and what the arithmetic raises. At a `special` point the function may not be smooth where equal numbers are
        compared; with `at_seams`, only points at which equal numbers are compared count.
        """
        programs, model = self.programs, self.model
        values = self._forward()
        slopes = {(k, at): _slope(u) for k, outputs in enumerate(values) for at, u in outputs.items()}
        # Where equal numbers are compared, tangents at the point say nothing: they are taken beside it.
        self.seam = special and model.tie
        if self.seam:
            slopes = self._smooth(values)
        elif at_seams:
            raise SpecialError("nothing equal is compared")
        if programs.primal is not None:
            self._same(VALUE, programs.primal, values)
        if programs.reference is not None:
            self._same(REFERENCE, programs.reference, values)
        if programs.jvp is not None:
            extra = [("d", k) for k in programs.moving]
            outputs = self._all(JVP, programs.jvp, extra)
            for (k, at), slope in slopes.items():
                self._compare(JVP, f"output {k}{[*at]}", _side(outputs[k][at], model), slope)
        if programs.vjp is not None:
            self._adjoint(slopes)
        if self.doubt is not None and not self.seam:
            raise self.doubt

    def _forward(self) -> list[dict[Any, Any]]:
        """Return the entries of each output, with tangents. Raises SpecialError where the forward is undefined."""
        forward = self._evaluation("forward", self.programs.forward, [], dual=True)
        try:
            return [self._outputs(forward, k) for k in range(len(self.programs.outputs))]
        except UndefinedError as error:
            raise SpecialError(str(error)) from None

    def _smooth(self, values: list[dict[Any, Any]]) -> dict[Any, Side]:
        """Return the derivative of each output entry where the forward compares equal numbers, if it is smooth there.

        `values` are the output entries at the point. At each of `PLACES` beside the point, and for each way in which
        the equal numbers may compare there, the outputs must be close to `values`, with one derivative. Only the real
        number of this derivative is known; 0 stands for its value modulo P. Raises SpecialError where the function is
        not seen to be smooth.
        """
        if _has_tiny_numbers(self.programs.forward):
            raise SpecialError("its numbers are smaller than what is seen near to a seam")
        model = Beside()
        claims_nearby = Claims(self.programs, model, self.most)
        real_values = {(o, at): self.model.lifted(u).x for o, outputs in enumerate(values) for at, u in outputs.items()}
        slopes: dict[Any, arb] = {}
        for (distance, side), _ in ((near_by, region) for near_by in PLACES for region in model.regions()):
            model.begin(self.model.seed, self.model.width)
            claims_nearby.at({key: _nearby_entry(u, model, key, distance, side) for key, u in self.entries.items()}, {})
            outputs = claims_nearby._forward()
            self._nearby += claims_nearby.entries_known
            for key, value in real_values.items():
                u = outputs[key[0]][key[1]]
                slope = _slope(u)[1]
                if not (_close(value, model.lifted(u).x) and _close(slopes.setdefault(key, slope), slope)):
                    raise SpecialError("equal numbers are compared, and it is not smooth there")
        return {key: (0, slope, 0) for key, slope in slopes.items()}

    def _adjoint(self, slopes: Mapping[Any, Side]) -> None:
        """Compare ⟨cotangents of the VJP, tangents of the arguments⟩ with ⟨seeds, tangents of the outputs⟩."""
        programs, model = self.programs, self.model
        cotangents = self._all(VJP, programs.vjp, [("seed", k) for k in range(len(programs.outputs))])
        left, right = _Total(), _Total()
        for (k, at), slope in slopes.items():
            left.add(slope, _side(self._weighted(self.seeds[k, at], programs.forward.outputs[k], at), model))
        for m, cotangent in zip(programs.moving, cotangents, strict=True):
            for at, u in cotangent.items():
                argument = self.entries[m, at]
                weighted = self._weighted(u, programs.forward.inputs[m], at)
                right.add(_side(weighted, model), (argument.d, argument.dx, 1))
        self._compare(VJP, "⟨cotangents, tangents⟩", right.side, left.side)

    def _weighted(self, u: Any, tensor: Tensor, at: tuple[int, ...]) -> Any:
        """Return a number times the weights of the indices of an entry, of programs that have weights."""
        for place, length in zip(at, tensor.shape, strict=True):
            if length in self.programs.lengths:
                u = self.model.mul(self.entries[weight(length), (place,)], u)
        return u

    def _same(self, claim: str, program: Program, values: list[dict[Any, Any]]) -> None:
        """Compare the outputs of a program with those of the forward."""
        outputs = self._all(claim, program, [])
        for k, (ours, theirs) in enumerate(zip(outputs, values, strict=True)):
            for at, u in ours.items():
                where = f"output {k}{[*at]}"
                if not self._equal_logarithms(u, theirs[at]):
                    self._compare(claim, where, _side(u, self.model), _side(theirs[at], self.model))

    def _all(self, claim: str, program: Program | None, extra: list[Any]) -> list[dict[Any, Any]]:
        """Return the outputs of a program of the rule. Raises DiffersError if it is undefined: the forward is not."""
        assert program is not None
        at = self._evaluation(claim, program, extra)
        try:
            return [self._outputs(at, k) for k in range(len(program.outputs))]
        except UndefinedError as error:
            raise DiffersError(claim, "", None, None, f"not defined: {error}") from None

    def _evaluation(self, name: str, program: Program, extra: list[Any], dual: bool = False) -> Evaluation:
        """Return the evaluation of a program at this point, which is kept under a name.

        `extra` gives the roles of its inputs beside arguments and parameters; with `dual`, numbers have tangents.
        """
        if name not in self._evaluations:
            parameters = (("parameter", k) for k in range(self.programs.parameters))
            weights = (*map(weight, self.programs.lengths), *map(total, self.programs.sizes))
            roles: list[Any] = [*range(len(self.programs.dtypes)), *extra, *parameters, *weights]
            by_name = {tensor.name: role for tensor, role in zip(program.inputs, roles, strict=True)}
            self._evaluations[name] = Evaluation(
                program,
                self.programs.sizes,
                lambda tensor, at: self._input(by_name[tensor], at, dual),
                self.model,
                _opaque,
                partial(chosen, self.model),
            )
            self._evaluations[name].most = self.most
        return self._evaluations[name]

    def _input(self, role: Any, at: tuple[int, ...], dual: bool) -> Any:
        """Return an entry of an input: of a tangent ("d", k), a cotangent ("seed", k), or an argument or parameter."""
        if isinstance(role, tuple) and role[0] == "d":
            return self._tangent(role[1], at, self.entries[role[1], at])
        if isinstance(role, tuple) and role[0] == "seed":
            return self.seeds[role[1], at]
        entry = self.entries[role, at]
        return entry if dual or not isinstance(entry, Number) else entry.still()

    def _tangent(self, k: int, at: tuple[int, ...], one: Number) -> Number:
        """Return the tangent of an argument's entry `one` as an input of the JVP, the same whenever it is read."""
        key = ("tangent", k, at)
        if key not in self.model.oracles:
            free_number = self.model.drawn(key, one.dx)
            self.model.oracles[key] = Number(self.model, one.d or 0, free_number.b, free_number.x)
        return self.model.oracles[key]

    def _outputs(self, at: Evaluation, k: int) -> dict[tuple[int, ...], Any]:
        """Return the entries of the k-th output by index."""
        tensor = at.program.outputs[k]
        return {index: at.output(k, index) for index in _places(at.shape(tensor))}

    def _equal_logarithms(self, u: Any, v: Any) -> bool:
        """Return whether two sums of logarithms are equal: the exponential of their difference, or of a multiple of it,
        is 1.
        """
        model = self.model
        gap = model.add(model.still(u), model.mul(-1, model.still(v)))
        if not isinstance(gap, Number) or not gap.logs or 0 not in gap.x:
            return False
        times = lcm(*(n.denominator for n in gap.logs.values()))
        exponential = model.lifted(model.exp(model.mul(times, gap)))
        self.degree = max(self.degree, exponential.top + exponential.low)
        self.compared += 1
        return exponential.a == 1

    def _compare(self, claim: str, where: str, left: Side, right: Side) -> None:
        """Compare two sides: they are equal if they are modulo P, and differ if their real numbers do.

        Raises DiffersError for a gap that no approximation explains; notes a doubt for a smaller gap, and for sides
        that are equal over the reals alone.
        """
        self.compared += 1
        self.degree = max(self.degree, left[2] + right[2])
        gap = left[1] - right[1]
        if 0 in gap:
            if (left[0] - right[0]) % P:
                self._doubt(UnequalError(f"{claim} {where}: equal over the reals to many digits, and not by the laws"))
            return
        largest = max(float(self.programs.long or self.seam), abs(float(left[1].mid())), abs(float(right[1].mid())))
        if abs(float(gap.mid())) > (ROUNDING if self.programs.long else APPROXIMATION) * largest:
            raise DiffersError(claim, where, left[1], right[1])
        self._doubt(RoundedError(f"{claim} {where}"))

    def _doubt(self, one: Exception) -> None:
        self.doubt = self.doubt or one


class _Total:
    """A sum of products."""

    def __init__(self) -> None:
        self.side: Side = (0, arb(0), 0)

    def add(self, one: Side, other: Side) -> None:
        a, x, degree = self.side
        self.side = (a + one[0] * other[0]) % P, x + one[1] * other[1], degree + one[2] + other[2]


def _places(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*map(range, shape))


def _opaque(definition: Opaque, k: int, index: tuple[int, ...]) -> Any:
    if definition.name.startswith("platform_index"):
        return 0
    raise OutsideError(f"{definition.name.partition('(')[0]}, of which nothing is known")
