"""A rule as the comparisons see it: from the traces of its audit."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from certgrad._subject import Subject
from certgrad.errors import CertgradError
from certgrad.obligations.balls.statements import inside, told

from ..balls import Input
from ..balls._draw import seeded
from ..generality.decisions import of_broadcasts
from ..generality.instances import Instance
from ..generality.reach import is_users, reachable_from, rules_in
from ..generality.traces import Traces
from ..prove.problem import Programs as Traced
from ..prove.problem import Shapes, trace_rules
from ..tracing.jax_dimensions import sizes_as_integers
from ..tracing.jax_internals import equations_of, keys_from, part_of, sampler
from ._points import Point, directions, drawn
from ._precision import Called, Programs, Sizes
from ._values import Setting


def arguments(op: Subject, instance: Instance, shapes: Shapes, rng: random.Random) -> list[np.ndarray] | None:
    """A point of the domain: arrays, floats in 64 bits, then numbers that are left open; None where none was found."""
    inputs = [
        Input(
            name,
            dims,
            {"held": "float", "key": "int"}.get(dtype, dtype),  # type: ignore[arg-type]
            told=told(op.domain, (*op.arg_names, *op.params), name) if dtype == "int" else (),
        )
        for name, dims, dtype in zip(op.arg_names, instance.inputs, instance.dtypes, strict=True)
    ] + [Input(p) for p in op.params]
    conditions = (*op.domain, *(c for c in op.params.values() if c))
    values = drawn(inputs, [*shapes.inputs, *[()] * len(op.params)], partial(inside, conditions), rng)
    if values is None:
        return None
    whole = [np.dtype(e) if e and d == "int" else None for e, d in zip(shapes.exact, shapes.dtypes, strict=False)]
    values[: len(whole)] = [x if t is None else x.astype(t) for x, t in zip(values, whole, strict=False)]
    count = len(op.arg_names)
    values[:count] = [keys_from(x) if d == "key" else x for x, d in zip(values[:count], shapes.dtypes, strict=True)]
    return values


class Compared:
    """One family of shapes of a rule, with the traces that its proofs are about: in 64 bits, in 32, or in both."""

    def __init__(self, traces: Sequence[Traces], instance: Instance) -> None:
        self.traces = {t.wide: t for t in traces}
        self.op = traces[0].op
        self.instance = instance
        self.title = self.op.name
        self.names = instance.names
        self._programs: dict[Traces, Programs] = {}
        programs = [p.jaxpr for p in self.programs("float64").values()]
        self.draws = any(sampler(eqn) for jaxpr in programs for eqn in equations_of(jaxpr))
        """It draws random numbers: others in each dtype, and others while JAX computes in 64 bits."""
        self.batches = any(
            eqn.primitive.name == "custom_vmap_call" for jaxpr in programs for eqn in equations_of(jaxpr)
        )
        """It has rules of its own for `vmap`."""
        rules = [rule for jaxpr in programs for rule in rules_in(jaxpr)]
        self.roots = [*rules, *self.op.code]
        self.functions = list(filter(is_users, reachable_from(self.roots)))
        self.files = frozenset(f.__code__.co_filename for f in self.functions)
        self._points: dict[str, Point | None] = {}
        self.in_threads: set[str] = set()
        """Where its code ran in another thread than the one that traces and calls it."""
        self.plainly = False
        """It was called with numbers of Python's and arrays of numpy's."""
        self.mapped = False
        """It was called under `vmap`."""
        self.unseen: dict[str, None] = {}
        """Programs that could not be evaluated, so that nothing was seen of them."""

    def programs(self, dtype: str) -> Programs:
        """Of the traces of a dtype's width, or of the only ones."""
        traces = self._of(dtype)
        if traces not in self._programs:
            programs = self.general(dtype).all()
            if (primal := programs.get("primal")) is not None:  # as a part of one trace with the vjp is
                jaxpr = primal.jaxpr
                programs["primal"] = part_of(primal, range(len(jaxpr.invars)), range(len(jaxpr.outvars)))
            self._programs[traces] = programs
        return self._programs[traces]

    def general(self, dtype: str) -> Traced:
        """The traces of a dtype's width, or the only ones, with what was asked about dimensions."""
        return self._of(dtype).at(self.instance).programs

    @property
    def in_broadcasts(self) -> list[tuple[str, str]]:
        """What any of its traces asked there: a size, and the other one, or 1, that it may be."""
        return of_broadcasts(programs for t in self.traces.values() for programs in t.made(self.instance))

    def left_open(self, fixed: Mapping[str, str], dtype: str, wide: bool = False) -> Traced | None:
        """Traced with sizes left open but for some, and if `wide` while JAX computes in 64 bits; None if it is not."""
        try:
            shapes = self.instance.shapes(fixed)
            wide = wide or dtype == "float64"
            with sizes_as_integers(reachable_from(self.roots)):
                rules = self.op.rules(shapes.statics)
                count, where = len(self.op.params), f"'{self.title}'"
                return trace_rules(rules, shapes, count, where, wide, np.dtype(dtype), together=True)
        except CertgradError:
            return None

    def _of(self, dtype: str) -> Traces:
        return self.traces.get(dtype == "float64", next(iter(self.traces.values())))

    def at(self, sizes: Sizes, dtype: str, wide: bool = False, alone: int | None = None) -> Programs:
        """Traced at numbers, and if `wide` while JAX computes in 64 bits; or with this array `alone` of the dtype, by
        its place among the arrays of floats, and the others of 64 bits. Raises TraceError or RuleError."""
        shapes = self.instance.shapes({n: str(v) for n, v in sizes.items()})
        if alone is not None:
            exact = [*(shapes.exact or [""] * len(shapes.dtypes))]
            exact[shapes.floats[alone]], dtype = dtype, "float64"
            shapes = replace(shapes, exact=tuple(exact))
        rules = self.op.rules(shapes.statics)
        wide = wide or dtype == "float64"
        return trace_rules(rules, shapes, len(self.op.params), f"'{self.title}'", wide, np.dtype(dtype), True).all()

    def anew(self, dtype: str) -> bool:
        """Trace it once more at sizes left open, as for a proof; whether it is the same. Raises TraceError or
        RuleError."""
        traces, wide = self._of(dtype), dtype == "float64"
        found = traces.again(self.instance, wide=wide)
        if isinstance(found, CertgradError):
            raise found
        return found.text == traces.at(self.instance, wide=wide).text

    @property
    def integers(self) -> bool:
        """Whether an argument is of integers."""
        return "int" in self.instance.dtypes

    @property
    def several_floats(self) -> bool:
        """Whether several arguments are of floats whose dtype is left open."""
        exact = self.instance.exact or ("",) * len(self.instance.dtypes)
        return sum(d == "float" and not e for d, e in zip(self.instance.dtypes, exact, strict=True)) > 1

    def point(self, sizes: Sizes, number: int) -> Point | None:
        """A point of the domain, the same in every run."""
        key = f"{sorted(sizes.items())} {number}"
        if key not in self._points:
            self._points[key] = self._drawn(sizes, key)
        return self._points[key]

    def _drawn(self, sizes: Sizes, key: str) -> Point | None:
        rng = seeded(self.title, "conformance", str(self.instance.inputs), key)
        shapes = self.instance.shapes({n: str(v) for n, v in sizes.items()})
        values = arguments(self.op, self.instance, shapes, rng)
        if values is None:
            return None
        count = len(self.op.arg_names)
        outs = self._outputs(sizes)
        tangents = directions([shapes.inputs[k] for k in shapes.floats], rng)
        return Point(values[:count], tangents, directions(outs, rng), values[count:])

    def _outputs(self, sizes: Sizes) -> list[tuple[int, ...]]:
        """The shapes of the outputs at these sizes."""
        setting = Setting(sizes)
        outvars = self.programs("float64")["forward"].jaxpr.outvars
        return [tuple(setting.size(d) for d in v.aval.shape) for v in outvars]

    def callables(self, sizes: Sizes, under_jit: bool = False) -> Called:
        """The function and its rules as they run, numbers left open given as Python's own."""
        statics = self.instance.keywords(dict(sizes))
        own = copy(self.op)
        own.under_jit = under_jit
        names = list(own.params)
        own.params = {}

        def of(name: str) -> Callable[..., Any]:
            def call(*groups: Any) -> Any:
                *arrays, scalars = groups
                rules = own.rules({**statics, **dict(zip(names, scalars, strict=True))})
                return getattr(rules, name)(*(None if a is None else list(a) for a in arrays), [])

            return call

        present = own.rules(statics)
        kinds = ["forward", "jvp", "vjp", "primal", "reference", "both"]
        kinds = [name for name in kinds if getattr(present, name) is not None]
        if "both" in kinds:
            kinds = [name for name in kinds if name not in ("primal", "vjp")]
        return {name: of(name) for name in kinds}
