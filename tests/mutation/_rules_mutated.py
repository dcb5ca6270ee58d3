"""A rule with one equation of one of its programs changed, as the audit sees it and as it is evaluated.

A program here is what certgrad traces of a rule: its function (`forward`), the value that the rule itself computes
(`primal`), its `jvp`, and its `vjp`, in which stand the residuals that its fwd saves and what its bwd makes of them.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any

import jax
import jax.core

from certgrad._subject import Rules, Subject
from certgrad.obligations.auditing.witnesses import rule_of
from certgrad.obligations.balls import Dims, MalformedRule, NotDifferentiable, Point, Undecided, evaluate
from certgrad.obligations.balls import Programs as Evaluated
from certgrad.obligations.balls._draw import draw_dims, draw_point, seeded
from certgrad.obligations.generality.instances import Instance
from certgrad.obligations.generality.reach import reachable
from certgrad.obligations.generality.traces import Traces
from certgrad.obligations.points import inputs_of, inside_domain
from certgrad.obligations.prove.problem import Programs, Shapes, _specs
from certgrad.obligations.tracing.jax_dimensions import sizes_as_integers
from certgrad.obligations.tracing.jax_internals import abstract, trace, wide_floats
from tests.mutation import _class_changes, _index_changes  # noqa: F401  (they register their changes)
from tests.mutation._changes import Mutation, mutations
from tests.mutation._surgery import CannotMakeError, changed, sites

ROLES = ("forward", "primal", "jvp", "vjp")
ADJOINT = "vjp_is_adjoint"
BITS = 128
SHAPES = 3
"""A break is looked for at so many shapes."""
STYLES = (0, 4, 1, 6, 3)
"""By the numbers that `draw_point` gives them: plain, special, eighths, equal, large."""


@dataclass
class Right:
    """A rule that is right, at one family of shapes, with all that its mutants share."""

    rule: Subject
    _concrete: dict[Any, Any] = field(default_factory=dict)
    _values: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def traces(self) -> Traces:
        """Of the rule as it is."""
        return Traces(self.rule)

    @cached_property
    def instance(self) -> Instance:
        """The most general family of shapes."""
        return self.traces.families[0].prove[0]

    @property
    def shapes(self) -> Shapes:
        """Of that family, over the symbols of its traces."""
        return self.traces.at(self.instance).shapes

    @property
    def programs(self) -> Programs:
        """As the kernel reads them, on floats of 64 bits."""
        return self.traces.at(self.instance).programs

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """The programs that an obligation is about."""
        rules, kinds = self.rule.rules(self.shapes.statics), self.rule.kinds
        of = {"primal": "rule_runs_forward", "jvp": "jvp_is_derivative"}
        return tuple(r for r in ROLES if getattr(rules, r) is not None and (r not in of or of[r] in kinds))

    @cached_property
    def specs(self) -> dict[str, tuple[Any, ...]]:
        """The types of the arguments of each program."""
        with wide_floats():
            args, scalars = _specs(self.shapes, len(self.rule.params), True)
            seeds = [abstract(v.aval.shape, v.aval.dtype) for v in self.programs.forward.jaxpr.outvars]
        tangents = [args[k] for k in self.shapes.floats]
        plain = (args, scalars)
        return {"forward": plain, "primal": plain, "jvp": (args, tangents, scalars), "vjp": (args, seeds, scalars)}

    @cached_property
    def originals(self) -> dict[str, Any]:
        """Its programs as JAX traces them, before anything is read otherwise."""
        rules = self.rule.rules(self.shapes.statics)
        with wide_floats(), sizes_as_integers(reachable(self.rule)):
            return {role: traced(getattr(rules, role), self.specs[role]) for role in self.roles}

    def mutations(self) -> list[Mutation]:
        """Every change at every equation of its programs."""
        return [m for role in self.roles for m in mutations(role, sites(self.originals[role])) if not m.shapewise]

    def mutated(self, mutation: Mutation) -> Programs:
        """The programs with one change. Raises CannotMakeError where it cannot be made."""
        specs = self.specs[mutation.role]
        with wide_floats():
            program = changed(self.originals[mutation.role], mutation)

        def run(*given: Any) -> list[Any]:
            return jax.core.eval_jaxpr(program.jaxpr, program.consts, *jax.tree.leaves(given))

        with wide_floats():
            return replace(self.programs, **{mutation.role: trace(run, specs)})

    def subject(self, mutation: Mutation) -> Subject:
        """The rule with the change, traced anew wherever it is asked for."""
        mutant, rules = copy(self.rule), self.rule.rules

        def with_change(statics: Any) -> Rules:
            found = rules(statics)
            return replace(found, both=None, **{mutation.role: run_changed(getattr(found, mutation.role), mutation)})

        mutant.__dict__["rules"] = with_change
        return mutant

    # evaluated at numbers

    @cached_property
    def places(self) -> list[tuple[Evaluated, list[Point]]]:
        """Its programs at some shapes, and points there inside the domain."""
        found = []
        rng = seeded(self.rule.name, "mutants")
        inputs = inputs_of(self.rule, self.instance)
        for dims in islice(draw_dims(inputs, rng, lambda dims: True, self.instance.names), SHAPES):
            programs = self._evaluated(self.rule, dims)
            try:
                numbers = programs.numbers(ADJOINT)
                drawn = [draw_point(programs, ADJOINT, k, rng, self.inside) for k in STYLES]
                drawn += [draw_point(programs, ADJOINT, k, rng, self.inside, beside=numbers) for k in (0, 4) if numbers]
            except MalformedRule:
                continue
            found.append((programs, [p for p in drawn if p is not None]))
        return found

    def value(self, place: int, k: int, role: str) -> Any:
        """The outputs of one of its own programs at a point, or None where they cannot be decided."""
        if (place, k, role) not in self._values:
            programs, points = self.places[place]
            self._values[place, k, role] = outputs(programs, role, points[k])
        return self._values[place, k, role]

    def inside(self, values: Any) -> bool:
        """A point lies in the rule's domain."""
        return inside_domain(self.rule, values)

    def _evaluated(self, rule: Subject, dims: Dims) -> Evaluated:
        return Evaluated(
            rule_of(rule, self.instance.keywords(dims.sizes), True), inputs_of(self.rule, self.instance), dims
        )

    def evaluated(self, mutation: Mutation, right: Evaluated) -> Evaluated:
        """A mutant's programs at numbers, those that are not changed shared with the right rule's."""
        mutant, rules = copy(self.rule), self.rule.rules(self.instance.keywords(right.dims.sizes))
        key = (str(right.dims), mutation.role)

        def run(*given: Any) -> list[Any]:
            if key not in self._concrete:
                self._concrete[key] = traced(getattr(rules, mutation.role), given)
            if _keys(self._concrete[key]) != _keys(self.originals[mutation.role]):
                raise CannotMakeError("it is another program at numbers, of which this would be another change")
            return evaluated(self._concrete[key], mutation, given)

        mutant.__dict__["rules"] = lambda statics: replace(rules, both=None, **{mutation.role: run})
        programs = self._evaluated(mutant, right.dims)
        for name in ROLES:
            if name != mutation.role and (name in self.roles or name == "forward"):
                programs.__dict__[name] = getattr(right, name)
        return programs


