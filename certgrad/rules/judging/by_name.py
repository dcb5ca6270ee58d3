"""The audit of a rule that was found by name, with its own declaration, one of the project, or an inferred one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import partial

import msgspec

from certgrad import rules
from certgrad._audit import audit
from certgrad._subject import is_op
from certgrad.errors import CertgradError, UsageError
from certgrad.obligations.certificate import (
    AT_SIZES,
    CODES,
    ORDER,
    PROOFS,
    PROVED_AS_WRITTEN,
)
from certgrad.obligations.terms.budget import allotted_seconds, auditing, budget
from certgrad.report.audited import RuleResult, beyond_domain
from certgrad.report.findings import (
    BOUNDED,
    INFERRED,
    LEFT_OUT,
    MISDECLARED,
    NO_GRADIENT,
    NOT_AUDITED,
    OF_IDEAL,
    Remark,
    unaudited,
)
from certgrad.rules.declared.declaration import Declaration, declaration_of, named_function
from certgrad.rules.finding.find import FoundRule
from certgrad.rules.inference.calls import calls_of
from certgrad.rules.inference.infer import inferred as infer
from certgrad.rules.inference.infer import without_open_numbers
from certgrad.rules.inference.read_entries import with_read_entries
from certgrad.rules.inference.tried import ORIGIN as INFERRED_BY
from certgrad.rules.inference.tried import Tried
from certgrad.rules.project.marked import NOT_DECLARED
from certgrad.rules.subject.approximation import Declared
from certgrad.rules.subject.layers import plain_function, unwrapped
from certgrad.rules.subject.report import Report
from certgrad.rules.subject.user_rule import UserRule
from certgrad.rules.syntax.ignores import Ignores, ignores_of, without_ignored

from .check import check
from .choices import DECIDED_VERDICTS, Audit, Checked, best_choice

RECORDED_ORIGIN = "recorded"
"""The origin of declarations that were made from the calls of a run."""
SHORT = 0.2
"""The share of the seconds for the first audit of a rule that may be an approximation; the rest is for the second."""
KNOWN = 'inferred from its values at 160 points between −200 and 200, as nothing declares it; approximates="{}" does'
KNOWN_WHERE = (
    'inferred from its values at 160 points with {1}, as nothing declares it; approximates="{0}" and domain="{1}" do'
)


def not_audited(reason: str, code: str = NOT_AUDITED) -> Remark:
    """Return the remark that a rule, or a module, has no certificate, with the reason in one line."""
    lines = reason.splitlines()
    if lines and lines[-1].strip() == "^":  # the last line marks a column of the line above
        reason = f"{' '.join(lines[:-2])} It says: {lines[-2].strip()}"
    return Remark(code, f"not audited: {' '.join(reason.split())}")


def examined(
    found: FoundRule, table: Mapping[str, Sequence[Declaration]], conformance: bool = True, order: int = 1
) -> tuple[RuleResult, Report | None]:
    """Return the result of auditing a rule, without the findings that its comments ignore, and its report or None.

    Never raises: a rule can do anything while it is traced. Where the rule is not audited, there is no report, and a
    remark says why.

    Args:
        found: the rule, as it was found.
        table: the declarations of the project, by the names of rules.
        conformance: compare the traced programs with calls.
        order: 2 audits the second derivatives as well, wherever that is possible.
    """
    report, declared, remarks = _report_with_remarks(found, table, conformance, order)
    result = RuleResult(name=found.name, where=found.where, file=found.file, remarks=remarks)
    if found.rule is None:
        return result, report
    ignores = ignores_of(plain_function(unwrapped(found.rule)))
    codes = {r.code for r in remarks}
    if report is None:
        notes = ignores.applied(codes)
        found_codes = {*CODES.values(), *codes}  # an ignored obligation may be one that this rule has
    else:
        report, of_obligations = _without_ignored_claims(report, ignores)
        found_codes = codes | of_obligations
        notes = ignores.applied(found_codes)
        notes += [f"a surrogate by intent: {report.surrogate}"] if report.surrogate else []
        notes += [f"the claim is about {text}" for text in report.limits]
    kept = [r for r in remarks if r.code not in ignores.reasons]
    result = msgspec.structs.replace(
        result,
        remarks=[*kept, *ignores.remarks(found_codes)],
        notes=notes,
        inferred=_inferred_text(declared),
    )
    return (of_report(result, report) if report is not None else result), report


def _report_with_remarks(
    found: FoundRule, table: Mapping[str, Sequence[Declaration]], conformance: bool, order: int
) -> tuple[Report | None, Declaration | None, list[Remark]]:
    """Return the report on a rule, the declaration that it was audited with, and remarks on the audit. Never raises.

    Where the rule is not audited, there is no report, and a remark says why. An op has no declaration of this kind. The
    arguments are those of `examined`.
    """
    report: Report | None = None
    declared: Declaration | None = None
    remarks: list[Remark] = []
    if found.problem:
        return None, None, [not_audited(found.problem, unaudited(found.name))]
    try:
        if is_op(found.rule):
            report = _op(found, conformance)
        else:
            with auditing(allotted_seconds()):
                audit = _audited(found, table, conformance, order)
            report, declared = audit.report, audit.declared
            remarks += _remarks(audit)
    except NotDeclaredError as error:
        remarks.append(not_audited(str(error)))
    except CertgradError as error:  # the declaration does not fit the rule
        reason = str(error).removeprefix(f"{found.name} ({found.where}) ")
        recorded = any(d.origin == RECORDED_ORIGIN for d in table.get(found.name, ()))
        remarks.append(not_audited(reason, NOT_AUDITED if recorded else MISDECLARED))
    except Exception as error:
        remarks.append(not_audited(f"{type(error).__name__}: {error}"))
    return report, declared, remarks


def _without_ignored_claims(report: Report, ignores: Ignores) -> tuple[Report, set[str]]:
    """Return the report without the claims whose findings are ignored, and the codes of these findings.

    Claims of the second report, on the rule of the rule, are left out as well.
    """
    certificate, codes = without_ignored(report.certificate, ignores)
    report = replace(report, certificate=certificate)
    if report.second is not None:
        second, codes_of_second = without_ignored(report.second.certificate, ignores)
        report = replace(report, second=replace(report.second, certificate=second))
        codes = codes | codes_of_second
    return report, codes


def of_report(result: RuleResult, report: Report) -> RuleResult:
    """Return the result with the fields that a report fills; without a certificate if all its claims are ignored."""
    second = report.second
    return msgspec.structs.replace(
        result,
        certificate=report.certificate if report.claims else None,
        reproduction=report.reproduction,
        report="" if report.verdict in PROVED_AS_WRITTEN else str(report),
        second=second.certificate if second is not None and second.claims else None,
        second_reproduction=second.reproduction if second is not None else "",
    )


def _inferred_text(declared: Declaration | None) -> str:
    """Return an inferred declaration as a line of `[tool.certgrad.signatures]`; "" for another one, or none."""
    from certgrad.rules.declared.written import UnwritableError, inline

    try:
        return inline(declared) if declared is not None and declared.origin == INFERRED_BY else ""
    except UnwritableError:
        return ""


def _op(found: FoundRule, conformance: bool) -> Report:
    """Return the report on an op, which carries its own declaration."""
    named = copy(found.rule)
    named.name, named.conformance = found.name, conformance
    return Report(audit(named), found.where)


class NotDeclaredError(UsageError):
    """A rule has no declared shapes, and none was found at which it traces."""


def _audited(found: FoundRule, table: Mapping[str, Sequence[Declaration]], conformance: bool, order: int) -> Audit:
    """Return the audit of a rule, as declared, as recorded, or else at inferred shapes.

    Of several declarations, the one with the worst verdict counts; of several inferred choices of ranks, the best. The
    arguments are those of `examined`. Raises CertgradError where the declaration does not fit, or no shapes fit.
    """
    rule: Callable = found.rule
    others = approximating(table)

    def checked(d: Declaration, share: float = 1, beside: Sequence[Declared] = ()) -> Report:
        """Return the report with declaration `d` in a `share` of the seconds; `beside` are further approximations."""
        run = partial(
            check,
            rule,
            d.signature,
            name=found.name,
            conformance=conformance,
            elsewhere=[*others, *beside],
            seconds=share * allotted_seconds(),
        )
        if order <= d.order:
            return run(**d.options)
        try:  # order 2 is asked for of all rules: where this one has no such claim, the report says so
            return run(**{**d.options, "order": order})
        except UsageError as error:
            report = run(**d.options)
            return replace(report, left_out=(*report.left_out, f"the rule of the rule: {error}"))

    declarations = _declarations(found, table)
    if declarations is None:
        best = best_choice(found, _inferred(found), checked, partial(_of_known, found, checked=checked))
        if best.report.verdict == "unproved" and (at_values := without_open_numbers(rule, best.declared)) is not None:
            report = checked(at_values)  # at values of static numbers, as nothing was proved for every number
            best = replace(best, report=report, declared=at_values) if report.verdict in DECIDED_VERDICTS else best
        return _with_read_entries(found, best, checked)
    pairs = [_of_known(found, d, checked) for d in declarations]
    return Audit(*max(pairs, key=lambda pair: ORDER.index(pair[0].verdict)))


def _with_read_entries(found: FoundRule, made: Audit, checked: Checked) -> Audit:
    """Return the audit, or a second one if that proves the rule where the first one does not for open sizes.

    The second audit is about axes that are long enough for the entries that the code reads: `x[2]` needs three.
    """
    if made.report.verdict not in ("unproved", AT_SIZES) or (larger := _larger(found, made.declared)) is None:
        return made
    report = checked(larger)
    return replace(made, report=report, declared=larger) if report.verdict in PROOFS else made


def _larger(found: FoundRule, declared: Declaration) -> Declaration | None:
    return with_read_entries(
        UserRule(found.rule, declared.signature, static=declared.static, name=found.name), declared
    )


def _of_known(found: FoundRule, declared: Declaration, checked: Checked) -> tuple[Report, Declaration]:
    """Return the report on a rule and the declaration that counts: `declared`, or one as an approximation.

    If the function has the values of a special function (a Bessel function, say) and no declaration says so, the rule
    is audited also as an approximation of that. This second audit counts if it proves the rule, or leaves open what
    the first one refutes. The program of an approximation is long and seldom proved as it is, so the first audit of a
    long program gets little time.
    """
    if declared.surrogate or declared.approximates is not None:
        return checked(declared), declared
    subject = UserRule(found.rule, declared.signature, static=declared.static, domain=declared.domain, name=found.name)
    program = rules.measured(subject)
    program_is_long = program is not None and rules.is_long(program)
    # Whether a short program has such values is measured only if its audit proves nothing.
    early_ideal = rules.known_as(subject, program) if program is not None and program_is_long else None
    cut_short_before = budget.cut_short
    report = checked(declared, SHORT if early_ideal else 1)
    cut_short = early_ideal is not None and budget.cut_short > cut_short_before
    if report.verdict in DECIDED_VERDICTS or report.assumed:
        return report, declared
    ideal = early_ideal if program_is_long or program is None else rules.known_as(subject, program)
    if ideal is None:
        return checked(declared) if cut_short and report.verdict == "unproved" else report, declared
    of_ideal = replace(declared, domain=(*declared.conditions, *ideal.domain), approximates=ideal.name)
    approximation = checked(of_ideal, beside=rules.known_beside(subject))
    if approximation.verdict not in DECIDED_VERDICTS and cut_short and report.verdict == "unproved":
        report = checked(declared)
    # A rule of an approximation may be the derivative of the special function and not of the program that runs: the
    # refutation of the first audit is no mistake then. If the second audit is open, so is the verdict.
    if approximation.verdict in DECIDED_VERDICTS or (approximation.verdict, report.verdict) == ("unproved", "refuted"):
        text = (KNOWN_WHERE if ideal.domain else KNOWN).format(ideal.name, " and ".join(ideal.domain))
        return replace(approximation, approximates=f"{approximation.approximates}; {text}"), of_ideal
    return report, declared


def declarations_of(found: FoundRule, table: Mapping[str, Sequence[Declaration]]) -> list[Declaration]:
    """Return the author's or recorded declarations of a rule, else inferred ones. Raises UsageError if none fit."""
    if (declarations := _declarations(found, table)) is not None:
        return declarations
    return _inferred(found).declarations


