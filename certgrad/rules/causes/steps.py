"""A program as a list of steps, which can be run by any arithmetic and with one step done otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from certgrad.jaxpr.kinds import READS_PLACES
from certgrad.obligations.tracing.jax_internals import from_library, inner_program, is_literal, jaxpr_of

from .words import place_in_users_code

Key = tuple[Any, ...]
"""A value: ("in", 0) is an input, ("mul", place, 2, 0) the first output of the third product that a place in the source
makes. At other sizes JAX may make fewer steps; those of a place are told apart there as well."""
_ENTRIES = dict.fromkeys(READS_PLACES, "gather")
"""What JAX reads entries by, where sizes are numbers and where they are not."""
Value = Any
Apply = Callable[[Any, list[Value]], list[Value]]
"""What an equation gives for its operands."""


@dataclass(frozen=True)
class Operand:
    """A value by its key, or a literal."""

    key: Key | None
    literal: Any = None


@dataclass(frozen=True)
class Step:
    """An equation with its operands and the keys of its results."""

    eqn: Any
    operands: tuple[Operand, ...]
    outs: tuple[Key, ...]
    placed: Any
    """The equation whose place in the source is this step's: a call of a library around it, if there is one. What that
    computes has the place of whatever called it first."""

    @property
    def key(self) -> Key:
        """The step's key: its primitive, its place, and its number among those."""
        return self.outs[0][:-1]


@dataclass(frozen=True)
class Steps:
    """A program, called programs in line. A function with a rule in forward mode is one step, as are loops."""

    steps: tuple[Step, ...]
    consts: Mapping[Key, Value]
    results: tuple[Operand, ...]

    @classmethod
    def of(cls, program: Any, consts: Sequence[Any]) -> Steps:
        """Return the steps of a jaxpr with the programs that it calls inlined."""
        steps: list[Step] = []
        values: dict[Key, Value] = {}
        counts: Counter[Key] = Counter()

        def inline(jaxpr: Any, consts: Sequence[Any], operands: Sequence[Operand], call: Any) -> list[Operand]:
            """Add the steps of a program, with those of the programs that it calls in their place; return its outputs.

            Steps inside of a library's function get the place of its `call` in the user's code, None outside of those.
            """
            refs = dict(zip(jaxpr.invars, operands, strict=True))
            for v, c in zip(jaxpr.constvars, consts, strict=True):
                refs[v] = Operand(("const", len(values)))
                values["const", len(values)] = c

            def ref(v: Any) -> Operand:
                return Operand(None, v) if is_literal(v) else refs[v]

            for eqn in jaxpr.eqns:
                name, inputs = eqn.primitive.name, [ref(v) for v in eqn.invars]
                inner = inner_program(eqn) if name not in ("custom_jvp_call", "custom_lin") else None
                placed = eqn if call is None else call
                if inner is not None:
                    info = getattr(inner.jaxpr, "debug_info", None)
                    own = not from_library(str(getattr(info, "func_filename", "")))
                    outs = inline(inner.jaxpr, inner.consts, inputs, None if own and call is None else placed)
                else:
                    kind_and_place = _ENTRIES.get(name, name), place_in_users_code(placed)
                    keys = tuple((*kind_and_place, counts[kind_and_place], j) for j in range(len(eqn.outvars)))
                    counts[kind_and_place] += 1
                    outs = [*map(Operand, keys)]
                    steps.append(Step(eqn, tuple(inputs), keys, placed))
                refs.update(zip(eqn.outvars, outs, strict=True))
            return [ref(v) for v in jaxpr.outvars]

        results = inline(program, consts, [Operand(("in", k)) for k in range(len(program.invars))], None)
        return cls(tuple(steps), values, tuple(results))

    def behind(self, step: Step) -> list[Key]:
        """Return the values that a step depends on, the latest first."""
        found = {o.key: None for o in step.operands if o.key is not None}
        for other in reversed(self.steps):
            if found.keys() & {*other.outs}:
                found |= {o.key: None for o in other.operands if o.key is not None}
        return list(found)

    def step(self, key: Key) -> Step:
        """Return the step with a key, which in another trace of the same code has other literals and sizes."""
        return next(s for s in self.steps if s.key == key)

    def live(self) -> list[Step]:
        """Return the steps that the results depend on."""
        needed = {o.key for o in self.results}
        out = []
        for step in reversed(self.steps):
            if needed.intersection(step.outs):
                needed.update(o.key for o in step.operands)
                out.append(step)
        return out[::-1]


