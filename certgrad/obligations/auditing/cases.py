"""One case of a subject: every family of shapes and every dtype that needs a proof of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from math import prod
from typing import NamedTuple

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
    FamilyAudit,
    dim_shapes,
    has_no_value,
    plainly_refuted,
    reads_of,
)
from .claims import Listed, Record, at_shapes
from .redundant import beyond, specialised

ENTRIES = 200
"""A witness is looked for at the sizes of a contrary case if no array has more entries than this."""


def proved_case(
    traces: Traces, instances: Family, record: Record
) -> tuple[dict[str, list[CaseClaim]], str, list[str], Programs]:
    """Return the claims of a case by obligation, its scope in words, the texts of all traces, and the general programs.

    There is one claim for each family of shapes, in each width of floats that needs a proof of its own. If the case
    cannot be proved for a reason of its dtypes, an unproved claim says so.
    """
    dtypes = proved_in(traces, instances.prove[0], instances.compare)
    results: dict[str, list[CaseClaim]] = {kind: [] for kind in traces.op.kinds}
    texts: list[str] = []
    looks = [Looks(width_traces, instances, dtypes.numbers) for width_traces in dtypes.traces]
    for width_traces, looks_at_width in zip(dtypes.traces, looks, strict=True):
        families = _FamilyClaims(width_traces, looks_at_width, record)
        families.run()
        texts += families.texts
        for kind, claims in families.results.items():
            results[kind] += claims
    if dtypes.unproved:
        for kind in results:
            results[kind].insert(0, at_shapes("unproved", reason=dtypes.unproved))
    general = dtypes.traces[0].at(instances.prove[0]).programs
    return results, scope_of(traces.op, instances, dtypes.only, looks), texts, general


@dataclass(frozen=True)
class _Dtypes:
    """The widths of floats in which a case is traced and proved, and the dtypes that its claim is about."""

    traces: Sequence[Traces]
    only: str = ""
    """The dtypes that the claim is about and why, in words; "" if it is about all."""
    unproved: str = ""
    """Why the case is unproved, whatever the proofs of its traces say; "" if it is not."""
    numbers: bool = True
    """Whether traces at concrete sizes are still to be compared with the general one."""
    claimed: tuple[str, ...] = ALL_DTYPES
    """The dtypes in which the rule is called once, to compare what runs with what was proved."""


def proved_in(traces: Traces, instance: Instance, others: Sequence[Instance] = ()) -> _Dtypes:
    """Return in which dtypes a case has to be traced and proved, and which dtypes the claim is about.

    The trace in float64 stands for all dtypes if float32 gives the same program and the code cannot tell dtypes apart.
    Else float64 and float32 are each proved, if the programs differ, and the claim is about these two; an op of the
    library is then unproved. If the code of a user's rule traces in one of the two alone, the claim is about this one.
    The programs of a user's rule are compared at `others` as well, as code may ask for a rank together with a dtype.
    """
    is_op, narrow = traces.op.is_op, traces.narrow()
    try:
        programs = traces.at(instance).programs
    except CertgradError as error:
        if is_op or "float64" in (instance.exact or ()):  # without float64 nothing is left to claim
            raise
        return _float32_alone(narrow, instance, error)
    # `reason` says why the code may tell dtypes apart; "" if nothing in its source can. `stable`: the trace at numbers
    # in float32 is the general program with its sizes set, so that no trace in float32 at general sizes is needed.
    reason = dtype_sensitive(traces.op)
    stable = (is_op or not reason) and same_with_numbers_in_float32(traces, instance, programs)
    comparable = not (stable or reason or is_op)
    same = stable or (comparable and _same_at(traces, narrow, instance, concrete(instance)))
    try:
        in_float32 = programs if same else narrow.at(instance).programs
    except CertgradError as error:
        if is_op:
            raise
        return _Dtypes([traces], f"float64 only ({error})", _impure(traces, instance), claimed=("float64",))
    differing = None if in_float32 is programs else _different(programs, in_float32)
    if differing is None and not is_op:
        # The programs are the same at general sizes. Code that asks for a dtype may do so at some sizes or ranks alone.
        sizes = _contrary_sizes(programs, in_float32) if reason else []
        places = [*((instance, fixed) for fixed in sizes), *((other, {}) for other in others)]
        differing = next(filter(None, (_different_at(traces, narrow, *place) for place in places)), None)
    if differing is not None:
        reason = f"the {differing} is another program in float32"
    if is_op:
        return _Dtypes([traces], unproved=reason, numbers=not stable)
    only = f"float32 and float64 ({reason})" if reason else ""
    claimed = WIDTHS if only else ALL_DTYPES
    if differing is None:
        return _Dtypes([traces], only, numbers=not stable, claimed=claimed)
    return _Dtypes([traces, narrow], only, _impure(traces, instance) or _impure(narrow, instance), claimed=claimed)


def _float32_alone(narrow: Traces, instance: Instance, error: CertgradError) -> _Dtypes:
    """Return that a case is traced and proved in float32 alone. Raises `error`, of the trace in float64, if it does not
    trace in float32 either.
    """
    try:
        narrow.at(instance)
    except CertgradError:
        raise error from None
    return _Dtypes([narrow], f"float32 only ({error})", _impure(narrow, instance), claimed=("float32",))


def _contrary_sizes(*programs: Programs) -> list[Fixed]:
    """Return sizes at which a question that the tracing of one of the programs asked has another answer."""
    return [case for p in programs for case in contrary(p, {}) if isinstance(case, dict)]


def _different(programs: Programs, others: Programs) -> str | None:
    """Return the name of the first program that differs in more than dtypes, or None."""
    first, second = (serialised_all(p.all(), erase_dtypes=True) for p in (programs, others))
    return next((name for name, text in first.items() if text != second[name]), None)


def _same_at(traces: Traces, narrow: Traces, instance: Instance, fixed: Fixed) -> bool:
    """Return whether the programs in both widths differ in dtypes alone at the sizes `fixed`; False if one fails."""
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


class _AtFamily(NamedTuple):
    """What is claimed at one family of shapes, by obligation."""

    claims: dict[str, CaseClaim]
    outcomes: dict[str, Outcome]
    shapes: Shapes
    """Those at which the claims are stated."""
    listed: dict[str, list[Clause]]
    """The general hypotheses at these shapes."""


class _FamilyClaims:
    """The claims of a case in one dtype, collected at one family of shapes after the other.

    The first family is the general one, and its proofs give the general hypotheses. A hypothesis of a later family is
    added only where it does not follow from the general ones.
    """

    def __init__(self, traces: Traces, looks: Looks, record: Record) -> None:
        self.traces, self.op, self.looks, self.record = traces, traces.op, looks, record
        self.results: dict[str, list[CaseClaim]] = {kind: [] for kind in traces.op.kinds}
        self.texts: list[str] = []
        """The texts of all traces that were looked at, for the digest of the certificate."""
        self._examined: set[str] = set()
        """The texts of the traces whose obligations have claims."""
        self._general: dict[str, Sequence[Clause]] = {}
        """By obligation, the general hypotheses."""
        self._stated: dict[str, Sequence[Statement]] = {}
        """By obligation, the general hypotheses as statements."""
        self._ranges: dict[str, Mapping[Var, Poly]] = {}
        """By obligation, the ranges of the index variables in the general hypotheses."""
        self._sizes: Mapping[str, Sequence[Poly]] = {}
        """The shapes of the arguments at the general family."""

    def run(self) -> None:
        """Add the claims at every family of shapes.

        It ends early if the audit's time is over, if each obligation is refuted, or if one is open and the subject
        wants nothing but proofs.
        """
        for look in self.looks:
            shapes = ", ".join(f"({' '.join(map(str, dims))})" for dims in look.instance.inputs)
            if why := budget.over(" at ".join(filter(None, [f"the shapes {shapes} were looked at", look.where]))):
                self._add_unproved(why)
                return
            if isinstance(look.trace, Trace):
                self.texts.append(look.text)
                self._examine(look.trace, look.fixed)
            else:
                self._add_unproved(look.problem)
            if len(self._refuted_kinds()) == len(self.op.kinds) or (self.op.proofs_alone and self._open_kinds()):
                return

    def _examine(self, trace: Trace, fixed: Fixed) -> None:
        """Prove the obligations of a trace, in which `fixed` sizes are set, and add the claims.

        A trace adds nothing if its programs were examined already. An obligation adds nothing at sizes at which the
        function has no value.
        """
        if trace.text in self._examined:  # another family of shapes came to the same programs
            return
        self._examined.add(trace.text)
        instance, programs = trace.instance, trace.programs
        claims, outcomes, shapes, listed = self._claims_at(trace, fixed)
        for kind, claim in claims.items():
            # The search for witnesses draws sizes, and may have missed these, at which the program is another one.
            if claim.verdict == "unproved" and fixed and (witness := _witness_at(self.traces, instance, kind, fixed)):
                claim = msgspec.structs.replace(claim, verdict="refuted", reason=DIFFERS_AT_WITNESS, witness=witness)
            if claim.verdict != "refuted" and fixed and self._is_excluded(kind, listed, shapes, programs):
                continue
            # The general family comes first. It lists all its hypotheses, a later one what they do not imply.
            if not fixed and instance is self.looks.general:
                self._general[kind] = outcomes[kind].hypotheses
                self._sizes = dim_shapes(self.op, shapes)
                self._ranges[kind] = outcomes[kind].ranges
                self._stated[kind] = [h.tree for h in claim.hypotheses]
            else:
                further = self._further(claim, outcomes[kind], trace, shapes, fixed, kind, listed.get(kind, ()))
                claim = msgspec.structs.replace(claim, hypotheses=further)
            self.results[kind].append(claim)

    def _claims_at(self, trace: Trace, fixed: Fixed) -> _AtFamily:
        """Return the claims of a trace, with what they come from.

        If a proof at other shapes covers the trace (`Looks.covered`), its hypotheses are taken from there, so that only
        a point that satisfies them is looked for. Else the obligations are proved here.
        """
        instance, shapes, programs = trace.instance, trace.shapes, trace.programs
        listed = self._specialised(instance, fixed, shapes)
        self.record.listed = {
            kind: Listed(listed[kind], self.looks.general, s) for kind, s in self._stated.items() if s
        }
        covered = self.looks.covered.hypotheses(instance, shapes, programs)
        if covered is None:
            audit = FamilyAudit(self.traces, instance, shapes, programs, self.record)
            claims, outcomes = audit.prove_all(self._refuted_kinds(), self._open_kinds())
            self.looks.covered.add(shapes, programs, outcomes)
            return _AtFamily(claims, outcomes, shapes, listed)
        hypotheses, shapes, primitives = covered
        self.record.primitives.update(dict.fromkeys(primitives))
        outcomes = {kind: Outcome(list(c), ranges=self._ranges.get(kind, {})) for kind, c in hypotheses.items()}
        audit = FamilyAudit(self.traces, instance, shapes, programs, self.record)
        claims = {kind: audit.claim(kind, outcome) for kind, outcome in outcomes.items()}
        return _AtFamily(claims, outcomes, shapes, self._specialised(instance, fixed, shapes))

    def _specialised(self, instance: Instance, fixed: Fixed, shapes: Shapes) -> dict[str, list[Clause]]:
        """Return the general hypotheses, by obligation, written for another family of shapes."""
        other_shapes = dim_shapes(self.op, shapes)
        return {
            kind: specialised(clauses, self.looks.general, instance, fixed, self._sizes, other_shapes)
            for kind, clauses in self._general.items()
        }

    def _is_excluded(
        self, kind: str, listed: Mapping[str, Sequence[Clause]], shapes: Shapes, programs: Programs
    ) -> bool:
        """Return whether the function has no value at these sizes, and the general claim excludes them.

        The general claim has to be proved, with a hypothesis that never holds at these sizes.
        """
        so_far = self.results[kind]
        proved_elsewhere = bool(so_far) and so_far[0].verdict not in OPEN_VERDICTS
        never_holds = any(map(fails_always, listed.get(kind, ())))
        return proved_elsewhere and never_holds and has_no_value(self.op, shapes, programs)

    def _further(
        self,
        claim: CaseClaim,
        outcome: Outcome,
        trace: Trace,
        shapes: Shapes,
        fixed: Fixed,
        kind: str,
        listed: Sequence[Clause],
    ) -> list[Hypothesis]:
        """Return the hypotheses of a claim at special shapes that do not follow from the general hypotheses there.

        `listed` are the general hypotheses, written for these shapes.
        """
        general_clauses = outcome.hypotheses if trace.instance is self.looks.general else ()
        reading = reads_of(self.op, shapes, outcome)
        read_general = replace(reading, ranges=ranges_at(self._ranges.get(kind, {}), fixed))
        stated = {*map(read_general, listed)}
        return beyond(claim.hypotheses, stated, general_clauses, listed, reading, shapes.integers(self.op.arg_names))

    def _add_unproved(self, reason: str) -> None:
        """Add to each obligation an unproved claim at a family of shapes."""
        for kind in self.op.kinds:
            self.results[kind].append(at_shapes("unproved", reason=reason))

    def _refuted_kinds(self) -> set[str]:
        """Return the obligations that are plainly refuted at a family of shapes; no other family can change that."""
        return {
            kind for kind, so_far in self.results.items() if any(plainly_refuted(claim.witness) for claim in so_far)
        }

    def _open_kinds(self) -> set[str]:
        """Return the obligations that are open, refuted or unproved, at some family of shapes so far."""
        return {
            kind for kind, so_far in self.results.items() if any(claim.verdict in OPEN_VERDICTS for claim in so_far)
        }


def _witness_at(traces: Traces, instance: Instance, kind: str, fixed: Fixed) -> Witness | None:
    """Return a witness at the sizes `fixed` of a contrary case, which draws from the whole family may miss.

    The other dimensions are 1, 2, 3 in turn. None if a size is below 1, or an array has too many entries.
    """
    small = dict(zip(instance.names, cycle((1, 2, 3)), strict=False))
    sizes = small | {name: size.evaluate(small) for name, size in fixed.items()}
    member = instance.at(sizes)
    if min(sizes.values()) < 1 or max(map(prod, member.shapes().inputs), default=0) > ENTRIES:
        return None
    return auditing.witnesses.search(traces.op, member, kind, wide=traces.wide)
