"""The traces of one op: each made once, on request, and remembered in the order of the requests.

Which traces an audit asks for follows from the op's declaration, from what a search of its source says, and from the
traces before: verdicts have a part in it only where every obligation is refuted, after which nothing more is asked, and
they follow from the traces. So where the declaration and the search are the same, and the traces that an audit asked
for come out the same when they are made again in that order, another audit would ask for these and for no other
(`cache` rests on this).
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
    """The key of a trace: the op's case by number, the family of shapes by its number in it, the dimensions set."""

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
        """The programs as text: equal texts are equal programs."""
        return "\n".join(f"{name}\n{self._writer.program(p)}" for name, p in self.programs.all().items())

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all that an audit reads of the trace.

        Of the decisions on dimensions those are in it that the audit examines. JAX's caches hide some of the others.
        """
        asked = [
            "a hash" if d.difference is None else d.difference.key
            for program in self.programs.all().values()
            for d in program.decisions
            if examined(d)
        ]
        return _digest(f"{self.instance}\n{self.shapes.dtypes}\n{self.text}\n{asked}")


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
        """What hears, in traces at numbers, what code asks for beside its arguments."""
        self.heard: dict[Spec, Any] = {}
        """What was heard in them."""
        self.differs_at: list[Mapping[str, int]] = []
        """Sizes at which something else was seen to happen than what is proved for sizes left open."""
        self.differs_anywhere = False
        """Something else than is proved was seen to happen, or may, and would at any sizes."""
        self.refused = ""
        """Why nothing is proved of the code, at any sizes and of none of its arguments."""
        self.of_looks: dict[Any, list[Any]] = {}
        """Programs at shapes that no proof needed, traced once for all looks at what is proved."""
        self.asked: dict[Spec, None] = {}
        """What the audit asked for, in order."""
        self.answers: list[Answers] = []
        """What its code was told in each trace."""
        self.wide = True
        """Whether traces are in float64 (else in float32) where nothing else is said."""

    def as_run(self) -> Traces:
        """The traces of what runs, where the proof reads approximations as what they approximate."""
        if not self.op.ideals:
            return self
        op = copy(self.op)
        op.ideals = ()
        return Traces(op)

    def narrow(self) -> Traces:
        """The same traces, in float32 where nothing else is said."""
        other = copy(self)
        other.wide = False
        return other

    def at(self, instance: Instance, fixed: Mapping[str, Size] | None = None, wide: bool | None = None) -> Trace:
        """The trace at an instance, with dimensions set. Raises TraceError or RuleError."""
        wide = self.wide if wide is None else wide
        spec = Spec(*self._places[id(instance)], tuple((n, str(v)) for n, v in (fixed or {}).items()), wide)
        self.asked.setdefault(spec)
        found = self.make(spec)
        if isinstance(found, CertgradError):
            raise found
        return found

    def programs_at(self, instance: Instance) -> list[Programs]:
        """The programs of all traces that were made at an instance."""
        return [t.programs for t in self._made.values() if isinstance(t, Trace) and t.instance is instance]

    def at_numbers(self, case: int, narrow: bool = False) -> Iterator[tuple[Trace, dict[str, int]]]:
        """The traces of a case that were made at concrete sizes, with the sizes of its dimensions.

        Python computes floats of sizes in users' code: in float32 these are coarse, so that only float64 counts there,
        if not `narrow`. So are the constants of an op that float32 rounds.
        """
        for spec, found in self._made.items():
            fixed = {n: parse_size(v).value for n, v in spec.fixed}
            if not (spec.wide or self.op.is_op or narrow):
                continue
            if spec.case == case and isinstance(found, Trace) and None not in fixed.values():
                if fixed.keys() >= set(found.instance.names) and (spec.wide or not _rounded(found)):
                    yield found, {n: v for n, v in fixed.items() if v is not None}

    def heard_at_numbers(self, instance: Instance) -> tuple[dict[str, int], Trace, Any] | None:
        """Return numbers above 1 at which an instance was traced in 64 bits, the trace, and what was heard in it."""
        place = self._places[id(instance)]
        for spec, heard in self.heard.items():
            found, sizes = self._made.get(spec), {n: int(v) for n, v in spec.fixed}
            if (spec.case, spec.instance) == place and isinstance(found, Trace) and min(sizes.values()) > 1:
                return sizes, found, heard
        return None

    def general(self) -> list[Any]:
        """The jaxprs at the general shapes of each case, where these trace."""
        made = (self.make(Spec(case, 0, (), self.wide)) for case in range(len(self.families)))
        return [p.jaxpr for one in made if isinstance(one, Trace) for p in one.programs.all().values()]

    def at_sizes(self, instance: Instance, sizes: Mapping[str, int]) -> Trace:
        """A trace at numbers that is made now, whether or not there was one. Raises TraceError or RuleError."""
        spec = Spec(*self._places[id(instance)], tuple((n, str(v)) for n, v in sizes.items()), wide=True)
        found = self._new(instance, spec)
        self._made.setdefault(spec, found)
        if isinstance(found, CertgradError):
            raise found
        return found

    def apart(self, instance: Instance, programs: Programs) -> Programs:
        """The programs as the second check traces them, by a call for each: once.

        A vjp or jvp that was traced together with its primal is that program already. Of the primal the trace of both
        keeps what its outputs need, and here it is all that the rule computes.
        """
        if (key := (id(instance), id(programs))) not in self._apart:
            self._apart[key] = programs, self._traced_apart(instance, programs)
        return self._apart[key][1]

    def _traced_apart(self, instance: Instance, programs: Programs) -> Programs:
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
        """Return another trace at an instance, or the error in its place: the first one, unless the rule is impure."""
        return self._new(instance, Spec(*self._places[id(instance)], (), self.wide if wide is None else wide))

    def fingerprint(self, spec: Spec) -> str:
        """A digest of the result of a trace, or of its error. Raises IndexError for a family that does not exist."""
        found = self.make(spec)
        return _digest(f"{type(found).__name__}: {found}") if isinstance(found, CertgradError) else found.fingerprint

    def make(self, spec: Spec) -> Trace | CertgradError:
        """The trace, or the error in its place, without counting as asked for."""
        found = self._made.get(spec)
        if found is None:
            found = self._made[spec] = self._new(self._instances[spec.case][spec.instance], spec, self.listening)
        return found

    def _new(
        self, instance: Instance, spec: Spec, listening: Callable[[], AbstractContextManager[Any]] = nullcontext
    ) -> Trace | CertgradError:
        try:
            shapes = instance.shapes({n: parse_size(v) for n, v in spec.fixed})
            rules = self.op.rules(shapes.statics)
            numbers = {n for n, v in spec.fixed if v.isdigit()}
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
    """Return whether a program has a constant with as many digits as its dtype has, which is another number in
    64 bits.
    """
    return any(map(long_constants, trace.programs.all().values()))
