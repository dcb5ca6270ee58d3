"""The traces of one op: each made once, on request, and remembered in the order of the requests.

Which traces an audit asks for follows from the op's declaration, from what a search of its source says, and from the
traces before. Verdicts matter only where every obligation is refuted, after which the audit asks for no more traces;
and verdicts follow from the traces. So where the declaration and the search are the same, and the traces that an audit
asked for come out the same when they are made again in that order, another audit would ask for the same traces and no
others (`cache` rests on this).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgspec

from certgrad._subject import Subject
from certgrad.errors import CertgradError
from certgrad.obligations.balls._jaxpr import long_constants
from certgrad.obligations.prove.problem import Programs, Shapes, trace_primal, trace_rules
from certgrad.obligations.tracing.jax_dimensions import Answers, sizes_as_integers
from certgrad.obligations.tracing.jax_internals import Serialiser
from certgrad.signatures.sizes import Size, parse_size

from .decisions import examined
from .instances import Family, Instance, family
from .reach import reachable, traced_anew


class Spec(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The key of a trace: the number of the op's case, the number of the family of shapes in it, the dimensions set.

    `wide`: whether the trace is in float64, else in float32.
    """

    case: int
    instance: int
    fixed: tuple[tuple[str, str], ...]
    wide: bool


@dataclass(frozen=True)
class Trace:
    """The programs of one op at one family of shapes."""

    instance: Instance
    shapes: Shapes
    programs: Programs
    _writer: Serialiser

    @cached_property
    def text(self) -> str:
        """Return the programs as text: equal texts are equal programs."""
        return "\n".join(f"{name}\n{self._writer.program(p)}" for name, p in self.programs.all().items())

    @cached_property
    def fingerprint(self) -> str:
        """Return a digest of all that an audit reads of the trace.

        Of the decisions on dimensions it has those that the audit examines; JAX's caches hide some of the others.
        """
        questions = [
            "a hash" if d.difference is None else d.difference.key
            for program in self.programs.all().values()
            for d in program.decisions
            if examined(d)
        ]
        return _digest(f"{self.instance}\n{self.shapes.dtypes}\n{self.text}\n{questions}")