def outputs(programs: Evaluated, role: str, point: Point) -> Any:
    """The outputs of a program at a point, or None where they cannot be decided."""
    more = {"jvp": point.tangents, "vjp": point.seeds}.get(role, [])
    try:
        return evaluate(getattr(programs, role), [*point.inputs, *more], precision=BITS).values
    except (Undecided, NotDifferentiable):
        return None


def _keys(program: Any) -> list[Any]:
    """The equations of a closed program that an output needs."""
    return [site.key for site in sites(program)]


def traced(function: Callable[..., Any], given: Any) -> Any:
    """The closed program of a function at arguments of these types, over flat lists."""
    leaves, tree = jax.tree.flatten(given)
    types = [jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=bool(getattr(x, "weak_type", False))) for x in leaves]
    return jax.make_jaxpr(lambda *xs: list(function(*jax.tree.unflatten(tree, xs))))(*types)


def evaluated(program: Any, mutation: Mutation, given: Any) -> list[Any]:
    """A closed program at arguments, with one change; as it is where the change is not for these shapes."""
    try:
        found = changed(program, mutation)
    except CannotMakeError:
        found = program
    return jax.core.eval_jaxpr(found.jaxpr, found.consts, *jax.tree.leaves(given))


def run_changed(function: Callable[..., Any], mutation: Mutation) -> Callable[..., Any]:
    """The function, traced anew at each call, with one change."""
    return lambda *given: evaluated(traced(function, given), mutation, given)
