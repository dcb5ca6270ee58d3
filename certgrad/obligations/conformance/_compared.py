"""A rule as conformance compares it: the programs of its audit's traces, new traces, calls, and points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from certgrad.signatures.sizes import integer_size

from ..balls._draw import seeded
from ..floats import Setting
from ..generality.decisions import Fixed, contrary
from ..generality.instances import Instance
from ..generality.reach import is_users, reachable, reachable_from, rules_in, traced_anew, users_files
from ..generality.traces import Traces
from ..points import arguments, directions
from ..prove.problem import trace_rules
from ..tracing.jax_dimensions import as_handed_on, sizes_as_integers
from ..tracing.jax_internals import Program, equations_of, part_of, sampler

Sizes = Mapping[str, int]
Programs = Mapping[str, Program]
"""Programs by name: `forward`, `primal` and `reference` take the arguments, `jvp` also tangents, `vjp` also seeds."""
Called = Mapping[str, Callable[..., Any]]
"""Callables by the names of programs, or by those of `BY_ONE_CALL`, which return what several programs do."""


@dataclass(frozen=True)
class Point:
    """The inputs of a rule's programs: arguments, tangents of the active ones, seeds, and open parameters."""

    args: list[np.ndarray]
    tangents: list[np.ndarray]
    seeds: list[np.ndarray]
    scalars: list[np.ndarray]

    def of(self, program: str) -> list[np.ndarray]:
        """Return the operands of the program with this name."""
        directions_taken = {"jvp": self.tangents, "vjp": self.seeds}.get(program, [])
        return [*self.args, *directions_taken, *self.scalars]

    def rounded(self, dtype: Any) -> Point:
        """Return the point with floats rounded to this dtype."""

        def cast(arrays: list[np.ndarray]) -> list[np.ndarray]:
            return [x.astype(dtype) if x.dtype == np.float64 else x for x in arrays]

        return Point(*map(cast, (self.args, self.tangents, self.seeds, self.scalars)))


def sized(names: Sequence[str], sizes: Mapping[str, int]) -> str:
    """Return sizes in words: `n = 4`, `(n, d) = (4, 3)`."""
    if len(names) == 1:
        return f"{names[0]} = {sizes[names[0]]}"
    return f"({', '.join(names)}) = ({', '.join(str(sizes[n]) for n in names)})"


BY_ONE_CALL = {"both": ("primal", "vjp"), "pushed": ("primal", "jvp")}
"""For each callable that returns what several programs do, the names of these programs."""


