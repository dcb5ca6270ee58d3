"""The audit as text for a terminal or a log: a table, a block for each finding, a summary line."""

from collections.abc import Iterable, Sequence
from textwrap import indent

from certgrad.obligations.certificate import (
    CaseClaim,
    Certificate,
    Claim,
    Convention,
    Hypothesis,
    compared_with,
    not_for_all,
)
from certgrad.report.audited import (
    SHORT_NAMES,
    Audit,
    Place,
    RuleResult,
    as_listed,
    as_written,
    case_name,
    conditions,
    conventions,
    hypotheses_of,
    merged_hypotheses,
    open_cases,
    options_of,
    summary,
    told_once,
)
from certgrad.report.labelled import fields, witness_rows
from certgrad.report.problems import of_row
from certgrad.report.table import Row, grid
from certgrad.report.wording import duration, fill, grounds, in_words, number, open_too, symbols

_LEGEND = (
    "jvp: the JVP is the derivative of the forward. vjp: the VJP is the adjoint of the JVP. fwd: the rule returns the "
    "forward's value. Proved means for all sizes of the shapes that are declared or inferred, and all real inputs that "
    "the hypotheses allow; floats are another matter. A convention is what the rule returns where nothing is claimed. "
    "`certgrad explain` says more."
)
_LONGEST_CELL = 90
COVERED = " (baseline)"


def render(
    audit: Audit,
    fails: Sequence[str] = (),
    *,
    quiet: bool = False,
    verbose: bool = False,
    width: int | None = None,
    colour: bool = False,
) -> str:
    """Return the whole text report.

    Args:
        audit: what is reported.
        fails: lines on what `--strict` fails on.
        quiet: findings and the summary alone.
        verbose: every rule in full.
        width: so many columns wide; None: as wide as it comes.
        colour: with the codes of a terminal for colours.
    """
    parts: list[str] = []
    scripts: list[tuple[str, str]] = []
    if audit.certified and not quiet:
        parts = [table(audit, width, verbose=verbose, colour=colour), fill(_LEGEND, width), ""]
    for one, certificate in audit.certified:
        shown = [pair for pair in open_cases([certificate]) if pair[0].code not in (one.covered or ())]
        parts += [part for told in blocks(one, shown, width) for part in (told, "")]
        if why := not_for_all(certificate):
            parts += [*fields([(certificate.op, why)], width, ""), ""]
        if one.reproduction and any(case.verdict == "refuted" for _, case in shown):
            scripts.append((certificate.op, one.reproduction))
    if len(scripts) == 1:
        ((op, script),) = scripts
        parts += [f"to reproduce {op}:", indent(script, "  ")]
    elif scripts:
        each = (
            f"`certgrad explain {scripts[0][0]} --script` prints a program that shows the difference; so of the others"
        )
        parts += [fill(each, width), ""]
    if fails:
        parts += ["--strict fails on:", *(fill(line, width, "  ", "    ") for line in fails), ""]
    return "\n".join([*parts, f"{summary(audit.certificates, audit.missing)} ({duration(audit.seconds)})"]) + "\n"


def table(audit: Audit, width: int | None = None, *, verbose: bool = False, colour: bool = False) -> str:
    """One row an op: obligations, verdict, hypotheses, convention, time; with `verbose`, below it all that is said."""
    rows = [
        Row(
            (
                certificate.op,
                obligations(certificate),
                one.stated + (COVERED if one.covered else "") + (f"; accepted by Coq {one.coq}" if one.coq else ""),
                "" if verbose else _abbreviated_conditions(conditions(certificate)),
                "" if verbose else ", ".join(conventions(certificate)),
                duration(one.seconds),
            ),
            tuple(in_full(one.place, certificate)) if verbose else _in_short(one, certificate),
            tuple(limits(one)),
        )
        for one, certificate in audit.certified
    ]
    long = ("", "") if verbose else ("hypotheses", "convention")
    header = ("op", "obligations", "verdict", *long, "time")
    return grid(header, rows, width, colour=colour)


def _in_short(one: RuleResult, certificate: Certificate) -> tuple[tuple[str, str], ...]:
    """Return the shapes and options of a rule in code that nobody declares; an op of the library declares all."""
    cases = [case for claim in certificate.claims for case in claim.cases if one.inferred]
    shapes = dict.fromkeys(as_written(case.signature, one.inferred) for case in cases)
    found = [("shapes", "; ".join(f"{signature} (inferred)" for signature in shapes))]
    found += [("with", options_of(certificate) if one.place.shown else "")]
    return tuple((label, text) for label, text in found if text)


