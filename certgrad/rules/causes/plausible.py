"""A quick numeric test of a possible mistake at drawn points; only mistakes that pass it go to a proof."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from certgrad._subject import Rules
from certgrad.obligations.balls.statements import all_conditions_hold
from certgrad.obligations.floats import compute
from certgrad.obligations.generality.decisions import concrete
from certgrad.obligations.generality.instances import Instance, family
from certgrad.obligations.tracing.jax_internals import computed_by
from certgrad.rules.subject.traced import primal_of
from certgrad.rules.subject.user_rule import UserRule
from certgrad.signatures.sizes import Size, integer_size

from .mistakes import Mistake

TOLERANCE = 1e-7
"""The relative gap up to which a mistake agrees at a point."""


class Trial:
    """Tries possible mistakes in one argument's cotangent at points, each of which is drawn and evaluated once."""

    def __init__(self, one: UserRule) -> None:
        self.one = one
        self.rules = _once_at_each_point(one.rules(one.cases[0].statics))
        self._points: dict[Any, _Point | None] = {}
        self._drawn: dict[Any, tuple[list[_Point], Iterator[_Point]]] = {}
        self._seeds: dict[Any, Any] = {}
        self._derivatives: dict[Any, Any] = {}

    def agrees(self, mistake: Mistake) -> bool:
        """Return whether the rule with a mistake put right obeys the adjoint law at the drawn points."""
        plausible = self.plausible(mistake.rules, mistake.fixed, mistake.domain)
        return plausible and (not mistake.of_another or self._moves_otherwise(mistake))

    def _moves_otherwise(self, mistake: Mistake) -> bool:
        """Return whether the mistake's JVP differs from the function's derivative at a drawn point.

        If they agree, the derivative that the mistake speaks of is the right one, and it is no mistake.
        """
        with jax.enable_x64(True), computed_by(compute):
            point = self._point(mistake.fixed, (*self.one.domain, *mistake.domain))
            if point is None or mistake.rules.jvp is None:
                return False
            moved = mistake.rules.jvp(point.args, [point.tangent], [])
            derivative = self._derivative(self.rules, point.args, point.tangent)
            return not all(np.allclose(a, b, rtol=1e-6, atol=1e-9) for a, b in zip(moved, derivative, strict=True))

    def plausible(self, rules: Rules, fixed: Mapping[str, Size], domain: tuple[str, ...]) -> bool:
        """Return whether both sides of the adjoint law ⟨L·dx, seed⟩ = ⟨dx, vjp(seed)⟩ agree at points of two sizes.

        If no point can be drawn, the rule counts as plausible in its own domain, and not in a further `domain`.
        """
        with jax.enable_x64(True), computed_by(compute):
            first = self._point(fixed, (*self.one.domain, *domain))
            if first is None:
                return not domain
            if not self._agree(rules, first, fixed):
                return False
            second = self._point(fixed, (*self.one.domain, *domain), larger=True)
            return second is None or self._agree(rules, second, fixed)

    def _agree(self, rules: Rules, point: _Point, fixed: Mapping[str, Size]) -> bool:
        """Return whether both sides of the adjoint law agree at a point, to the relative `TOLERANCE`."""
        args, tangent = point.args, point.tangent
        try:
            seeds = self._seeds_of(rules.forward(args, []))
            moved = rules.jvp(args, [tangent], []) if rules.jvp else self._derivative(rules, args, tangent)
            left = sum(float(np.vdot(a, b)) for a, b in zip(moved, seeds, strict=True))
            right = float(np.vdot(tangent, rules.vjp(args, seeds, [])[0]))
        except Exception:  # a rule that does not run here is not proved either
            return False
        if fixed and max(abs(left), abs(right)) < 1e-9:
            return False  # both are 0, as for a softmax of one entry: any multiple is right there
        return bool(abs(left - right) <= TOLERANCE * max(abs(left), abs(right), 1e-3))

    def nonlinear(self) -> bool:
        """Return whether twice the seed does not give twice the cotangent at a random point."""
        with jax.enable_x64(True), computed_by(compute):
            point = self._point({}, self.one.domain)
            if point is None:
                return False
            args = point.args
            try:
                seeds = self._seeds_of(self.rules.forward(args, []))
                once, twice = (np.asarray(self.rules.vjp(args, [k * s for s in seeds], [])[0]) for k in (3, 6))
            except Exception:  # as above
                return False
        finite = np.all(np.isfinite(once)) and np.all(np.isfinite(twice))
        return bool(finite) and not np.allclose(2 * once, twice, rtol=1e-6, atol=1e-9)

    def at_no_cotangent(self) -> bool:
        """Return whether a seed of 0 gives a cotangent that is not 0, at a random point."""
        with jax.enable_x64(True), computed_by(compute):
            point = self._point({}, self.one.domain)
            if point is None:
                return False
            try:
                seeds = [jnp.zeros_like(y) for y in self.rules.forward(point.args, [])]
                cotangent = np.asarray(self.rules.vjp(point.args, seeds, [])[0])
            except Exception:  # as above
                return False
        return bool(np.all(np.isfinite(cotangent)) and np.any(np.abs(cotangent) > 1e-6))

    def _point(self, fixed: Mapping[str, Size], domain: tuple[str, ...], larger: bool = False) -> _Point | None:
        """Return the first drawn point in the domain; None if none was drawn there.

        A point at which the function and its derivative are finite is preferred. If `larger`, sizes are larger by 1.
        """
        key = tuple(sorted(fixed.items())), domain, larger
        if key not in self._points:
            drawn = (p for p in self._all(fixed, larger) if all_conditions_hold(domain, p.exact))
            first = next(drawn, None)
            if first is not None and not self._defined(first):
                first = next(filter(self._defined, drawn), first)
            self._points[key] = first
        return self._points[key]

    def _defined(self, point: _Point) -> bool:
        try:
            outs = self.rules.forward(point.args, [])
            values = [*outs, *self._derivative(self.rules, point.args, point.tangent)]
            return all(np.all(np.isfinite(np.asarray(y, float))) for y in values)
        except Exception:  # the comparison at this point will fail for the same reason, and says so
            return True

    def _all(self, fixed: Mapping[str, Size], larger: bool) -> Iterator[_Point]:
        """Yield the points at some sizes: the same ones for all domains, so that most values are computed already."""
        key = tuple(sorted(fixed.items())), larger
        if key not in self._drawn:
            self._drawn[key] = [], _points(self.one, fixed, larger)
        earlier, further = self._drawn[key]
        yield from earlier
        for point in further:
            earlier.append(point)
            yield point

    def _seeds_of(self, outs: list) -> list:
        for k, y in enumerate(outs):
            if (k, y.shape) not in self._seeds:
                self._seeds[k, y.shape] = jnp.asarray(np.random.default_rng(k + 1).standard_normal(y.shape))
        return [self._seeds[k, y.shape] for k, y in enumerate(outs)]

    def _derivative(self, rules: Rules, args: list, tangent: Any) -> list:
        key = rules.forward, *map(id, args), id(tangent)
        if key not in self._derivatives:
            self._derivatives[key] = _derivative(self.one, rules, args, tangent)
        return self._derivatives[key]


