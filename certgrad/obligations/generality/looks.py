"""All traces of one case that a proof has to cover, and that `verify` has to find again.

These are the traces at the general shapes, at sizes that contradict a decision of tracing (`n == 1` was answered with
False), and at each rank at which the program is another one. Which they are follows from the subject's declaration and
code alone, and from no verdict.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from certgrad._subject import Subject
from certgrad.errors import CertgradError, TraceError
from certgrad.obligations.prove.problem import Programs
from certgrad.signatures.sizes import ONE, named_size

from .covered import Covered
from .decisions import Fixed, Sample, asks, concrete, contrary, has_same_programs, of_broadcasts, shapes_text
from .instances import Family, Instance
from .rank_blind import rank_sensitive
from .ranks import SplitGroupError
from .traces import Trace, Traces

ALL_SHAPES = "all shapes"
MAX_CASES = 40
"""At most this many contrary cases are traced; with more, the claim is unproved."""
FEW_CASES = 2
"""Contrary cases that are traced where there are too many: nothing is proved, but one may show an error."""


@dataclass(frozen=True)
class Look:
    """One trace that a claim for all shapes rests on, or the error in its place."""

    instance: Instance
    fixed: Fixed
    trace: Trace | CertgradError

    @property
    def where(self) -> str:
        """Return the sizes that are set, as `n = 9`; "" where none is."""
        return ", ".join(f"{n} = {v}" for n, v in sorted(self.fixed.items()))

    @property
    def problem(self) -> str:
        """Return why nothing can be claimed at these sizes: the error in the trace's place; "" where there is none."""
        if isinstance(self.trace, Trace):
            return ""
        return f"at {self.where}: {self.trace}" if self.where else str(self.trace)

    @property
    def text(self) -> str:
        """Return the programs with the shapes at which they were traced; "" where they do not trace."""
        return f"{self.instance.label} {self.fixed}\n{self.trace.text}" if isinstance(self.trace, Trace) else ""


class Looks:
    """Iterates over the looks at one case in one dtype, the general shapes first.

    `numbers`: whether concrete sizes are looked at too. The iteration raises TraceError or RuleError where a family of
    shapes does not trace; that a contrary case does not is a look with the error.
    """

    def __init__(self, traces: Traces, family: Family, numbers: bool) -> None:
        self._traces, self._family, self._numbers = traces, family, numbers
        self.general = family.prove[0]
        self._visited = {shapes_text(instance, {}) for instance in family.prove}
        self.covered = Covered(traces.op.arg_names)
        """Decides which programs are the general ones at other ranks."""
        self.split = ""
        """Why programs treat axes of one star group differently; "" if they do not. It is set by the iteration."""

    def __iter__(self) -> Iterator[Look]:
        """Yield the general shapes, further families with other programs than the general ones, and contrary cases."""
        traces, family = self._traces, self._family
        first, further = self.general, family.prove[1:]
        general = traces.at(first)
        self.covered.begin(first, general.shapes, general.programs)
        yield Look(first, {}, general)
        yield from self._contrary(first, general.programs, general=True, numbers=self._numbers)
        for instance in further:
            trace = traces.at(instance)
            yield Look(instance, {}, trace)
            yield from self._contrary(instance, trace.programs)
        # At other ranks a trace is a look of its own only where its program is not the general one.
        for instance in self._left_to_compare():
            trace = traces.at(instance)
            try:
                same = self.covered.same_as_general(instance, trace.shapes, trace.programs)
            except SplitGroupError as error:
                same, self.split = False, str(error)
            if not same:
                yield Look(instance, {}, trace)
            if asks(trace.programs) or (not traces.op.is_op and of_broadcasts([trace.programs])):
                yield from self._contrary(instance, trace.programs)

    def _contrary(
        self, instance: Instance, programs: Programs, general: bool = False, numbers: bool = True
    ) -> Iterator[Look]:
        for fixed, trace in contrary_cases(self._traces, instance, programs, general, self._visited, numbers):
            yield Look(instance, fixed, trace)

    def _left_to_compare(self) -> list[Instance]:
        """Return the instances, one a rank, whose programs are to be compared with the general ones.

        Return [] for an op where the program of the highest rank is the general one entry by entry, and a search of the
        code found no use of ranks: then the code calls the same functions at the ranks between, and what acts on each
        entry does so at any rank. The claim about ranks above the highest rests on the same search. Users' code can use
        a rank in ways that no search finds, so that it is compared at each.
        """
        traces, family = self._traces, self._family
        if not family.compare or not traces.op.is_op or rank_sensitive(traces.op, family.located):
            return family.compare
        try:
            trace = traces.at(family.compare[-1])
        except CertgradError:
            return family.compare
        alike = self.covered.acts_alike_on_each_entry(trace.shapes, trace.programs) and not asks(trace.programs)
        return [] if alike else family.compare


def scope_of(subject: Subject, family: Family, only: str, looks: Sequence[Looks]) -> str:
    """Return for which ranks and dtypes a claim stands: any rank, where neither traces nor code depend on it; else the
    traced ranks, with the reason.

    `only` names the dtypes, or is "" if the claim is for all.
    """
    scope = ALL_SHAPES
    if family.ranked:
        split = next((looks_at_case.split for looks_at_case in looks if looks_at_case.split), "")
        reason = split or rank_sensitive(subject, family.located)
        scope += f", {family.ranked} ({reason})" if reason else ", any rank"
    return f"{scope}, {only}" if only else scope


def digest_of(texts: Iterable[str]) -> str:
    """Return a digest of texts, such as those of all traces, in their order."""
    return hashlib.blake2b("\n".join(texts).encode(), digest_size=32).hexdigest()