def limits(one: RuleResult) -> list[tuple[str, str]]:
    """Return the remarks on a rule that its row does not say otherwise."""
    return [(remark.level.value, f"{remark.code} {remark.brief}") for remark in of_row(one)]


def in_full(place: Place, certificate: Certificate) -> list[tuple[str, str]]:
    """All that a certificate says of its claims beside their findings, as labelled values."""
    claims = certificate.claims
    said = [("file", place.shown)]
    said += [(SHORT_NAMES[claim.kind], _verdict_with_hypotheses(claim)) for claim in claims]
    said += _labelled_lines("scope", (f"{case_name(c)}: {c.scope}" for claim in claims for c in claim.cases if c.scope))
    said += _labelled_lines("hypothesis", (_grounded(h) for h in hypotheses_of(certificate)))
    said += _labelled_lines("parameters", (symbols(text) for text in certificate.params.values()))
    said += [("convention", _convention_text(c)) for c in certificate.conventions]
    said += _labelled_lines("read as", (text for claim in claims for text in claim.idealisations))
    said += _labelled_lines("uses", (text for claim in claims for text in claim.facts))
    said += _labelled_lines("compared", (text for claim in claims for text in compared_with(claim)))
    said += [("source", certificate.source)]
    return [(label, value) for label, value in said if value]


def _labelled_lines(label: str, values: Iterable[str]) -> list[tuple[str, str]]:
    """Return a line for each value, once; the label stands at the first."""
    return [("" if k else label, value) for k, value in enumerate(dict.fromkeys(filter(None, values)))]


def _verdict_with_hypotheses(claim: Claim) -> str:
    under = f": {', '.join(map(as_listed, merged_hypotheses(claim.hypotheses)))}" if claim.hypotheses else ""
    return claim.verdict + under


def _grounded(hypothesis: Hypothesis) -> str:
    return f"{hypothesis.text}: {in_words(hypothesis)} ({grounds(hypothesis)})"


def _convention_text(convention: Convention) -> str:
    """Return what the rule returns at a point, and what others return there."""
    others = [
        f"{name} {number(value)}" for name, value in (("JAX", convention.jax), ("PyTorch", convention.torch)) if value
    ]
    beside = f" ({', '.join(others)})" if others else ""
    return f"{number(convention.rule)} at {convention.point}{beside}"


def _abbreviated_conditions(conditions: Sequence[str]) -> str:
    """Return the conditions that fit into a cell, at least one, and how many more there are."""
    shown = [*conditions[:1]]
    for condition in conditions[1:]:
        if len(", ".join([*shown, condition])) > _LONGEST_CELL:
            break
        shown.append(condition)
    more = len(conditions) - len(shown)
    return ", ".join(shown) + (f" and {more} more (--verbose)" if more else "")


def obligations(certificate: Certificate) -> str:
    """Return the short names of the certificate's obligations: `jvp vjp fwd`."""
    return " ".join(SHORT_NAMES[claim.kind] for claim in certificate.claims)


def blocks(one: RuleResult, shown: Sequence[tuple[Claim, CaseClaim]], width: int | None = None) -> list[str]:
    """Return a block for each of these cases of a rule; claims open for the same reason share one."""
    if one.certificate is None:
        return []
    told = told_once(one.certificate, one.covered or ())
    return [block(claim, case, width, one.place.shown, told[claim.code]) for claim, case in shown if claim.code in told]


def block(claim: Claim, case: CaseClaim, width: int | None = None, where: str = "", also: Sequence[str] = ()) -> str:
    """A case that is not proved: its code and op, the claim, the case, the reason, the residual, the witness; and the
    codes of claims that are open for the same reason.
    """
    rows = [("claim", claim.statement), ("case", case_name(case)), ("reason", case.reason), ("residual", case.residual)]
    if case.verdict == "unproved":
        rows.append(("numeric", "\n".join(compared_with(claim))))
    if case.witness is not None:
        rows += witness_rows(case.witness)
    place = f" ({where})" if where else ""
    too = f", {open_too(also)}" if also else ""
    return "\n".join([f"{claim.code} {claim.id}: {case.verdict}{too}{place}", *fields(rows, width)])
