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
from certgrad.errors import CertgradError
from certgrad.obligations.prove.problem import Programs

from .contrary_cases import contrary_cases
from .covered import Covered
from .decisions import Fixed, asks, of_broadcasts, shapes_text
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
