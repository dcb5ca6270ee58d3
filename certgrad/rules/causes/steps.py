"""A program as a list of steps, which can be run in any arithmetic and with some steps replaced."""

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
"""Names a value: ("in", 0) is the first input, ("mul", place, 2, 0) the first output of the third product that one
place in the source makes. At other sizes JAX may make fewer steps; as they are counted by place, the keys of the others
stay the same."""
_ENTRIES = dict.fromkeys(READS_PLACES, "gather")
"""The name in keys of the primitives by which JAX reads entries, of which it chooses others where sizes are numbers."""
Value = Any
Apply = Callable[[Any, list[Value]], list[Value]]
"""Returns the outputs of an equation for the values of its operands."""


@dataclass(frozen=True)
class Operand:
    """An operand of a step: a value by its key, or a `literal` if the key is None."""

    key: Key | None
    literal: Any = None


@dataclass(frozen=True)
class Step:
    """An equation of a program, with its operands and the keys of its outputs."""

    eqn: Any
    operands: tuple[Operand, ...]
    outs: tuple[Key, ...]
    placed: Any
    """The equation whose place in the source counts as this step's: the outermost call of a library's function around
    the step, or the step's own. JAX traces a library's function once, so that its equations have the place of the
    first call."""

    @property
    def key(self) -> Key:
        """The step's key: its primitive, its place in the source, and its number among the steps of both."""
        return self.outs[0][:-1]


@dataclass(frozen=True)
class Steps:
    """A program as steps in order, with the programs that it calls inlined.

    A loop is one step, and so is a call of a function with a JVP rule of its own.
    """

    steps: tuple[Step, ...]
    consts: Mapping[Key, Value]
    results: tuple[Operand, ...]
    """What the program returns."""

    @classmethod
    def of(cls, program: Any, consts: Sequence[Any]) -> Steps:
        """Return the steps of a jaxpr with the programs that it calls inlined.

        Each output of an equation gets its key at once; an equation that calls a program makes no step, and its outputs
        get the keys of that program's results.
        """
        steps: list[Step] = []
        values: dict[Key, Value] = {}
        counts: Counter[Key] = Counter()

        def inline(jaxpr: Any, consts: Sequence[Any], operands: Sequence[Operand], call: Any) -> list[Operand]:
            """Append the steps of a program, those of called programs at their calls, and return its outputs.

            `call` is the user's call of a library's function inside of which the program runs; None outside of such.
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
                    is_users = not from_library(str(getattr(info, "func_filename", "")))
                    outs = inline(inner.jaxpr, inner.consts, inputs, None if is_users and call is None else placed)
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
        """Return the keys of all values that a step depends on, its own operands first."""
        keys = {o.key: None for o in step.operands if o.key is not None}
        for earlier in reversed(self.steps):
            if keys.keys() & {*earlier.outs}:
                keys |= {o.key: None for o in earlier.operands if o.key is not None}
        return list(keys)

    def step(self, key: Key) -> Step:
        """Return the step with a key. The key may be from another trace of the same code, at other sizes."""
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
    """A program with the values of its steps at some inputs.

    The arithmetic is that of `apply` (an equation's outputs), of `literal` (a literal's value), and of `xp`, a module
    with numpy's functions.
    """

    program: Steps
    inputs: Sequence[Value]
    apply: Apply
    literal: Callable[[Any], Value]
    xp: Any
    statics: Mapping[str, float] = field(default_factory=dict)
    """The real numbers among the rule's static arguments, by name."""
    acts: Mapping[Key, Act] = field(default_factory=dict)
    """The acts that replace some steps, by the keys of these."""
    values: dict[Key, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.values |= {("in", k): x for k, x in enumerate(self.inputs)}
        self.values |= self.program.consts

    def read(self, operand: Operand) -> Value:
        """Return the value of an operand."""
        return self.literal(operand.literal) if operand.key is None else self.values[operand.key]

    def operands(self, step: Step) -> list[Value]:
        """Return the values of a step's operands."""
        return [self.read(o) for o in step.operands]

    def own(self, step: Step) -> Value:
        """Return the first output of a step, computed from its operands without any act."""
        return self.apply(step.eqn, self.operands(step))[0]

    def all(self) -> list[Value]:
        """Compute the values of all steps, and return the program's results."""
        for step in self.program.steps:
            self.values.update(zip(step.outs, self._outs(step, self), strict=True))
        return [self.read(o) for o in self.program.results]

    def _outs(self, step: Step, at: Run) -> list[Value]:
        act = self.acts.get(step.key)
        return [act(at, step)] if act is not None else self.apply(step.eqn, at.operands(step))

    def with_value(self, step: Step, value: Value) -> list[Value]:
        """Return the program's results if a step gives another value."""
        return self.recomputed({step.outs[0]: value}, self.program.results)

    def recomputed(self, over: Mapping[Key, Value], wanted: Sequence[Operand]) -> list[Value]:
        """Return the values of the operands `wanted` if some values are replaced by those in `over`.

        Only the steps that depend on a replaced value are computed again.
        """
        rerun, changed_keys = copy(self), set(over)
        rerun.values = {**self.values, **over}
        for step in self.program.steps:
            if step.outs[0] in self.values and any(o.key in changed_keys for o in step.operands):
                rerun.values.update(zip(step.outs, self._outs(step, rerun), strict=True))
                changed_keys.update(step.outs)
        return [rerun.read(o) for o in wanted]

    def before(self, step: Step) -> Iterator[tuple[Key, Value]]:
        """Yield the values that are computed before a step, inputs and constants among them, each with its key."""
        for key, value in self.values.items():
            if key == step.outs[0]:
                return
            yield key, value


@dataclass(frozen=True)
class ValueRef:
    """A value that is computed before a step.

    If it has only some of the axes of the step's value, `axes` says which, and `rank` is the number of all of these.
    """

    key: Key
    axes: tuple[int, ...] | None = None
    rank: int = 0

    def value(self, run: Run) -> Value:
        """Return the value in a run, with axes of length 1 for those that it lacks."""
        value = run.values[self.key]
        if self.axes is None:
            return value
        return value[tuple(slice(None) if k in self.axes else None for k in range(self.rank))]


Act = Callable[[Run, Step], Value]
"""Returns the value that replaces a step's, from a run in numpy's arrays or in traced ones, and the step."""


@dataclass(frozen=True)
class Change:
    """Acts that replace one or several steps, by their keys, with the text that says so."""

    text: str
    acts: Mapping[Key, Act]


def changed(
    function: Callable[..., list], acts: Mapping[Key, Act], statics: Mapping[str, float]
) -> Callable[..., list]:
    """Return a function that runs `function` with the steps of these keys replaced by their acts.

    It traces `function` at each call. `statics` are the rule's real numbers by name, which an act may use.
    """

    def typed(act: Act) -> Act:
        return lambda r, s: _typed(act(r, s), s)

    def run(*arrays: Value) -> list[Value]:
        closed = jax.make_jaxpr(function)(*arrays)
        program = Steps.of(jaxpr_of(closed), closed.consts)
        typed_acts = {key: typed(act) for key, act in acts.items()}
        return Run(program, arrays, _bound, lambda v: v.val, jnp, statics, typed_acts).all()

    return run


def _bound(eqn: Any, operands: list[Value]) -> list[Value]:
    outs = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(eqn.params))
    return list(outs) if eqn.primitive.multiple_results else [outs]


def _typed(value: Value, step: Step) -> Value:
    return jnp.asarray(value, step.eqn.outvars[0].aval.dtype)
