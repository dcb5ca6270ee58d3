"""Refutations: a concrete point where the two sides provably differ, found by the ball evaluator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from math import prod
from random import Random
from typing import Any

import jax.numpy as jnp
import numpy as np
from flint import arb

from certgrad._subject import OF_REFERENCE, Subject
from certgrad.language.arithmetic import UnfitError
from certgrad.obligations.balls import (
    BallError,
    Criterion,
    Dims,
    Distance,
    Point,
    Programs,
    Rule,
    Scope,
    SearchLimits,
    WitnessPoint,
    agrees_somewhere,
    compared,
    distance,
    find_witness,
)
from certgrad.obligations.balls._draw import draw_dims, draw_inputs, draw_point, seeded
from certgrad.obligations.balls._witness import DRAWN_SIZES, SECONDS
from certgrad.obligations.balls.statements import question
from certgrad.obligations.certificate import Ball, Witness
from certgrad.obligations.floats import compute
from certgrad.obligations.generality.instances import Instance
from certgrad.obligations.generality.likeness import Itself
from certgrad.obligations.points import inputs_of, inside_domain
from certgrad.obligations.terms.budget import budget
from certgrad.obligations.tracing.jax_internals import computed_by, wide_floats

from .claims import Listed

ROUNDING = Fraction(1, 10**12)
"""The least relative gap of a witness against users' code: at concrete sizes Python computes `d ** -0.5` in floats, and
that rounding may explain a smaller gap."""


def search(
    op: Subject,
    instance: Instance,
    kind: str,
    early: bool = False,
    wide: bool = True,
    at_least: Fraction | None = None,
    listed: Listed | None = None,
    sizes: int = DRAWN_SIZES,
) -> Witness | None:
    """Return a witness against one obligation at a family of shapes, or None; the same call gives the same witness.

    None also if the subject asks for `proofs_alone`, or, for the obligation on the value, has no `fwd` of its own.

    Args:
        op: the subject.
        instance: the family of shapes.
        kind: the obligation.
        early: no proof was tried in full, so that it is not known which hypotheses one needs. Then a witness is a point
            on no boundary at which both sides have values, and none is searched for if an argument has integers, which
            may be out of range.
        wide: the programs run in float64, else in float32.
        at_least: a smaller relative gap counts as none; if None, `ROUNDING` for a user's rule and 0 for an op.
        listed: hypotheses of the general shapes that the point has to satisfy.
        sizes: at how many drawn sizes to search.
    """
    if op.proofs_alone or (early and "int" in instance.dtypes):
        return None
    if kind == "rule_runs_forward" and op.rules(instance.statics).primal is None:
        return None
    kind, of_reference = _of_values(kind)

    def claimed(values: Mapping[str, Any]) -> bool:
        return inside_domain(op, values) and (listed is None or _satisfies_hypotheses(listed, op, instance, values))

    try:
        witness = find_witness(
            kind,
            programs_at(op, instance, wide, of_reference),
            inputs_of(op, instance),
            name=f"{op.name} {instance.inputs}",
            scope=Scope(claimed, further=instance.names, generic=early),
            criterion=Criterion(
                undefined=not early and op.undefined_differs and not _read_in_part(op),
                at_least=at_least if at_least is not None else Fraction(0) if op.is_op else ROUNDING,
                loose=not op.is_op,
            ),
            limits=SearchLimits(
                sizes, seconds=min(SECONDS, op.seconds or SECONDS, budget.seconds_left()), precision=256
            ),
        )
    except BallError:
        return None
    return as_data(witness, instance.keywords(witness.dims.sizes)) if witness is not None else None


def _read_in_part(op: Subject) -> bool:
    """Return whether some function of the op is read as its ideal inside a declared domain alone.

    An undefined value elsewhere is then no witness.
    """
    return any(ideal.met and ideal.within is not None for ideal in op.ideals)


def _of_values(kind: str) -> tuple[str, bool]:
    """Return the obligation to evaluate, and whether the reference takes the place of the rule's own output in it."""
    return ("rule_runs_forward", True) if kind == OF_REFERENCE else (kind, False)


def solvers_work(op: Subject, instance: Instance, kind: str, wide: bool = True) -> bool:
    """Return whether, at some drawn points, the marked solvers solve their equations and both sides agree."""
    kind, of_reference = _of_values(kind)
    return agrees_somewhere(
        kind,
        programs_at(op, instance, wide, of_reference),
        inputs_of(op, instance),
        further=instance.names,
        domain=lambda values: inside_domain(op, values),
        name=f"{op.name} {instance.inputs}",
    )


