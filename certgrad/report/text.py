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
        audit: the audit to report.
        fails: lines on the problems that `--strict` fails on.
        quiet: print findings and the summary alone.
        verbose: print all about every rule.
        width: the width in columns; None for the default.
        colour: use the colour codes of a terminal.
    """
    parts: list[str] = []
    scripts: list[tuple[str, str]] = []
    if audit.certified and not quiet:
        parts = [table(audit, width, verbose=verbose, colour=colour), fill(_LEGEND, width), ""]
    for result, certificate in audit.certified:
        shown = [pair for pair in open_cases([certificate]) if pair[0].code not in (result.covered or ())]
        parts += [part for block_text in blocks(result, shown, width) for part in (block_text, "")]
        if why := not_for_all(certificate):
            parts += [*fields([(certificate.op, why)], width, ""), ""]
        if result.reproduction and any(case.verdict == "refuted" for _, case in shown):
            scripts.append((certificate.op, result.reproduction))
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
    """Return a table with a row for each rule: obligations, verdict, hypotheses, convention, time.

    With `verbose`, all that the certificate says stands below the row.
    """
    rows = [
        Row(
            (
                certificate.op,
                obligations(certificate),
                result.stated
                + (COVERED if result.covered else "")
                + (f"; accepted by Coq {result.coq}" if result.coq else ""),
                "" if verbose else _abbreviated_conditions(conditions(certificate)),
                "" if verbose else ", ".join(conventions(certificate)),
                duration(result.seconds),
            ),
            tuple(in_full(result.place, certificate)) if verbose else _in_short(result, certificate),
            tuple(limits(result)),
        )
        for result, certificate in audit.certified
    ]
    long = ("", "") if verbose else ("hypotheses", "convention")
    header = ("op", "obligations", "verdict", *long, "time")
    return grid(header, rows, width, colour=colour)


def _in_short(one: RuleResult, certificate: Certificate) -> tuple[tuple[str, str], ...]:
    """Return labelled inferred shapes, and the options of a rule in code; empty ones are left out."""
    cases = [case for claim in certificate.claims for case in claim.cases if one.inferred]
    shapes = dict.fromkeys(as_written(case.signature, one.inferred) for case in cases)
    labelled_texts = [("shapes", "; ".join(f"{signature} (inferred)" for signature in shapes))]
    labelled_texts += [("with", options_of(certificate) if one.place.shown else "")]
    return tuple((label, text) for label, text in labelled_texts if text)


def limits(one: RuleResult) -> list[tuple[str, str]]:
    """Return the remarks that are shown with a rule's row, each as its level and its text."""
    return [(remark.level.value, f"{remark.code} {remark.brief}") for remark in of_row(one)]


def in_full(place: Place, certificate: Certificate) -> list[tuple[str, str]]:
    """Return all that a certificate says about its claims, beside findings, as labelled values."""
    claims = certificate.claims
    rows = [("file", place.shown)]
    rows += [(SHORT_NAMES[claim.kind], _verdict_with_hypotheses(claim)) for claim in claims]
    rows += _labelled_lines("scope", (f"{case_name(c)}: {c.scope}" for claim in claims for c in claim.cases if c.scope))
    rows += _labelled_lines("hypothesis", (_grounded(h) for h in hypotheses_of(certificate)))
    rows += _labelled_lines("parameters", (symbols(text) for text in certificate.params.values()))
    rows += [("convention", _convention_text(c)) for c in certificate.conventions]
    rows += _labelled_lines("read as", (text for claim in claims for text in claim.idealisations))
    rows += _labelled_lines("uses", (text for claim in claims for text in claim.facts))
    rows += _labelled_lines("compared", (text for claim in claims for text in compared_with(claim)))
    rows += [("source", certificate.source)]
    return [(label, value) for label, value in rows if value]


def _labelled_lines(label: str, values: Iterable[str]) -> list[tuple[str, str]]:
    """Return a labelled line for each value, each once; only the first line has the label."""
    return [("" if k else label, value) for k, value in enumerate(dict.fromkeys(filter(None, values)))]


def _verdict_with_hypotheses(claim: Claim) -> str:
    under = f": {', '.join(map(as_listed, merged_hypotheses(claim.hypotheses)))}" if claim.hypotheses else ""
    return claim.verdict + under


def _grounded(hypothesis: Hypothesis) -> str:
    return f"{hypothesis.text}: {in_words(hypothesis)} ({grounds(hypothesis)})"


def _convention_text(convention: Convention) -> str:
    """Return a text on what the rule returns at a point, beside what JAX and PyTorch return there."""
    others = [
        f"{name} {number(value)}" for name, value in (("JAX", convention.jax), ("PyTorch", convention.torch)) if value
    ]
    suffix = f" ({', '.join(others)})" if others else ""
    return f"{number(convention.rule)} at {convention.point}{suffix}"


def _abbreviated_conditions(conditions: Sequence[str]) -> str:
    """Return the first conditions that fit into a cell, at least one, and how many more there are."""
    shown = [*conditions[:1]]
    for condition in conditions[1:]:
        if len(", ".join([*shown, condition])) > _LONGEST_CELL:
            break
        shown.append(condition)
    remaining = len(conditions) - len(shown)
    return ", ".join(shown) + (f" and {remaining} more (--verbose)" if remaining else "")


def obligations(certificate: Certificate) -> str:
    """Return the short names of the certificate's obligations: `jvp vjp fwd`."""
    return " ".join(SHORT_NAMES[claim.kind] for claim in certificate.claims)


def blocks(one: RuleResult, shown: Sequence[tuple[Claim, CaseClaim]], width: int | None = None) -> list[str]:
    """Return a block for each of the cases `shown` of a rule; claims open for the same reason share a block."""
    if one.certificate is None:
        return []
    codes_told = told_once(one.certificate, one.covered or ())
    return [
        block(claim, case, width, one.place.shown, codes_told[claim.code])
        for claim, case in shown
        if claim.code in codes_told
    ]


def block(claim: Claim, case: CaseClaim, width: int | None = None, where: str = "", also: Sequence[str] = ()) -> str:
    """Return the block on a case that is not proved: claim, case, reason, residual and witness.

    `where` is the place of the rule; `also` are the codes of claims that are open for the same reason.
    """
    rows = [("claim", claim.statement), ("case", case_name(case)), ("reason", case.reason), ("residual", case.residual)]
    if case.verdict == "unproved":
        rows.append(("numeric", "\n".join(compared_with(claim))))
    if case.witness is not None:
        rows += witness_rows(case.witness)
    place = f" ({where})" if where else ""
    too = f", {open_too(also)}" if also else ""
    return "\n".join([f"{claim.code} {claim.id}: {case.verdict}{too}{place}", *fields(rows, width)])