def perhaps_audited(found: FoundRule, table: Mapping[str, Sequence[Declaration]]) -> Iterator[Declaration]:
    """Yield the declarations that an audit of a rule may have used for its certificate, the likeliest first.

    Raises what `declarations_of` raises.
    """
    declarations = declarations_of(found, table)
    yield from declarations
    for declared in declarations:
        if declared.origin == INFERRED_BY and (larger := _larger(found, declared)) is not None:
            yield larger


def _declarations(found: FoundRule, table: Mapping[str, Sequence[Declaration]]) -> list[Declaration] | None:
    """Return the author's declarations, or those of recorded calls; None where there is neither.

    Raises UsageError if a static argument is given by a name that leads nowhere.
    """
    named = table.get(found.name, ())
    by_name = any(d.origin != RECORDED_ORIGIN for d in named)
    carried = declaration_of(found.rule, plain_function(unwrapped(found.rule)), annotated=not by_name)
    return [carried] if carried is not None else [declaration.with_objects() for declaration in named] or None


def _inferred(found: FoundRule) -> Tried:
    """Return the choices of shapes at which a rule traces. Raises NotDeclaredError if there are none."""
    tried = infer(found.rule, calls_of(found))
    if not tried.found:
        why = tried.why_none
        example = '"{w: d m, b: m}, n d"' if "string indexing" in why else '"n d, d -> n"'
        how = f": declare one with certgrad.declare, as in @certgrad.declare({example})"
        raise NotDeclaredError(f"no signature is declared, and {why}{'' if '@certgrad.declare(' in why else how}")
    return tried