def finite_somewhere(op: Subject, instance: Instance, kind: str, wide: bool = True) -> bool:
    """Return whether both programs of an obligation, as they run, give finite numbers at some drawn point."""
    kind, of_reference = _of_values(kind)
    return programs_at(op, instance, wide, of_reference).finite_somewhere(kind)


def _all_finite(rule: Rule, kind: str, point: Point, exact: Sequence[str]) -> bool:
    """Return whether the programs of an obligation return only finite numbers at a point.

    `exact` has the dtype of each argument for which the signature names one, and else "".
    """
    with wide_floats(rule.wide), computed_by(compute):
        xs, tangents, seeds = ([array(x) for x in arrays] for arrays in (point.inputs, point.tangents, point.seeds))
        for k, dtype in enumerate(exact):
            xs[k] = xs[k].astype(dtype) if dtype else xs[k]
        if kind == "rule_runs_forward":
            assert rule.primal is not None
            outs = [*rule.forward(xs), *rule.primal(xs)]
        else:
            assert rule.jvp is not None
            assert rule.vjp is not None
            outs = moved = rule.jvp(xs, tangents)
            if kind == "vjp_is_adjoint":
                outs = [*moved, *rule.vjp(xs, [ct.astype(y.dtype) for ct, y in zip(seeds, moved, strict=True)])]
        return all(bool(np.isfinite(np.asarray(y)).all()) for y in outs)


def array(values: np.ndarray) -> Any:
    """Return drawn values as a JAX array; fractions become floats."""
    return jnp.asarray(values.astype(float) if values.dtype == object else values)


def forward_distance(op: Subject, other: Subject, instance: Instance) -> Distance:
    """Return how far the forwards of two ops with the same arguments are apart, at drawn points.

    Both are evaluated in ball arithmetic or, if one cannot be, in float64.
    """
    in_balls = distance(
        lambda dims: rule_of(op, instance.keywords(dims.sizes), wide=True),
        lambda dims: rule_of(other, instance.keywords(dims.sizes), wide=True),
        inputs_of(op, instance),
        domain=lambda values: inside_domain(op, values),
        name=f"{op.name} {instance.inputs}",
        further=instance.names,
    )
    return in_balls if in_balls.entries or not in_balls.problem else _apart_in_floats(op, other, instance)


def _apart_in_floats(op: Subject, other: Subject, instance: Instance) -> Distance:
    """Return how far two functions are apart at drawn points, evaluated in float64."""
    distance = Distance(in_floats=True)
    rng = seeded(op.name, "floats")
    inputs = inputs_of(op, instance)
    for dims in islice(draw_dims(inputs, rng, lambda dims: True, instance.names), 2):
        rules = [rule_of(subject, instance.keywords(dims.sizes), wide=True) for subject in (op, other)]
        shapes = [dims.shape(spec.dims) for spec in inputs]
        for k in range(20):
            point = draw_inputs(inputs, shapes, k, rng, lambda values: inside_domain(op, values))
            if point is None:
                break
            with wide_floats():
                try:
                    left, right = (rule.forward([array(x) for x in point]) for rule in rules)
                except Exception as error:  # a function may refuse a point in its own way
                    distance.problem = distance.problem or str(error)
                    continue
            arguments = {spec.name: x.tolist() for spec, x in zip(inputs, point, strict=True)}
            for a, b in zip(left, right, strict=True):
                compared(distance, _exact(a), _exact(b), arguments)
    return distance


def _exact(values: Any) -> np.ndarray:
    """Return floats as exact numbers (balls without radius), and infinities and nan as floats."""
    array = np.asarray(values, dtype=float)
    out = np.empty(array.shape, dtype=object)
    for at in np.ndindex(array.shape):
        out[at] = arb(float(array[at])) if np.isfinite(array[at]) else float(array[at])
    return out


def rule_of(op: Subject, statics: Mapping[str, Any], wide: bool, of_reference: bool = False) -> Rule:
    """Return the op at these structural arguments, as callables of one list: the arguments, then the parameters.

    With `of_reference`, the reference takes the place of the rule's own primal output.
    """
    rules = op.rules(statics)
    count = len(op.arg_names)
    jvp, primal = rules.jvp, rules.reference if of_reference else rules.primal
    return Rule(
        forward=lambda xs: rules.forward(xs[:count], xs[count:]),
        jvp=None if jvp is None else lambda xs, tangents: jvp(xs[:count], tangents, xs[count:]),
        vjp=lambda xs, seeds: rules.vjp(xs[:count], seeds, xs[count:]),
        primal=None if primal is None else lambda xs: primal(xs[:count], xs[count:]),
        wide=wide,
    )


