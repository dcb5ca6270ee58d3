"""One case of a subject: every family of shapes and every dtype that needs a proof of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, cycle
from math import prod

import msgspec

from certgrad.errors import CertgradError
from certgrad.language.tree import Statement
from certgrad.obligations import auditing
from certgrad.obligations.assume.conditions import Clause, fails_always
from certgrad.obligations.auditing.redundant import ranges_at
from certgrad.obligations.certificate import CaseClaim, Hypothesis, Witness
from certgrad.obligations.conformance import ALL_DTYPES, WIDTHS
from certgrad.obligations.generality.decisions import Fixed, concrete, contrary, same_with_numbers_in_float32
from certgrad.obligations.generality.instances import Family, Instance
from certgrad.obligations.generality.looks import Looks, scope_of
from certgrad.obligations.generality.rank_blind import dtype_sensitive
from certgrad.obligations.generality.traces import Trace, Traces
from certgrad.obligations.prove.problem import Programs, Shapes
from certgrad.obligations.prove.statements import Outcome
from certgrad.obligations.terms.budget import budget
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.tracing.jax_internals import serialised_all

from .attempts import (
    DIFFERS_AT_WITNESS,
    OPEN_VERDICTS,
    dim_shapes,
    has_no_value,
    judged,
    plainly_refuted,
    prove_all,
    reads_of,
)
from .claims import Listed, Record, at_shapes
from .redundant import beyond, specialised

ENTRIES = 200
"""A witness of a contrary case is looked for where no array has more entries."""


def proved_case(
    traces: Traces, instances: Family, record: Record
) -> tuple[dict[str, list[CaseClaim]], str, list[str], Programs]:
    """Return the claims of a case at all families of shapes in each dtype that needs a proof, with scope, texts and
    programs.
    """
    dtypes = proved_in(traces, instances.prove[0], instances.compare)
    results: dict[str, list[CaseClaim]] = {kind: [] for kind in traces.op.kinds}
    texts: list[str] = []
    looks = [Looks(one, instances, dtypes.numbers) for one in dtypes.traces]
    for one, looked in zip(dtypes.traces, looks, strict=True):
        found, programs = _claims_over_families(one, looked, record)
        texts += programs
        for kind, more in found.items():
            results[kind] += more
    if dtypes.unproved:
        for kind in results:
            results[kind].insert(0, at_shapes("unproved", reason=dtypes.unproved))
    general = dtypes.traces[0].at(instances.prove[0]).programs
    return results, scope_of(traces.op, instances, dtypes.only, looks), texts, general


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
    """Return in which dtypes a case has to be traced and proved, and which the claim is about.

    One trace is for all dtypes where float32 gives the same program and the code cannot tell others apart; of a user's
    rule also at `others`, whose ranks its code may ask for together with a dtype. Else float64 and float32 are proved
    each, and the claim is about these two, which is `unproved` for an op of the library.
    """
    narrow = traces.narrow()
    try:
        programs = traces.at(instance).programs
    except CertgradError as error:
        if traces.op.is_op or "float64" in (instance.exact or ()):  # 32 bits have none of what is claimed
            raise
        try:
            narrow.at(instance)
        except CertgradError:
            raise error from None
        return _Dtypes([narrow], f"float32 only ({error})", _impure(narrow, instance), claimed=("float32",))
    reason = dtype_sensitive(traces.op)
    stable = (traces.op.is_op or not reason) and same_with_numbers_in_float32(traces, instance, programs)
    at_numbers = not (stable or reason or traces.op.is_op) and _same_at(traces, narrow, instance, concrete(instance))
    try:
        in_float32 = programs if stable or at_numbers else narrow.at(instance).programs
    except CertgradError as error:
        if traces.op.is_op:
            raise
        return _Dtypes([traces], f"float64 only ({error})", _impure(traces, instance), claimed=("float64",))
    name = None if in_float32 is programs else _different(programs, in_float32)  # of a program that is another one
    if name is None and not traces.op.is_op:
        # the same at general sizes; code that asks for dtypes, and for sizes or ranks, may differ at others
        cases = [case for p in (programs, in_float32) for case in contrary(p, {}) if reason and isinstance(case, dict)]
        places = [*((instance, case) for case in cases), *((other, {}) for other in others)]
        name = next(filter(None, (_different_at(traces, narrow, *place) for place in places)), None)
    if name is not None:
        reason = f"the {name} is another program in float32"
    if traces.op.is_op:
        return _Dtypes([traces], unproved=reason, numbers=not stable)
    only = f"float32 and float64 ({reason})" if reason else ""
    claimed = WIDTHS if only else ALL_DTYPES
    if name is None:
        return _Dtypes([traces], only, numbers=not stable, claimed=claimed)
    return _Dtypes([traces, narrow], only, _impure(traces, instance) or _impure(narrow, instance), claimed=claimed)


def _different(programs: Programs, others: Programs) -> str | None:
    """Return the name of a program that differs in more than dtypes, or None."""
    first, second = (serialised_all(p.all(), erase_dtypes=True) for p in (programs, others))
    return next((name for name, text in first.items() if text != second[name]), None)


def _same_at(traces: Traces, narrow: Traces, instance: Instance, fixed: Fixed) -> bool:
    """Return whether the programs in both widths differ in dtypes alone at some sizes."""
    try:
        return _different(traces.at(instance, fixed).programs, narrow.at(instance, fixed).programs) is None
    except CertgradError:
        return False


def _different_at(traces: Traces, narrow: Traces, instance: Instance, fixed: Fixed) -> str | None:
    """Return the name of a program that differs in more than dtypes at an instance with sizes set by `fixed`.

    None if none does, or if they do not trace there.
    """
    try:
        return _different(traces.at(instance, fixed).programs, narrow.at(instance, fixed).programs)
    except CertgradError:
        return None


def _impure(traces: Traces, instance: Instance) -> str:
    """Return why nothing is proved of code that traces differently a second time; "" if it traces to the same."""
    again = traces.again(instance)
    same = isinstance(again, Trace) and again.text == traces.at(instance).text
    return "" if same else "it traces differently a second time: it is impure"


def _claims_over_families(traces: Traces, looks: Looks, record: Record) -> tuple[dict[str, list[CaseClaim]], list[str]]:
    """Return the claims of a case at every family of shapes in one dtype, by obligation, and the texts of its traces.

    What the first family, the general one, is proved under (`general` as clauses, `stated` as statements, with the
    `ranges` of its variables) is what later ones may use; a later family has hypotheses of its own beyond these. The
    loop ends early where each obligation is refuted, or where one is open and nothing but proofs is wanted.
    """
    op = traces.op
    results: dict[str, list[CaseClaim]] = {kind: [] for kind in op.kinds}
    texts: list[str] = []
    covered = looks.covered
    proved: set[str] = set()
    general: dict[str, Sequence[Clause]] = {}
    stated: dict[str, Sequence[Statement]] = {}
    ranges: dict[str, Mapping[Var, Poly]] = {}
    sizes: Mapping[str, Sequence[Poly]] = {}

    def settled() -> set[str]:
        """Return the obligations refuted at one family of shapes; other families cannot change that."""
        return {kind for kind, so_far in results.items() if any(plainly_refuted(r.witness) for r in so_far)}

    def listed_at(instance: Instance, fixed: Fixed, shapes: Shapes) -> dict[str, list[Clause]]:
        """Return the general hypotheses at another family of shapes, by obligation."""
        there = dim_shapes(op, shapes)
        return {k: specialised(c, looks.general, instance, fixed, sizes, there) for k, c in general.items()}

    def nothing_there(kind: str, instance: Instance, shapes: Shapes, programs: Programs, fixed: Fixed) -> bool:
        """Return whether the function has no value at these sizes, which the claim at the others then excludes."""
        said = listed_at(instance, fixed, shapes).get(kind, []) if fixed else []
        proved_elsewhere = bool(results[kind]) and results[kind][0].verdict not in OPEN_VERDICTS
        return proved_elsewhere and any(map(fails_always, said)) and has_no_value(op, shapes, programs)

    def further(
        kind: str,
        result: CaseClaim,
        outcome: Outcome,
        trace: Trace,
        shapes: Shapes,
        fixed: Fixed,
        listed: Sequence[Clause],
    ) -> list[Hypothesis]:
        """Return the hypotheses of an obligation at special shapes that do not follow from the general ones there.

        `listed` are the general ones, specialised to these shapes.
        """
        own = outcome.hypotheses if trace.instance is looks.general else ()
        reading = reads_of(op, shapes, outcome)
        general_there = replace(reading, ranges=ranges_at(ranges.get(kind, {}), fixed))
        said = {*map(general_there, listed)}
        return beyond(result.hypotheses, said, own, listed, reading, shapes.integers(op.arg_names))

    def examine(trace: Trace, fixed: Fixed) -> None:
        """Prove the obligations of one trace, or take their proof at other shapes that covers it (`covered`), and add
        the claims to `results`.

        The first is at the general shapes, with all its hypotheses; later ones have those that are further. `fixed`
        holds the sizes that are set. A trace of a program that was examined already adds nothing; nor does an
        obligation at sizes at which the function has no value.
        """
        nonlocal sizes
        instance, shapes, programs = trace.instance, trace.shapes, trace.programs
        if trace.text in proved:  # another family of shapes came to the same programs
            return
        proved.add(trace.text)
        here = listed_at(instance, fixed, shapes)
        record.listed = {kind: Listed(here[kind], looks.general, s) for kind, s in stated.items() if s}
        known = covered.hypotheses(instance, shapes, programs)
        if known is not None:
            hypotheses, shapes, primitives = known
            here = listed_at(instance, fixed, shapes)
            record.primitives.update(dict.fromkeys(primitives))
            outcomes = {
                kind: Outcome(list(clauses), ranges=ranges.get(kind, {})) for kind, clauses in hypotheses.items()
            }
            claims = {
                kind: judged(traces, instance, kind, outcome, record, shapes) for kind, outcome in outcomes.items()
            }
        else:
            stuck = {kind for kind, so_far in results.items() if any(r.verdict in OPEN_VERDICTS for r in so_far)}
            claims, outcomes = prove_all(traces, instance, shapes, programs, record, settled(), stuck)
            covered.add(shapes, programs, outcomes)
        for kind, result in claims.items():
            if result.verdict == "unproved" and fixed and (witness := _witness_at(traces, instance, kind, fixed)):
                result = msgspec.structs.replace(result, verdict="refuted", reason=DIFFERS_AT_WITNESS, witness=witness)
            if result.verdict != "refuted" and nothing_there(kind, instance, shapes, programs, fixed):
                continue
            if not fixed and instance is looks.general:
                general[kind] = outcomes[kind].hypotheses
                sizes = dim_shapes(op, shapes)
                ranges[kind] = outcomes[kind].ranges
                stated[kind] = [h.tree for h in result.hypotheses]
            else:
                more = further(kind, result, outcomes[kind], trace, shapes, fixed, here.get(kind, ()))
                result = msgspec.structs.replace(result, hypotheses=more)
            results[kind].append(result)

    for look in looks:
        shapes = ", ".join(f"({' '.join(map(str, dims))})" for dims in look.instance.inputs)
        if why := budget.over(" at ".join(filter(None, [f"the shapes {shapes} were looked at", look.where]))):
            for kind in op.kinds:
                results[kind].append(at_shapes("unproved", reason=why))
            break
        if isinstance(look.trace, Trace):
            texts.append(look.text)
            examine(look.trace, look.fixed)
        else:
            for kind in op.kinds:
                results[kind].append(at_shapes("unproved", reason=look.problem))
        if len(settled()) == len(op.kinds) or (
            op.proofs_alone and any(r.verdict in OPEN_VERDICTS for r in chain(*results.values()))
        ):
            break
    return results, texts


def _witness_at(traces: Traces, instance: Instance, kind: str, fixed: Fixed) -> Witness | None:
    """Return a witness at the sizes of a contrary case, which draws from the whole family may miss."""
    small = dict(zip(instance.names, cycle((1, 2, 3)), strict=False))
    sizes = small | {name: size.evaluate(small) for name, size in fixed.items()}
    there = instance.at(sizes)
    if min(sizes.values()) < 1 or max(map(prod, there.shapes().inputs), default=0) > ENTRIES:
        return None
    return auditing.witnesses.search(traces.op, there, kind, wide=traces.wide)