def approximating(table: Mapping[str, Sequence[Declaration]]) -> list[Declared]:
    """Return the functions that the project declares by name to approximate another, with their declarations."""
    functions = []
    for name, declarations in table.items():
        with suppress(UsageError):  # the audit of that name reports it
            functions += [(named_function(name), d) for d in declarations if d.approximates is not None]
    return functions


def _remarks(made: Audit) -> Iterator[Remark]:
    """Yield the remarks on an audit: what was inferred, excluded, assumed or left out of the claim."""
    report = made.report
    if made.declared.origin == INFERRED_BY:
        from certgrad.rules.declared.written import unwritten

        with_objects = "".join(f", with {values}" for values in unwritten(made.declared))
        text = f'its shapes are inferred ("{made.declared.signature}"{with_objects}), {NOT_DECLARED}'
        texts = [*made.others, text] if made.wrong_at_others else [text, *made.others]  # a refutation comes first
        at_these = f'{report.verdict} with "{made.declared.signature}" (inferred)'
        brief = "; ".join([at_these, *made.others]) if made.wrong_at_others else ""
        yield Remark(INFERRED, "; ".join(texts), made.wrong_at_others, brief)
    if report.undifferentiated:
        yield Remark(LEFT_OUT, f"no claim is made about {', '.join(report.undifferentiated)}")
    for text in report.left_out:
        yield Remark(LEFT_OUT, f"no claim is made at {text}")
    if report.verdict in PROVED_AS_WRITTEN and (excluded := [h.text for h in beyond_domain(report.certificate)]):
        yield Remark(LEFT_OUT, f"inside the declared domain, the claim holds only where {' and '.join(excluded)}")
    if report.assumed:
        conditions = " and ".join(report.assumed)
        yield Remark(
            BOUNDED, f'assumed: {conditions}; the rule is wrong elsewhere, and domain="{conditions}" declares it'
        )
    if report.lost_gradient:
        yield Remark(NO_GRADIENT, f"no gradient for {', '.join(report.lost_gradient)}")
    if report.approximates:
        yield Remark(OF_IDEAL, report.approximates)
