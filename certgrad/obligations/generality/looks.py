"""All traces of one case that a proof has to cover, and that `verify` has to find again.

Which traces these are follows from the subject's declaration and its code alone, and from no verdict: the general
shapes, what contradicts a decision that tracing took, and each rank at which the program is another one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from certgrad._subject import Subject
from certgrad.errors import CertgradError
from certgrad.obligations.prove.problem import Programs

from .covered import Covered
from .decisions import Fixed, asks, contrary_cases, of_broadcasts, shapes_text
from .instances import Family, Instance
from .rank_blind import rank_sensitive
from .ranks import SplitGroupError
from .traces import Trace, Traces

ALL_SHAPES = "all shapes"


@dataclass(frozen=True)
class Look:
    """One trace that a claim for all shapes rests on, or the error in its place."""

    instance: Instance
    fixed: Fixed
    trace: Trace | CertgradError

    @property
    def where(self) -> str:
        """The sizes, as `n = 9`; empty where none is set."""
        return ", ".join(f"{n} = {v}" for n, v in sorted(self.fixed.items()))

    @property
    def problem(self) -> str:
        """Return why nothing can be claimed here; "" where it traces."""
        if isinstance(self.trace, Trace):
            return ""
        return f"at {self.where}: {self.trace}" if self.where else str(self.trace)

    @property
    def text(self) -> str:
        """The programs with the shapes that they were traced at; empty where they do not trace."""
        return f"{self.instance.label} {self.fixed}\n{self.trace.text}" if isinstance(self.trace, Trace) else ""


class Looks:
    """The looks at one case in one dtype, in order: the general shapes come first.

    `numbers`: whether concrete sizes are still to be looked at. Raises TraceError or RuleError where an instance other
    than a contrary case does not trace.
    """

    def __init__(self, traces: Traces, family: Family, numbers: bool) -> None:
        self._traces, self._family, self._numbers = traces, family, numbers
        self.general = family.prove[0]
        self._visited = {shapes_text(instance, {}) for instance in family.prove}
        self.covered = Covered(traces.op.arg_names)
        """Which programs are the general one at other ranks."""
        self.split = ""
        """Why a group of axes was taken apart, if it was: known when all looks are made."""

    def __iter__(self) -> Iterator[Look]:
        """Yield all that a claim has to cover: the general shapes, further ones that differ from them, and contrary
        cases.
        """
        traces, family = self._traces, self._family
        first, others = self.general, family.prove[1:]
        general = traces.at(first)
        self.covered.begin(first, general.shapes, general.programs)
        yield Look(first, {}, general)
        yield from self._contrary(first, general.programs, general=True, numbers=self._numbers)
        for instance in others:
            trace = traces.at(instance)
            yield Look(instance, {}, trace)
            yield from self._contrary(instance, trace.programs)
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
        """The ranks at which the programs are to be compared with the general one.

        None, where the program of the highest rank is the general one entry by entry, and code that is blind to ranks
        made both: that code calls the same functions at the ranks between, and what acts on each entry does so at any
        rank. The claim about ranks above the highest rests on the same search of the code. Users' code can use a rank
        in ways that no search finds, so that it is compared at each.
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
    """Return for which ranks and dtypes a claim stands: any rank, where traces and code are blind to it; else those
    traced.

    `only` names the dtypes, if they are not all.
    """
    scope = ALL_SHAPES
    if family.ranked:
        split = next((one.split for one in looks if one.split), "")
        reason = split or rank_sensitive(subject, family.located)
        scope += f", {family.ranked} ({reason})" if reason else ", any rank"
    return f"{scope}, {only}" if only else scope


def digest_of(texts: Iterable[str]) -> str:
    """Return a digest of the texts of all traces."""
    return hashlib.blake2b("\n".join(texts).encode(), digest_size=32).hexdigest()
