"""One case of a subject: every family of shapes and every dtype that needs a proof of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from certgrad._subject import Subject
from certgrad.errors import CertgradError
from certgrad.hypotheses.tree import Statement
from certgrad.obligations.assume.conditions import Clause
from certgrad.obligations.auditing.redundant import ranges_at
from certgrad.obligations.conformance import ALL_DTYPES, WIDTHS
from certgrad.obligations.generality.covered import Covered
from certgrad.obligations.generality.decisions import (
    Fixed,
    asks,
    contrary_cases,
    of_broadcasts,
    same_with_numbers_in_float32,
    shapes_text,
)
from certgrad.obligations.generality.instances import Family, Instance
from certgrad.obligations.generality.rank_blind import dtype_sensitive, rank_sensitive
from certgrad.obligations.generality.ranks import SplitGroupError
from certgrad.obligations.generality.traces import Trace, Traces
from certgrad.obligations.prove.problem import Programs, Shapes
from certgrad.obligations.prove.statements import Outcome
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.tracing.jax_internals import serialised_all

from .attempts import OPEN, dim_shapes, judged, plainly_refuted, prove_all, reads_of
from .claims import Listed, Record, Result
from .redundant import beyond, specialised

ALL_SHAPES = "all shapes"


def proved_case(
    traces: Traces, instances: Family, record: Record
) -> tuple[dict[str, list[Result]], str, list[str], Programs]:
    """What came of each obligation at all families of shapes, in each dtype that needs a proof of its own."""
    general = instances.prove[0]
    dtypes = proved_in(traces, general, instances.compare)
    results: dict[str, list[Result]] = {kind: [] for kind in traces.op.kinds}
    texts: list[str] = []
    traced: list[Programs] = []
    split = ""
    for one in dtypes.traces:
        found, parted, programs, of_general = _in_one_dtype(one, instances, record, dtypes.numbers)
        texts += programs
        traced.append(of_general)
        split = split or parted
        for kind, more in found.items():
            results[kind] += more
    if dtypes.unproved:
        for kind in results:
            results[kind].insert(0, Result("unproved", [], dtypes.unproved))
    scope = _scope(traces.op, instances, split)
    return results, f"{scope}, {dtypes.only}" if dtypes.only else scope, texts, traced[0]


@dataclass(frozen=True)
class _Dtypes:
    """The dtypes of floats that a case is proved in."""

    traces: Sequence[Traces]
    only: str = ""
    """The dtypes that the claim is about and why, where it is not about all."""
    unproved: str = ""
    """Why it cannot be proved whatever the proofs say."""
    numbers: bool = True
    """Whether concrete sizes are still to be looked at."""
    claimed: tuple[str, ...] = ALL_DTYPES
    """The dtypes that are called, to see whether the code does there what was proved."""


def proved_in(traces: Traces, instance: Instance, others: Sequence[Instance] = ()) -> _Dtypes:
    """One trace stands for all dtypes where float32 gives the same program and the code cannot tell further ones apart;
    of a user's rule also at the other instances, whose ranks its code may ask for together with a dtype.

    Else float64 and float32 are each proved on their own, and the claim is about those two only. That will do for a
    user's rule; an op of the library has to be one program in every dtype.
    """
    narrow = traces.narrow()
    try:
        programs = traces.at(instance).programs
    except CertgradError as error:
        if traces.op.is_op:
            raise
        try:
            narrow.at(instance)
        except CertgradError:
            raise error from None
        return _Dtypes([narrow], f"float32 only ({error})", _impure(narrow, instance), claimed=("float32",))
    stable = same_with_numbers_in_float32(traces, instance, programs)
    try:
        in_float32 = programs if stable else narrow.at(instance).programs
    except CertgradError as error:
        if traces.op.is_op:
            raise
        return _Dtypes([traces], f"float64 only ({error})", _impure(traces, instance), claimed=("float64",))
    name = None if stable else _different(programs, in_float32)
    if name is None and not traces.op.is_op:
        name = next(filter(None, (_different_at(traces, narrow, other) for other in others)), None)
    reason = dtype_sensitive(traces.op) if name is None else f"the {name} is another program in float32"
    if traces.op.is_op:
        return _Dtypes([traces], unproved=reason, numbers=not stable)
    only = f"float32 and float64 ({reason})" if reason else ""
    claimed = WIDTHS if only else ALL_DTYPES
    if name is None:
        return _Dtypes([traces], only, numbers=not stable, claimed=claimed)
    return _Dtypes([traces, narrow], only, _impure(traces, instance) or _impure(narrow, instance), claimed=claimed)


def _different(programs: Programs, others: Programs) -> str | None:
    """The name of a program that is not the same but for dtypes."""
    first, second = (serialised_all(p.all(), erase_dtypes=True) for p in (programs, others))
    return next((name for name, text in first.items() if text != second[name]), None)


def _different_at(traces: Traces, narrow: Traces, instance: Instance) -> str | None:
    """The same at another instance, where both trace."""
    try:
        return _different(traces.at(instance).programs, narrow.at(instance).programs)
    except CertgradError:
        return None


def _impure(traces: Traces, instance: Instance) -> str:
    again = traces.again(instance)
    same = isinstance(again, Trace) and again.text == traces.at(instance).text
    return "" if same else "it traces differently a second time: it is impure"


def _in_one_dtype(
    traces: Traces, instances: Family, record: Record, numbers: bool
) -> tuple[dict[str, list[Result]], str, list[str], Programs]:
    """The results, why a group of axes was taken apart (if it was), the traces as texts, the general programs."""
    op = traces.op
    results: dict[str, list[Result]] = {kind: [] for kind in op.kinds}
    texts: list[str] = []
    covered = Covered(op.arg_names)
    visited = {shapes_text(instance, {}) for instance in instances.prove}
    proved: set[str] = set()
    general: dict[str, Sequence[Clause]] = {}
    stated: dict[str, Sequence[Statement]] = {}
    ranges: dict[str, Mapping[Var, Poly]] = {}
    sizes: Mapping[str, Sequence[Poly]] = {}
    split = ""

    def settled() -> set[str]:
        """The obligations that are refuted at one family of shapes, and so whatever comes of them at others."""
        return {kind for kind, so_far in results.items() if any(plainly_refuted(r.witness) for r in so_far)}

    def decided() -> bool:
        """Nothing is left to find out."""
        return len(settled()) == len(op.kinds)

    def listed_at(instance: Instance, fixed: Fixed, shapes: Shapes) -> dict[str, list[Clause]]:
        """What the general hypotheses say at another family of shapes, by obligation."""
        there = dim_shapes(op, shapes)
        return {k: specialised(c, instances.prove[0], instance, fixed, sizes, there) for k, c in general.items()}

    def examine(trace: Trace, fixed: Fixed) -> Programs:
        nonlocal sizes
        instance, shapes, programs = trace.instance, trace.shapes, trace.programs
        texts.append(f"{instance.label} {fixed}\n{trace.text}")
        if trace.text in proved:  # another family of shapes came to the same programs
            return programs
        proved.add(trace.text)
        here = listed_at(instance, fixed, shapes)
        record.listed = {kind: Listed(here[kind], instances.prove[0], s) for kind, s in stated.items() if s}
        known = covered.hypotheses(instance, shapes, programs)
        if known is not None:
            hypotheses, shapes, primitives = known
            here = listed_at(instance, fixed, shapes)
            record.primitives.update(dict.fromkeys(primitives))
            outcomes = {
                kind: Outcome(list(clauses), ranges=ranges.get(kind, {})) for kind, clauses in hypotheses.items()
            }
            found = {
                kind: judged(traces, instance, kind, outcome, record, shapes) for kind, outcome in outcomes.items()
            }
        else:
            stuck = {kind for kind, so_far in results.items() if any(r.verdict in OPEN for r in so_far)}
            found, outcomes = prove_all(traces, instance, shapes, programs, record, settled(), stuck)
            covered.add(instance, shapes, programs, outcomes)
        for kind, result in found.items():
            if not fixed and instance is instances.prove[0]:
                general[kind] = outcomes[kind].hypotheses
                sizes = dim_shapes(op, shapes)
                ranges[kind] = outcomes[kind].ranges
                stated[kind] = [h.tree for h in result.hypotheses]
            else:
                own = outcomes[kind].hypotheses if instance is instances.prove[0] else ()
                reading = reads_of(op, shapes, outcomes[kind])
                listed = here.get(kind, ())
                said = replace(reading, ranges=ranges_at(ranges.get(kind, {}), fixed))
                result.hypotheses = beyond(result.hypotheses, {*map(said, listed)}, own, listed, reading)
            results[kind].append(result)
        return programs

    def examine_contrary(instance: Instance, programs: Programs, general: bool, numbers: bool = True) -> None:
        for fixed, other in contrary_cases(traces, instance, programs, general, visited, numbers):
            if decided():
                return
            if isinstance(other, Trace):
                examine(other, fixed)
                continue
            where = ", ".join(f"{n} = {v}" for n, v in sorted(fixed.items()))
            for kind in op.kinds:
                results[kind].append(Result("unproved", [], f"at {where}: {other}" if where else str(other)))

    first, *others = instances.prove
    programs = examine(traces.at(first), {})
    if not decided():
        examine_contrary(first, programs, general=True, numbers=numbers)
    for instance in others:
        if not decided():
            examine_contrary(instance, examine(traces.at(instance), {}), general=False)
    for instance in _left_to_compare(traces, instances, covered):
        if decided():
            break
        trace = traces.at(instance)
        try:
            same = covered.same_as_general(instance, trace.shapes, trace.programs)
        except SplitGroupError as error:
            same, split = False, str(error)
        if not same:
            examine(trace, {})
        if asks(trace.programs) or (not op.is_op and of_broadcasts([trace.programs])):
            examine_contrary(instance, trace.programs, general=False)
    return results, split, texts, programs


def _left_to_compare(traces: Traces, instances: Family, covered: Covered) -> list[Instance]:
    """The ranks at which the programs are to be compared with the general one.

    None, where the program of the highest rank is the general one entry by entry, and code that is blind to ranks made
    both: that code calls the same functions at the ranks between, and what acts on each entry does so at any rank. The
    claim about ranks above the highest rests on the same search of the code. Users' code can use a rank in ways that no
    search finds, so that it is compared at each.
    """
    if not instances.compare or not traces.op.is_op or rank_sensitive(traces.op, instances.located):
        return instances.compare
    try:
        trace = traces.at(instances.compare[-1])
    except CertgradError:
        return instances.compare
    alike = covered.acts_alike_on_each_entry(trace.shapes, trace.programs) and not asks(trace.programs)
    return [] if alike else instances.compare


def _scope(op: Subject, instances: Family, split: str) -> str:
    """For which ranks the claim stands: any, where the traces and the code are blind to rank; else those shown."""
    if not instances.ranked:
        return ALL_SHAPES
    reason = split or rank_sensitive(op, instances.located)
    return f"{ALL_SHAPES}, any rank" if not reason else f"{ALL_SHAPES}, {instances.ranked} ({reason})"