class Traces:
    """Makes the traces of an op. An audit gets all its traces from here."""

    def __init__(self, op: Subject) -> None:
        """List the families of shapes of an op. Nothing is traced yet."""
        self.op = op
        self.families: list[Family] = [family(op, case) for case in op.cases]
        self._instances = [[*f.prove, *f.compare] for f in self.families]
        self._places = {id(i): (c, k) for c, row in enumerate(self._instances) for k, i in enumerate(row)}
        self._writer = Serialiser(str, erase=False)  # of all traces: JAX shares types and inner programs among them
        self._made: dict[Spec, Trace | CertgradError] = {}
        self._apart: dict[tuple[int, int], tuple[Programs, Programs]] = {}
        self.listening: Callable[[], AbstractContextManager[Any]] = nullcontext
        """Makes a context that records, in a trace at numbers, what code asks for beside its arguments."""
        self.heard: dict[Spec, Any] = {}
        """What such contexts recorded, by trace."""
        self.differs_at: list[Mapping[str, int]] = []
        """Sizes at which a run was seen to differ from the program that is proved for open sizes."""
        self.differs_anywhere = False
        """Whether a run was seen to differ from the proved program, or may, in a way that would happen at any sizes."""
        self.refused = ""
        """Why nothing is proved of the code, at any sizes and for any argument; "" if nothing prevents it."""
        self.of_looks: dict[Any, list[Any]] = {}
        """Programs at shapes that no proof needed, traced once for all evaluations after the proof."""
        self.asked: dict[Spec, None] = {}
        """The traces that the audit asked for, in order."""
        self.answers: list[Answers] = []
        """For each trace, what code was told by `isinstance` and the like."""
        self.wide = True
        """Whether traces are in float64 (else in float32) where a call does not say."""

    def as_run(self) -> Traces:
        """Return the traces of the program that runs: this object, unless the op has ideals.

        With ideals, the proof reads approximations in the program as the functions that they approximate.
        """
        if not self.op.ideals:
            return self
        op = copy(self.op)
        op.ideals = ()
        return Traces(op)

    def narrow(self) -> Traces:
        """Return a copy of this object with float32 as the default dtype. It shares the traces already made."""
        narrowed = copy(self)
        narrowed.wide = False
        return narrowed

    def at(self, instance: Instance, fixed: Mapping[str, Size] | None = None, wide: bool | None = None) -> Trace:
        """Return the trace at an instance, with the dimensions in `fixed` set, and note that the audit asked for it.

        Raises TraceError or RuleError where it does not trace.
        """
        wide = self.wide if wide is None else wide
        spec = Spec(*self._places[id(instance)], tuple((n, str(v)) for n, v in (fixed or {}).items()), wide)
        self.asked.setdefault(spec)
        trace = self.make(spec)
        if isinstance(trace, CertgradError):
            raise trace
        return trace

    def programs_at(self, instance: Instance) -> list[Programs]:
        """Return the programs of all traces that were made at an instance."""
        return [t.programs for t in self._made.values() if isinstance(t, Trace) and t.instance is instance]

    def at_numbers(self, case: int, narrow: bool = False) -> Iterator[tuple[Trace, dict[str, int]]]:
        """Yield the traces of a case that were made at concrete sizes, each with the sizes of its dimensions.

        Constants that a program computes from sizes are coarse in float32. So for users' code only float64 counts, if
        not `narrow`, and of an op those traces in float32 are left out that have a rounded constant.
        """
        for spec, trace in self._made.items():
            fixed = {n: parse_size(v).value for n, v in spec.fixed}
            if not (spec.wide or self.op.is_op or narrow):
                continue
            if spec.case == case and isinstance(trace, Trace) and None not in fixed.values():
                if fixed.keys() >= set(trace.instance.names) and (spec.wide or not _rounded(trace)):
                    yield trace, {n: v for n, v in fixed.items() if v is not None}

    def heard_at_numbers(self, instance: Instance) -> tuple[dict[str, int], Trace, Any] | None:
        """Return sizes above 1 at which an instance was traced in 64 bits, the trace, and what `listening` recorded.

        Return None if there is no such trace.
        """
        place = self._places[id(instance)]
        for spec, heard in self.heard.items():
            trace, sizes = self._made.get(spec), {n: int(v) for n, v in spec.fixed}
            if (spec.case, spec.instance) == place and isinstance(trace, Trace) and min(sizes.values()) > 1:
                return sizes, trace, heard
        return None

    def general(self) -> list[Any]:
        """Return the jaxprs at the general shapes of each case, where these trace."""
        traces = (self.make(Spec(case, 0, (), self.wide)) for case in range(len(self.families)))
        return [p.jaxpr for trace in traces if isinstance(trace, Trace) for p in trace.programs.all().values()]

    def at_sizes(self, instance: Instance, sizes: Mapping[str, int]) -> Trace:
        """Return a trace at numbers that is made now, whether or not there was one. Raises TraceError or RuleError."""
        spec = Spec(*self._places[id(instance)], tuple((n, str(v)) for n, v in sizes.items()), wide=True)
        trace = self._new(instance, spec)
        self._made.setdefault(spec, trace)
        if isinstance(trace, CertgradError):
            raise trace
        return trace

    def apart(self, instance: Instance, programs: Programs) -> Programs:
        """Return the programs as the second check traces them, each by a call of its own.

        Only the primal can differ: where it was traced together with a VJP or JVP, that trace keeps only what its
        outputs need, and here it is all that the rule computes. The result is kept.
        """
        if (key := (id(instance), id(programs))) not in self._apart:
            self._apart[key] = programs, self._traced_apart(instance, programs)
        return self._apart[key][1]

    def _traced_apart(self, instance: Instance, programs: Programs) -> Programs:
        """Return the programs with the whole primal, traced by a call of its own if it is not known."""
        shapes = instance.shapes()
        rules = self.op.rules(shapes.statics)
        if (rules.both is None and rules.pushed is None) or rules.primal is None:
            return programs
        outputs = programs.forward.jaxpr.outvars
        wide = not outputs or str(outputs[0].aval.dtype) == "float64"
        if programs.whole_primal is not None:
            return replace(programs, primal=programs.whole_primal)
        with sizes_as_integers(reachable(self.op)):
            alone = trace_primal(rules, shapes, len(self.op.params), f"'{self.op.name}'", wide)
        return replace(programs, primal=alone)

    def again(self, instance: Instance, wide: bool | None = None) -> Trace | CertgradError:
        """Return a new trace at an instance, or the error in its place; equal to the first, if the rule is pure."""
        return self._new(instance, Spec(*self._places[id(instance)], (), self.wide if wide is None else wide))

    def fingerprint(self, spec: Spec) -> str:
        """Return a digest of a trace, or of the error in its place. Raises IndexError where there is no such family."""
        trace = self.make(spec)
        return _digest(f"{type(trace).__name__}: {trace}") if isinstance(trace, CertgradError) else trace.fingerprint

    def make(self, spec: Spec) -> Trace | CertgradError:
        """Return the trace, or the error in its place, made once; the audit does not count as having asked for it."""
        trace = self._made.get(spec)
        if trace is None:
            trace = self._made[spec] = self._new(self._instances[spec.case][spec.instance], spec, self.listening)
        return trace

    def _new(
        self, instance: Instance, spec: Spec, listening: Callable[[], AbstractContextManager[Any]] = nullcontext
    ) -> Trace | CertgradError:
        """Return the trace of an instance as `spec` says, or the error in its place; note what was heard and told."""
        try:
            shapes = instance.shapes({n: parse_size(v) for n, v in spec.fixed})
            rules = self.op.rules(shapes.statics)
            numbers = {n for n, v in spec.fixed if v.isdigit()}
            # Only traces at numbers in 64 bits are compared with runs, so that only these are listened to.
            if not (spec.wide and numbers and numbers >= {*instance.names}):
                listening = nullcontext
            with traced_anew(self.op), sizes_as_integers(reachable(self.op)) as answers, listening() as heard:
                self.answers.append(answers)
                programs = trace_rules(
                    rules, shapes, len(self.op.params), f"'{self.op.name}'", spec.wide, together=True
                )
            if heard is not None:
                self.heard[spec] = heard
        except CertgradError as error:
            return error
        return Trace(instance, shapes, programs, self._writer)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=20).hexdigest()


def _rounded(trace: Trace) -> bool:
    """Return whether a program has a constant with all the digits of its dtype, which in 64 bits is another number."""
    return any(map(long_constants, trace.programs.all().values()))
