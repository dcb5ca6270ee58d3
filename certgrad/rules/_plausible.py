"""A quick numeric test that spares most wrong hypotheses their proof. What passes it is then proved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from certgrad._subject import Rules
from certgrad.obligations.balls.statements import inside
from certgrad.obligations.floats import compute
from certgrad.obligations.generality.decisions import concrete
from certgrad.obligations.generality.instances import Instance, family
from certgrad.obligations.tracing.jax_internals import computed_by, evaluate, primal_body
from certgrad.signatures.sizes import Size

from ._mistakes import Mistake
from ._user_rule import UserRule

TOLERANCE = 1e-7


class Trial:
    """Tries hypotheses about one argument at points, each of which is drawn once and has its values computed once."""

    def __init__(self, one: UserRule) -> None:
        self.one = one
        self.rules = _once_at_each_point(one.rules(one.cases[0].statics))
        self._points: dict[Any, Any] = {}
        self._seeds: dict[Any, Any] = {}
        self._derivatives: dict[Any, Any] = {}

    def agrees(self, mistake: Mistake) -> bool:
        """As `plausible`, of a mistake."""
        return self.plausible(mistake.rules, mistake.fixed, mistake.domain)

    def plausible(self, rules: Rules, fixed: Mapping[str, Size], domain: tuple[str, ...]) -> bool:
        """The two sides of the adjoint law agree at a random point; also where the rule's own domain gives none."""
        with jax.enable_x64(True), computed_by(compute):
            point = self._point(fixed, (*self.one.domain, *domain))
            if point is None:
                return not domain
            args, tangent = point
            try:
                seeds = self._seeds_of(rules.forward(args, []))
                moved = rules.jvp(args, [tangent], []) if rules.jvp else self._derivative(rules, args, tangent)
                left = sum(float(np.vdot(a, b)) for a, b in zip(moved, seeds, strict=True))
                right = float(np.vdot(tangent, rules.vjp(args, seeds, [])[0]))
            except Exception:  # the proof will fail for the same reason, and costs no more
                return False
        if fixed and max(abs(left), abs(right)) < 1e-9:
            return False  # both are 0, as for a softmax of one entry: any multiple is right there
        return bool(abs(left - right) <= TOLERANCE * max(abs(left), abs(right), 1e-3))

    def nonlinear(self) -> bool:
        """Twice the cotangent of the output does not give twice the cotangent, at a random point."""
        with jax.enable_x64(True), computed_by(compute):
            point = self._point({}, self.one.domain)
            if point is None:
                return False
            args, _ = point
            try:
                seeds = self._seeds_of(self.rules.forward(args, []))
                once, twice = (np.asarray(self.rules.vjp(args, [k * s for s in seeds], [])[0]) for k in (3, 6))
            except Exception:  # as above
                return False
        finite = np.all(np.isfinite(once)) and np.all(np.isfinite(twice))
        return bool(finite) and not np.allclose(2 * once, twice, rtol=1e-6, atol=1e-9)

    def _point(self, fixed: Mapping[str, Size], domain: tuple[str, ...]) -> Any:
        key = tuple(sorted(fixed.items())), domain
        if key not in self._points:
            self._points[key] = _point(self.one, fixed, domain)
        return self._points[key]

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
    """The same rules, which compute their values at a concrete point once."""

    def once(rule: Callable[..., list]) -> Callable[..., list]:
        known: dict[tuple[int, ...], tuple[Any, list]] = {}

        def run(*groups: list) -> list:
            arrays = [x for group in groups for x in group]
            if any(isinstance(x, jax.core.Tracer) for x in arrays):
                return rule(*groups)
            key = tuple(map(id, arrays))
            if key not in known:
                known[key] = arrays, rule(*groups)
            return known[key][1]

        return run

    return replace(rules, forward=once(rules.forward), vjp=once(rules.vjp))


def _point(one: UserRule, fixed: Mapping[str, Size], domain: tuple[str, ...]) -> tuple[list, Any] | None:
    """Arrays inside the domain and a tangent; None where no point was found."""
    instance = family(one, one.cases[0]).prove[0]
    sizes = {**concrete(instance), **fixed}
    found = drawn(one, instance, {n: sizes.get(v.name or "", v) for n, v in sizes.items()}, domain)
    if found is None:
        return None
    args, rng = found
    tangent = rng.standard_normal(args[one.arg_names.index(one.moving[0])].shape)
    return [jnp.asarray(a) for a in args], jnp.asarray(tangent)


def drawn(
    one: UserRule, instance: Instance, sizes: Mapping[str, Size], domain: Sequence[str], seed: int = 0
) -> tuple[list[np.ndarray], np.random.Generator] | None:
    """Arrays of these sizes inside a domain, and the generator that drew them; None where none were found."""
    shapes = instance.shapes(sizes).inputs
    rng = np.random.default_rng(seed)
    for attempt in range(30):
        args = [_draw(rng, s, d, attempt) for s, d in zip(shapes, instance.dtypes, strict=True)]
        if inside(domain, {n: _exact(a) for n, a in zip(one.arg_names, args, strict=True)}):
            return args, rng
    return None


def _draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, attempt: int) -> np.ndarray:
    if dtype == "int":
        return rng.integers(0 if attempt % 2 else -2, 2, shape)
    if dtype == "bool":
        return rng.random(shape) < 0.6
    x = rng.standard_normal(shape) + 0.1
    return (x, np.abs(x) + 0.1, -np.abs(x) - 0.1, rng.random(shape) * 0.8 + 0.1)[attempt % 4]


def _exact(array: np.ndarray) -> Any:
    from fractions import Fraction

    if array.dtype.kind == "f":
        return np.vectorize(lambda v: Fraction(float(v)), otypes=[object])(array).tolist()
    return array.tolist()


def _derivative(one: UserRule, rules: Rules, args: list, tangent: Any) -> list:
    """Of the primal function, by JAX."""
    k = one.arg_names.index(one.moving[0])
    program = primal_body(jax.make_jaxpr(lambda *xs: rules.forward(list(xs), []))(*args))

    def run(x: Any) -> list:
        return evaluate(program.jaxpr, program.consts, [*args[:k], x, *args[k + 1 :]], lambda eqn, outs: outs)

    return jax.jvp(run, [args[k]], [tangent])[1]