# sizes at which functions trace to another program than the general one


def contrary_cases(
    traces: Traces, instance: Instance, programs: Programs, general: bool, visited: set[str], numbers: bool = True
) -> Iterator[tuple[Fixed, Trace | CertgradError]]:
    """Yield sizes at which the functions trace to another program than `programs`, each with its trace or the error.

    All dimensions together come first: each 1, all equal, and all set to numbers. Then follow the sizes that would
    answer a recorded question otherwise, also a question of these further traces. Where dimensions set together gave
    another program, each is set alone. An error with no sizes is for a question without contrary sizes, or for too many
    cases.

    Args:
        traces: the traces of the subject: a rule of a user's, or an op of the library.
        instance: the shapes at which `programs` were traced.
        programs: the programs that others are compared with.
        general: whether the instance is the general one of its case. Others skip what only JAX's code tells apart.
        visited: the shapes that were examined, to which those of this call are added.
        numbers: whether concrete sizes are tried too, at the general instance.
    """
    if not instance.names:
        return
    every_question = traces.op.suspects_library  # those of JAX's broadcasts too
    set_together = general or (not traces.op.is_op and bool(of_broadcasts([programs])))
    differing: list[Fixed] = []
    for fixed in _together(instance, set_together, general and numbers):
        trace = _traced(traces, instance, fixed)
        if isinstance(trace, CertgradError) or not has_same_programs(programs, trace.programs, fixed):
            differing.append(fixed)
            yield fixed, trace
    waiting = _Waiting(instance, visited)
    waiting.add(contrary(programs, {}, every_question))
    if differing or (every_question and set_together):
        # What runs in the audit of an op, or of JAX, is no code of a user's: each dimension is set alone.
        waiting.add(_alone(instance, programs, differing, everything=every_question or traces.op.is_op))
    yield from _traced_otherwise(traces, instance, programs, waiting, every_question)


def _all_equal(instance: Instance) -> Fixed:
    return dict.fromkeys(instance.names[1:], named_size(instance.names[0]))


def _together(instance: Instance, special: bool, numbers: bool) -> list[Fixed]:
    """Return settings of all dimensions: to 1 and to one another if `special`, to numbers with `numbers`."""
    ones: list[Fixed] = [dict.fromkeys(instance.names, ONE)] if special else []
    equal = [_all_equal(instance)] if special and len(instance.names) > 1 else []
    return [*ones, *([concrete(instance)] if numbers else []), *equal]


def _alone(instance: Instance, programs: Programs, differing: list[Fixed], everything: bool) -> list[Fixed]:
    """Return settings of one dimension: to 1, or to another dimension, where a broadcast or a trace gives reason to.

    `differing` are settings of all dimensions that gave another program. With `everything`, all are returned.
    """
    names, equal = instance.names, _all_equal(instance)
    with_one = {size == "1" for _, size in of_broadcasts([programs])}
    singles: list[Fixed] = [{n: ONE} for n in names]
    pairs: list[Fixed] = [{b: named_size(a)} for k, a in enumerate(names) for b in names[k + 1 :]]
    ones_or_numbers_differ = any(fixed != equal for fixed in differing)
    return [
        *(singles if everything or ones_or_numbers_differ or True in with_one else ()),
        *(pairs if everything or equal in differing or False in with_one else ()),
    ]


class _Waiting:
    """The sizes that are still to be traced, each shape once, and the questions that no sizes answer otherwise."""

    def __init__(self, instance: Instance, visited: set[str]) -> None:
        self.instance, self.visited = instance, visited
        self.questions: list[str] = []
        self.cases: dict[str, Fixed] = {}

    def add(self, items: Iterable[Fixed | str]) -> None:
        """Add sizes, unless they were examined or wait already, and questions; a sample takes the place of sizes."""
        for item in items:
            if isinstance(item, str):
                self.questions.append(item)
            elif (key := shapes_text(self.instance, item)) not in self.visited and (
                key not in self.cases or isinstance(item, Sample)
            ):
                self.cases[key] = item

    def next_case(self) -> Fixed:
        """Return the sizes that wait longest, which are then examined."""
        key = next(iter(self.cases))
        self.visited.add(key)
        return self.cases.pop(key)


def _traced_otherwise(
    traces: Traces, instance: Instance, programs: Programs, waiting: _Waiting, every_question: bool
) -> Iterator[tuple[Fixed, Trace | CertgradError]]:
    """Trace what is waiting, and what these traces leave undecided; yield as `contrary_cases` does."""
    count, limit = 0, MAX_CASES
    while waiting.questions or waiting.cases:
        for question in waiting.questions:
            text = "tracing decided a question about dimensions that has no contrary case to trace"
            yield {}, TraceError(f"{text}: {question}")
        waiting.questions.clear()
        if limit == MAX_CASES and count + len(waiting.cases) > MAX_CASES:
            limit = min(count + FEW_CASES, MAX_CASES)
            yield {}, TraceError("too many undecided comparisons of dimensions")
        if not waiting.cases or count == limit:
            return
        fixed = waiting.next_case()
        count += 1
        trace = _traced(traces, instance, fixed)
        if isinstance(trace, CertgradError):
            yield fixed, trace
            continue
        waiting.add(contrary(trace.programs, fixed, every_question))
        if not has_same_programs(programs, trace.programs, fixed):
            yield fixed, trace
            if isinstance(fixed, Sample):
                yield {}, TraceError(f"where {fixed.question}, it is another program, traced at some such sizes alone")


def _traced(traces: Traces, instance: Instance, fixed: Fixed) -> Trace | CertgradError:
    try:
        return traces.at(instance, fixed)
    except CertgradError as error:
        return error