class Compared:
    """One family of shapes of a rule, with the traces that its proofs are about: in 64 bits, in 32 bits, or in both."""

    def __init__(self, traces: Sequence[Traces], instance: Instance) -> None:
        self.traces = {t.wide: t for t in traces}
        self.op = traces[0].op
        self.instance = instance
        self.title = self.op.name
        self.names = instance.names
        self._programs: dict[Traces, Programs] = {}
        programs = [p.jaxpr for p in self.programs("float64").values()]
        self.draws = self.narrow = any(sampler(eqn) for jaxpr in programs for eqn in equations_of(jaxpr))
        """Whether it draws random numbers. They are others in each dtype and while JAX computes in 64 bits, so that
        narrow dtypes are not compared in that setting."""
        self.batches = "custom_vmap_call" in {e.primitive.name for p in programs for e in equations_of(p)}
        """Whether it has rules of its own for `vmap`."""
        rules = [rule for jaxpr in programs for rule in rules_in(jaxpr)]
        self.roots = [*rules, *self.op.code]
        self.functions = list(filter(is_users, reachable_from(self.roots)))
        self.files = users_files(self.functions)
        self._points: dict[str, Point | None] = {}
        self.unseen: dict[str, None] = {}
        """In words, what could not be compared, such as programs that could not be evaluated (keys in order)."""

    def programs(self, dtype: str) -> Programs:
        """Return the programs of the traces in the width of a dtype, or of the only traces."""
        traces = self._of(dtype)
        if traces not in self._programs:
            programs = traces.at(self.instance).programs.all()
            if (primal := programs.get("primal")) is not None:  # it may be part of one trace with the vjp
                jaxpr = primal.jaxpr
                programs["primal"] = part_of(primal, range(len(jaxpr.invars)), range(len(jaxpr.outvars)))
            self._programs[traces] = programs
        return self._programs[traces]

    @property
    def questioned(self) -> list[Fixed]:
        """For each question of its code about sizes, sizes at which the answer is another than with sizes left open."""
        programs = [t.at(self.instance).programs for t in self.traces.values()]
        return [case for p in programs for case in contrary(p, {}) if not isinstance(case, str)]

    def _of(self, dtype: str) -> Traces:
        """Return the traces in the width of a dtype, or the only traces."""
        return self.traces.get(dtype == "float64", next(iter(self.traces.values())))

    def at(
        self, sizes: Sizes, dtype: str, wide: bool = False, alone: int | None = None, handed_on: bool = False
    ) -> Programs:
        """Return the programs traced at these sizes in a dtype. Raises TraceError or RuleError.

        If `wide`, JAX computes in 64 bits meanwhile. If `alone` is given, only the float array with this number has the
        dtype, and the others have 64 bits. If `handed_on`, code that asks for the type of an array finds a number of
        Python or an array of numpy, as in a call outside of any trace.
        """
        if dtype == "float64" and alone is None and not handed_on:
            return self._of(dtype).at_sizes(self.instance, sizes).programs.all()
        shapes = self.instance.shapes({n: integer_size(v) for n, v in sizes.items()})
        if alone is not None:
            exact = [*(shapes.exact or [""] * len(shapes.dtypes))]
            exact[shapes.floats[alone]], dtype = dtype, "float64"
            shapes = replace(shapes, exact=tuple(exact))
        rules = self.op.rules(shapes.statics)
        wide = wide or dtype == "float64"
        other_types = as_handed_on() if handed_on else nullcontext()
        with traced_anew(self.op), other_types, sizes_as_integers(reachable(self.op)):
            return trace_rules(rules, shapes, len(self.op.params), f"'{self.title}'", wide, np.dtype(dtype), True).all()

    def heard(self) -> tuple[Sizes, Programs, Any] | None:
        """Return numbers at which it was traced for its proof, the programs there, and what its code asked then.

        None if there was no such trace, or if it did not listen to all files of the code.
        """
        traces = self._of("float64")
        trace_at_numbers = (
            traces.heard_at_numbers(self.instance) if self.files <= users_files(reachable(self.op)) else None
        )
        return (
            None
            if trace_at_numbers is None
            else (trace_at_numbers[0], trace_at_numbers[1].programs.all(), trace_at_numbers[2])
        )

    @property
    def asks_for_types(self) -> bool:
        """Whether its code asked in a trace for the type of an argument, which may be another one in a call."""
        return any(answers.handed_on for traces in self.traces.values() for answers in traces.answers)

    @property
    def integers(self) -> bool:
        """Whether an argument holds integers."""
        return "int" in self.instance.dtypes

    @property
    def several_floats(self) -> bool:
        """Whether several arguments hold floats whose dtype is left open."""
        exact = self.instance.exact or ("",) * len(self.instance.dtypes)
        return sum(d == "float" and not e for d, e in zip(self.instance.dtypes, exact, strict=True)) > 1

    def point(self, sizes: Sizes, number: int) -> Point | None:
        """Return a point of the domain, the same one in every run; None where none is found."""
        key = f"{sorted(sizes.items())} {number}"
        if key not in self._points:
            self._points[key] = self._drawn(sizes, key)
        return self._points[key]

    def _drawn(self, sizes: Sizes, key: str) -> Point | None:
        """Return a point of the domain, drawn with `key` as the seed; None where none is found."""
        rng = seeded(self.title, "conformance", str(self.instance.inputs), key)
        shapes = self.instance.shapes({n: integer_size(v) for n, v in sizes.items()})
        values = arguments(self.op, self.instance, shapes, rng)
        if values is None:
            return None
        count = len(self.op.arg_names)
        outs = self._outputs(sizes)
        tangents = directions([shapes.inputs[k] for k in shapes.floats], rng)
        return Point(values[:count], tangents, directions(outs, rng), values[count:])

    def _outputs(self, sizes: Sizes) -> list[tuple[int, ...]]:
        """Return the shapes of the outputs at these sizes."""
        setting = Setting(sizes)
        outvars = self.programs("float64")["forward"].jaxpr.outvars
        return [tuple(setting.size(d) for d in v.aval.shape) for v in outvars]

    def callables(self, sizes: Sizes) -> Called:
        """Return the function and its rules as they run, by name, to be called with lists of arrays and the parameters.

        Parameters are passed as Python's numbers. A program that one call of `BY_ONE_CALL` gives has no callable.
        """
        statics = self.instance.keywords(dict(sizes))
        op_without_params = copy(self.op)
        names = list(op_without_params.params)
        op_without_params.params = {}

        def callable_for(name: str) -> Callable[..., Any]:
            def call(*groups: Any) -> Any:
                *arrays, scalars = groups
                rules = op_without_params.rules({**statics, **dict(zip(names, scalars, strict=True))})
                return getattr(rules, name)(*map(list, arrays), [])

            return call

        present = op_without_params.rules(statics)
        kinds = ["forward", "jvp", "vjp", "primal", "reference", *BY_ONE_CALL]
        kinds = [name for name in kinds if getattr(present, name) is not None]
        given_by_one_call = {part for name in kinds for part in BY_ONE_CALL.get(name, ())}
        return {name: callable_for(name) for name in kinds if name not in given_by_one_call}
