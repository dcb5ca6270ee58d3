"""The audit as text for a terminal or a log: a table, a block for each finding, a summary line."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from textwrap import indent

from certgrad.obligations.certificate import (
    Ball,
    CaseClaim,
    Certificate,
    Claim,
    Convention,
    Hypothesis,
    Witness,
    not_for_all,
    stated,
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
    once,
    open_cases,
    options_of,
    summary,
)
from certgrad.report.table import Row, grid
from certgrad.report.wording import duration, figures, fill, grounds, in_words, number, symbols

_LEGEND = (
    "jvp: the JVP is the derivative of the forward. vjp: the VJP is the adjoint of the JVP. fwd: the rule returns the "
    "forward's value. Proved means for all shapes and all real inputs that the hypotheses allow; floats are another "
    "matter. A convention is what the rule returns where nothing is claimed. `certgrad explain` says more."
)
_DIGITS = 24
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
    """The whole text report, `width` columns wide; quiet, findings and the summary; verbose, every rule in full.
    `fails` are lines on what `--strict` fails on.
    """
    parts: list[str] = []
    scripts: list[tuple[str, str]] = []
    if audit.certified and not quiet:
        parts = [table(audit, width, verbose=verbose, colour=colour), fill(_LEGEND, width), ""]
    for one, certificate in audit.certified:
        shown = [pair for pair in open_cases([certificate]) if pair[0].code not in (one.covered or ())]
        for claim, case in shown:
            parts += [block(claim, case, width, one.place.shown), ""]
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
                stated(certificate)
                + (COVERED if one.covered else "")
                + (f"; accepted by Coq {one.coq}" if one.coq else ""),
                "" if verbose else _first(conditions(certificate)),
                "" if verbose else ", ".join(conventions(certificate)),
                duration(one.seconds),
            ),
            tuple(in_full(one.place, certificate)) if verbose else _in_short(one, certificate),
        )
        for one, certificate in audit.certified
    ]
    long = ("", "") if verbose else ("hypotheses", "convention")
    header = ("op", "obligations", "verdict", *long, "time")
    return grid(header, rows, width, colour=colour)


def _in_short(one: RuleResult, certificate: Certificate) -> tuple[tuple[str, str], ...]:
    """What is said of a rule in code is said at these shapes, if nobody declares them, and at these values of its
    options; an op of the library declares all.
    """
    shapes = dict.fromkeys(case.signature for claim in certificate.claims for case in claim.cases if one.inferred)
    found = [("shapes", "; ".join(f"{as_written(signature, one.inferred)} (inferred)" for signature in shapes))]
    found += [("with", options_of(certificate) if one.place.shown else "")]
    return tuple((label, text) for label, text in found if text)


def in_full(place: Place, certificate: Certificate) -> list[tuple[str, str]]:
    """All that a certificate says of its claims beside their findings, as labelled values."""
    claims = certificate.claims
    said = [("file", place.shown)]
    said += [(SHORT_NAMES[claim.kind], _claimed(claim)) for claim in claims]
    said += _each("scope", (f"{case_name(c)}: {c.scope}" for claim in claims for c in claim.cases if c.scope))
    said += _each("hypothesis", (_grounded(h) for h in hypotheses_of(certificate)))
    said += _each("parameters", (symbols(text) for text in certificate.params.values()))
    said += [("convention", _beside(c)) for c in certificate.conventions]
    said += _each("read as", (text for claim in claims for text in claim.idealisations))
    said += _each("uses", (text for claim in claims for text in claim.facts))
    said += _each("compared", (text for claim in claims for text in claim.measured))
    said += [("source", certificate.source)]
    return [(label, value) for label, value in said if value]


def _each(label: str, values: Iterable[str]) -> list[tuple[str, str]]:
    """A line for each value, once; the label stands at the first."""
    return [("" if k else label, value) for k, value in enumerate(dict.fromkeys(filter(None, values)))]


def _claimed(claim: Claim) -> str:
    under = f": {', '.join(map(as_listed, once(claim.hypotheses)))}" if claim.hypotheses else ""
    return claim.verdict + under


def _grounded(hypothesis: Hypothesis) -> str:
    return f"{hypothesis.text}: {in_words(hypothesis)} ({grounds(hypothesis)})"


def _beside(convention: Convention) -> str:
    """What the rule returns at a point, and what others return there."""
    others = [
        f"{name} {number(value)}" for name, value in (("JAX", convention.jax), ("PyTorch", convention.torch)) if value
    ]
    beside = f" ({', '.join(others)})" if others else ""
    return f"{number(convention.rule)} at {convention.point}{beside}"


def _first(conditions: Sequence[str]) -> str:
    """The conditions that fit into a cell, at least one, and how many more there are."""
    shown = [*conditions[:1]]
    for condition in conditions[1:]:
        if len(", ".join([*shown, condition])) > _LONGEST_CELL:
            break
        shown.append(condition)
    more = len(conditions) - len(shown)
    return ", ".join(shown) + (f" and {more} more (--verbose)" if more else "")


def obligations(certificate: Certificate) -> str:
    """The short names of the certificate's obligations: `jvp vjp fwd`."""
    return " ".join(SHORT_NAMES[claim.kind] for claim in certificate.claims)