def _once_at_each_point(rules: Rules) -> Rules:
    """Return the same rules, which remember their values for arrays they were called with (by identity)."""

    def once(rule: Callable[..., list]) -> Callable[..., list]:
        remembered: dict[tuple[int, ...], tuple[Any, list]] = {}

        def run(*groups: list) -> list:
            arrays = [x for group in groups for x in group]
            if any(isinstance(x, jax.core.Tracer) for x in arrays):
                return rule(*groups)
            key = tuple(map(id, arrays))
            if key not in remembered:
                remembered[key] = arrays, rule(*groups)
            return remembered[key][1]

        return run

    return replace(rules, forward=once(rules.forward), vjp=once(rules.vjp))


@dataclass(frozen=True, eq=False)
class _Point:
    """Arguments, and a tangent of the active one."""

    args: list
    tangent: Any
    exact: Mapping[str, Any]
    """The arrays by name, as fractions."""


def _points(one: UserRule, fixed: Mapping[str, Size], larger: bool) -> Iterator[_Point]:
    instance = family(one, one.cases[0]).prove[0]
    sizes = {**{n: integer_size(v.evaluate({}) + larger) for n, v in concrete(instance).items()}, **fixed}
    rng = np.random.default_rng(int(larger))
    moving = one.arg_names.index(one.moving[0])
    for args in _draws(instance, {n: sizes.get(v.name or "", v) for n, v in sizes.items()}, rng):
        tangent = jnp.asarray(np.random.default_rng(0).standard_normal(args[moving].shape))
        yield _Point([*map(jnp.asarray, args)], tangent, _exactly(one, args))


def drawn(
    one: UserRule, instance: Instance, sizes: Mapping[str, Size], domain: Sequence[str], seed: int = 0
) -> Iterator[tuple[list[np.ndarray], np.random.Generator]]:
    """Yield arrays of these sizes inside a domain, each time with the generator that drew them."""
    rng = np.random.default_rng(seed)
    return ((args, rng) for args in _draws(instance, sizes, rng) if all_conditions_hold(domain, _exactly(one, args)))


def _draws(instance: Instance, sizes: Mapping[str, Size], rng: np.random.Generator) -> Iterator[list[np.ndarray]]:
    shapes = instance.shapes(sizes).inputs
    for attempt in range(30):
        yield [_draw(rng, s, d, attempt) for s, d in zip(shapes, instance.dtypes, strict=True)]


def _exactly(one: UserRule, args: Sequence[np.ndarray]) -> Mapping[str, Any]:
    return {n: _exact(a) for n, a in zip(one.arg_names, args, strict=True)}


def _draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, attempt: int) -> np.ndarray:
    if dtype == "int":
        return rng.integers(0 if attempt % 2 else -2, 2, shape)
    if dtype == "bool":
        return rng.random(shape) < 0.6
    x = rng.standard_normal(shape) + 0.1
    if attempt > 3 and attempt % 2 and len(shape) > 1 and shape[-1] == shape[-2]:
        return x / 4 + 2 * np.eye(shape[-1])  # inside of most domains of matrices
    return (x, np.abs(x) + 0.1, -np.abs(x) - 0.1, rng.random(shape) * 0.8 + 0.1)[attempt % 4]


def _exact(array: np.ndarray) -> Any:
    from fractions import Fraction

    if array.dtype.kind == "f":
        return np.vectorize(lambda v: Fraction(float(v)), otypes=[object])(array).tolist()
    return array.tolist()


def _derivative(one: UserRule, rules: Rules, args: list, tangent: Any) -> list:
    """Return the derivative of the primal function, as JAX computes it."""
    run, x = primal_of(one, rules, args)
    return jax.jvp(run, [x], [tangent])[1]