class ProgramsAt:
    """The op's programs by the sizes of a family: traced once, as all searches of an audit begin at the same sizes."""

    def __init__(self, op: Subject, instance: Instance, wide: bool, of_reference: bool) -> None:
        self.op, self.instance, self.wide, self.of_reference = op, instance, wide, of_reference
        self.inputs = inputs_of(op, instance)
        self._made: dict[Any, Programs] = {}
        self._finite: dict[str, bool] = {}

    def __call__(self, dims: Dims) -> Programs:
        """Return the programs at these sizes."""
        key = *dims.sizes.items(), *dims.stars.items()
        programs = self._made.get(key)
        if programs is None:
            rule = rule_of(self.op, self.instance.keywords(dims.sizes), self.wide, self.of_reference)
            programs = self._made[key] = Programs(rule, self.inputs, dims)
        return programs

    def finite_somewhere(self, kind: str) -> bool:
        """Return whether both programs of an obligation, as they run, give finite numbers at some drawn point."""
        if kind not in self._finite:
            self._finite[kind] = any(self._finite_at(dims, kind, rng) for dims, rng in self._drawn(kind))
        return self._finite[kind]

    def _drawn(self, kind: str) -> Iterator[tuple[Dims, Random]]:
        """Yield two drawn sizes, each with the generator of random numbers for points there."""
        rng = seeded(self.op.name, kind, "finite")
        for dims in islice(draw_dims(self.inputs, rng, lambda dims: True, self.instance.names), 2):
            yield dims, rng

    def _finite_at(self, dims: Dims, kind: str, rng: Random) -> bool:
        """Return whether both programs give finite numbers at one of ten drawn points of these sizes."""
        programs = self(dims)
        for k in range(10):
            try:
                point = draw_point(programs, kind, k, rng, lambda values: inside_domain(self.op, values))
                if point is not None and _all_finite(programs.rule, kind, point, self.instance.exact):
                    return True
            except Exception:  # a rule may refuse a point in its own way
                continue
        return False


def programs_at(op: Subject, instance: Instance, wide: bool = True, of_reference: bool = False) -> ProgramsAt:
    """Return the op's programs by the sizes of a family, which are kept for later searches."""
    return _programs_at(Itself(op), Itself(instance), wide, of_reference)


@lru_cache(maxsize=16)
def _programs_at(op: Itself, instance: Itself, wide: bool, of_reference: bool) -> ProgramsAt:
    return ProgramsAt(op.value, instance.value, wide, of_reference)


def _satisfies_hypotheses(listed: Listed, op: Subject, instance: Instance, values: Mapping[str, Any]) -> bool:
    """Return whether the point, at the family `instance`, certainly satisfies the hypotheses of the general family.

    The general family has one axis for each star group: the axes of a group are joined to one, of their product's size.
    """
    arrays = {name: np.array(value, dtype=object) for name, value in values.items()}
    groups = {axes: instance.groups[star] for star, axes in listed.general.groups.items() if star in instance.groups}
    sizes: dict[str, int] = {}
    for name, dims in zip(op.arg_names, listed.general.inputs, strict=True):
        lengths, shape = list(arrays[name].shape), []
        for dim in dims:
            rank = len(groups.get((dim.name or "",), (dim,)))
            shape.append(prod(lengths[:rank]))
            del lengths[:rank]
        arrays[name] = arrays[name].reshape(shape)
        sizes |= {dim.name: n for dim, n in zip(dims, shape, strict=True) if dim.name is not None}
    try:
        return all(question(statement).holds(arrays, sizes) for statement in listed.statements)
    except (BallError, UnfitError):
        return False


def as_data(w: WitnessPoint, statics: Mapping[str, Any]) -> Witness:
    """Return a witness as data of a certificate; `statics` are the structural arguments at its sizes."""
    lhs, rhs = w.texts()
    return Witness(
        dims=dict(w.dims.sizes),
        statics={k: str(v) for k, v in statics.items()},
        inputs={k: _texts(v) for k, v in w.inputs.items()},
        tangents={k: _texts(v) for k, v in w.tangents.items()},
        seeds={k: _texts(v) for k, v in w.seeds.items()},
        where=w.where,
        lhs=Ball(midpoint=lhs[0], radius=lhs[1]),
        rhs=Ball(midpoint=rhs[0], radius=rhs[1]),
        relative_gap=w.relative_gap,
    )


def _texts(value: Any) -> Any:
    """Return nested lists of numbers as nested lists of texts."""
    if isinstance(value, (list, tuple)):
        return [_texts(v) for v in value]
    return str(value)