@dataclass
class Run:
    """The values of a program's steps at its inputs, in some arithmetic; `xp` has its functions, by numpy's names."""

    program: Steps
    inputs: Sequence[Value]
    apply: Apply
    literal: Callable[[Any], Value]
    xp: Any
    statics: Mapping[str, float] = field(default_factory=dict)
    """Real numbers that the program is given, by name."""
    acts: Mapping[Key, Act] = field(default_factory=dict)
    """What some steps give instead."""
    values: dict[Key, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.values |= {("in", k): x for k, x in enumerate(self.inputs)}
        self.values |= self.program.consts

    def read(self, operand: Operand) -> Value:
        """Return the value of an operand."""
        return self.literal(operand.literal) if operand.key is None else self.values[operand.key]

    def operands(self, step: Step) -> list[Value]:
        """Return a step's operands."""
        return [self.read(o) for o in step.operands]

    def own(self, step: Step) -> Value:
        """Return a step's value from its operands; it may not have been computed yet."""
        return self.apply(step.eqn, self.operands(step))[0]

    def all(self) -> list[Value]:
        """Return the program's results."""
        for step in self.program.steps:
            self.values.update(zip(step.outs, self._outs(step, self), strict=True))
        return [self.read(o) for o in self.program.results]

    def _outs(self, step: Step, at: Run) -> list[Value]:
        act = self.acts.get(step.key)
        return [act(at, step)] if act is not None else self.apply(step.eqn, at.operands(step))

    def with_value(self, step: Step, value: Value) -> list[Value]:
        """Return the program's results with another value of a step."""
        return self.recomputed({step.outs[0]: value}, self.program.results)

    def recomputed(self, over: Mapping[Key, Value], wanted: Sequence[Operand]) -> list[Value]:
        """Return the values of operands if some steps have other values: what depends on these is computed again."""
        there, moved = copy(self), set(over)
        there.values = {**self.values, **over}
        for step in self.program.steps:
            if step.outs[0] in self.values and any(o.key in moved for o in step.operands):
                there.values.update(zip(step.outs, self._outs(step, there), strict=True))
                moved.update(step.outs)
        return [there.read(o) for o in wanted]

    def before(self, step: Step) -> Iterator[tuple[Key, Value]]:
        """Yield the values that are known at a step, each with its key."""
        for key, value in self.values.items():
            if key == step.outs[0]:
                return
            yield key, value


@dataclass(frozen=True)
class ValueRef:
    """A known value at a step, by its key; `rank` is that of the step where the value has only some of its axes."""

    key: Key
    axes: tuple[int, ...] | None = None
    rank: int = 0

    def value(self, run: Run) -> Value:
        value = run.values[self.key]
        if self.axes is None:
            return value
        return value[tuple(slice(None) if k in self.axes else None for k in range(self.rank))]


Act = Callable[[Run, Step], Value]
"""What a step gives instead, of numpy's arrays as of traced ones."""


@dataclass(frozen=True)
class Change:
    """A step done otherwise, or several, in words."""

    text: str
    acts: Mapping[Key, Act]


def changed(
    function: Callable[..., list], acts: Mapping[Key, Act], statics: Mapping[str, float]
) -> Callable[..., list]:
    """Return a function of arrays that are traced, with some of its steps done otherwise.

    `statics` are the real numbers of the rule by name, which such a step may use.
    """

    def typed(act: Act) -> Act:
        return lambda r, s: _typed(act(r, s), s)

    def run(*arrays: Value) -> list[Value]:
        closed = jax.make_jaxpr(function)(*arrays)
        program = Steps.of(jaxpr_of(closed), closed.consts)
        made = {key: typed(act) for key, act in acts.items()}
        return Run(program, arrays, _bound, lambda v: v.val, jnp, statics, made).all()

    return run


def _bound(eqn: Any, operands: list[Value]) -> list[Value]:
    found = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(eqn.params))
    return list(found) if eqn.primitive.multiple_results else [found]


def _typed(value: Value, step: Step) -> Value:
    return jnp.asarray(value, step.eqn.outvars[0].aval.dtype)