def block(claim: Claim, case: CaseClaim, width: int | None = None, where: str = "") -> str:
    """A case that is not proved: its code and op, the claim, the case, the reason, the residual, the witness."""
    rows = [("claim", claim.statement), ("case", case_name(case)), ("reason", case.reason), ("residual", case.residual)]
    if case.verdict == "unproved":
        rows.append(("numeric", "\n".join(claim.measured)))
    if case.witness is not None:
        rows += witness_rows(case.witness)
    place = f" ({where})" if where else ""
    return "\n".join([f"{claim.code} {claim.id}: {case.verdict}{place}", *fields(rows, width)])


def witness_rows(witness: Witness) -> list[tuple[str, str]]:
    """A witness as labelled values: the shape, the inputs, and both sides."""
    assigned: list[tuple[str, object]] = [*witness.dims.items(), *witness.statics.items()]
    tangents = [(f"d{name}", value) for name, value in witness.tangents.items()]
    seeds = [("seed" if len(witness.seeds) == 1 else f"seed{k}", v) for k, v in enumerate(witness.seeds.values())]
    values = [*witness.inputs.items(), *tangents, *seeds]
    lines = [", ".join(f"{name} = {value}" for name, value in assigned)] if assigned else []
    lines += [f"{name} = {array(value)}" for name, value in values]
    rows = [("witness" if position == 0 else "", line) for position, line in enumerate(lines)]
    rows += [("at", witness.where), ("left side", ball(witness.lhs)), ("right side", ball(witness.rhs))]
    return [*rows, ("gap", _gap(witness))]


def _gap(witness: Witness) -> str:
    """How far the sides are apart, and beside the larger one; where one is 0, that says nothing, and this is said."""
    if not witness.relative_gap:
        return "one side is no number"
    left, right = Decimal(witness.lhs.midpoint), Decimal(witness.rhs.midpoint)
    beside = f"{witness.relative_gap} of the larger side" if left and right else "one side is 0"
    return f"{figures(left - right if left > right else right - left)} ({beside})"


def array(value: list | str) -> str:
    """A nested list of rationals as text: `[[1/2, 3], [0, 1]]`."""
    return value if isinstance(value, str) else "[" + ", ".join(array(entry) for entry in value) + "]"


def ball(value: Ball) -> str:
    """A ball as `midpoint ± radius`; a midpoint with very many digits is cut, and shows that it is."""
    mantissa, mark, exponent = value.midpoint.partition("e")
    if len(mantissa) > _DIGITS:
        mantissa = mantissa[:_DIGITS] + "…"
    return f"{mantissa}{mark}{exponent} ± {value.radius}"


def fields(rows: Sequence[tuple[str, str]], width: int | None = None, indent: str = "  ") -> list[str]:
    """Labelled lines, aligned and wrapped; rows without a value are left out."""
    rows = [(label, value) for label, value in rows if value]
    column = max((len(label) for label, _ in rows), default=0)
    lines = []
    for label, value in rows:
        first = f"{indent}{label:<{column}}  "
        for line in value.splitlines():
            lines.append(fill(line, width, first, " " * len(first)))
            first = " " * len(first)
    return lines
