"""The rules of an audit in the form that the page shows: rows of the table, and details."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from certgrad.exhibits.data import Drawing, Exhibit, Mend, Program, decode
from certgrad.obligations.certificate import (
    ASSUMED,
    CaseClaim,
    Certificate,
    Claim,
    Hypothesis,
    Witness,
    compared_with,
    not_for_all,
)
from certgrad.report.audited import (
    SHORT_NAMES,
    Audit,
    RuleResult,
    as_written,
    case_name,
    conditions,
    hypotheses_of,
    is_discharged,
    signatures,
)
from certgrad.report.codes import CODES, REMARKS
from certgrad.report.explanation import laws_of
from certgrad.report.html._formulas import Formula, of_equation, of_form, of_hypothesis, of_statement
from certgrad.report.html._plots import Drawn, drawn
from certgrad.report.html._summary import generality
from certgrad.report.html._verdicts import Mark, mark
from certgrad.report.labelled import witness_rows
from certgrad.report.problems import Level, Problem, of_row, problems, remarks
from certgrad.report.wording import duration, grounds, in_words, notation, number, symbols

FORMS = {
    "jvp": "the JVP is the derivative of the forward",
    "vjp": "the VJP is the adjoint of the JVP",
    "fwd": "the rule returns the forward's value",
    "ref": "the forward computes what the reference says",
}
_IN_ROW = 2
"""At most this many hypotheses stand in a row of the table."""
_WIDEST = 48
"""A hypothesis with more characters is only in the details."""
_NARROW = 24
_CASES = 6


@dataclass(frozen=True)
class WordedHypothesis:
    """A hypothesis as a formula and in words, and where it comes from."""

    formula: Formula
    words: str
    grounds: str
    negligible: bool


@dataclass(frozen=True)
class Sides:
    """An equation: both sides as they were traced, and their common normal form in each region."""

    left: Formula
    right: Formula
    same: bool
    common: list[tuple[str, Formula]]


@dataclass(frozen=True)
class Failing:
    """A case that is not proved."""

    verdict: str
    mark: Mark
    name: str
    reason: list[str]
    residual: str
    witness: list[tuple[str, str]]


@dataclass(frozen=True)
class Obligation:
    """A claim with its hypotheses, failing cases, equations and plots."""

    code: str
    short: str
    title: str
    id: str
    verdict: str
    mark: Mark
    words: str
    formula: Formula
    hypotheses: list[WordedHypothesis]
    scopes: list[str]
    failing: list[Failing]
    sides: list[Sides]
    sides_of: str
    plots: list[Drawn]
    noted: list[tuple[str, list[str]]]


@dataclass(frozen=True)
class Rule:
    """A rule: the texts of its row, and of its details."""

    anchor: str
    name: str
    module: str
    where: str
    doc: str
    verdict: str
    short: str
    """The verdict with its limits, for a row."""
    search: str
    """The text that the page's search looks at."""
    mark: Mark
    rank: int
    covered: list[str]
    coq: str
    generality: str
    seconds: float
    time: str
    signatures: list[str]
    facts: list[tuple[str, str]]
    inferred: bool
    in_row: list[tuple[Formula, bool]]
    """Hypotheses for the row, each with whether it is assumed."""
    more: int
    count: int
    obligations: list[Obligation]
    conventions: list[tuple[str, str, str, str]]
    seams: list[Drawn]
    mend: Mend | None
    mend_lines: list[tuple[str, str]]
    drawings: list[Drawing]
    programs: list[Program]
    reproduction: str
    laws: list[tuple[str, str, str]]
    remarks: list[Problem]
    limits: list[Problem]
    limited: str
    notation: str


@dataclass
class Rules:
    """The rules of an audit, refuted ones first, then others that fail; and remarks on rules that have no row."""

    audit: Audit
    shown: list[Rule] = field(default_factory=list)
    remarks: list[tuple[Problem, str]] = field(default_factory=list)
    failing: list[tuple[Problem, str]] = field(default_factory=list)
    """Problems at the top of the page, each with the anchor of its rule: those refuted, or on which the audit fails."""

    def __post_init__(self) -> None:
        """Make a `Rule` of each result with a certificate, sort them, and collect remarks on the other results."""
        taken: set[str] = set()
        anchors: dict[str, str] = {}
        names = {certificate.op for certificate in self.audit.certificates}
        by_rule: dict[str, list[Problem]] = {}
        for remark in remarks(self.audit):
            if remark.covered:
                continue
            if remark.rule in names:
                by_rule.setdefault(remark.rule, []).append(remark)
            else:
                self.remarks.append((remark, REMARKS[remark.code].title))
        for result, certificate in self.audit.certified:
            anchor = _anchor(certificate.op, taken)
            self.shown.append(_rule(result, certificate, anchor, by_rule.get(certificate.op, [])))
            anchors[certificate.op] = anchor
        open_problems = (p for p in problems(self.audit) if p.code in CODES and not p.covered)
        self.failing += [
            (p, anchors[p.rule]) for p in open_problems if p.verdict == "refuted" or p.level is Level.error
        ]
        first_anchors = {anchor for _, anchor in self.failing}
        self.shown.sort(key=lambda rule: (rule.verdict != "refuted", rule.anchor not in first_anchors))


def _anchor(name: str, taken: set[str]) -> str:
    """Return an id made from a name that is not in `taken`, and add it there."""
    base = "rule-" + (re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-") or "unnamed")
    candidate, k = base, 1
    while candidate in taken:
        k += 1
        candidate = f"{base}-{k}"
    taken.add(candidate)
    return candidate


def _rule(one: RuleResult, certificate: Certificate, anchor: str, beside: Sequence[Problem]) -> Rule:
    """Return a rule as the page shows it; `beside` are the remarks on it, `anchor` is its id.

    The certificate gives the texts, and the exhibit of the result, if it has one, plots, equations and programs.
    """
    from certgrad.obligations.certificate import ORDER

    shown = decode(one.exhibit) if one.exhibit else Exhibit()
    where = one.place.shown
    module, _, rule_name = certificate.op.rpartition(":")
    hypotheses = hypotheses_of(certificate)
    short = [h for h in hypotheses if len(h.text) <= _WIDEST][:_IN_ROW]
    seams = [drawn(p, f"{anchor}-s{k}") for k, p in enumerate(shown.plots) if p.kind == "seam"]
    obligations = [_obligation(claim, shown, f"{anchor}-{claim.code}") for claim in certificate.claims]
    texts = [f.text for o in obligations for s in o.sides for f in (s.left, s.right)]
    return Rule(
        anchor,
        rule_name,
        module,
        where,
        shown.doc,
        certificate.verdict,
        "; ".join(p for p in one.stated.split("; ") if not p.startswith("at ranks ")),
        " ".join(
            [certificate.op, *shown.doc.splitlines()[:1], *signatures(certificate), *(h.text for h in hypotheses)]
        ),
        mark(certificate.verdict),
        ORDER.index(certificate.verdict),
        sorted(one.covered or ()),
        one.coq or "",
        generality(certificate),
        one.seconds,
        duration(one.seconds) if one.seconds else "",
        signatures(certificate, _CASES, one.inferred),
        _facts(certificate, where),
        bool(one.inferred),
        [(_brief(h), h.source == ASSUMED) for h in short],
        len(conditions(certificate)) - len(short) if len(conditions(certificate)) > len(short) else 0,
        len(hypotheses),
        obligations,
        [(c.point, number(c.rule), number(c.jax), number(c.torch)) for c in certificate.conventions],
        seams,
        shown.mend,
        _coloured(shown.mend),
        list(shown.drawings),
        list(shown.programs),
        one.reproduction if any(c.verdict == "refuted" for c in certificate.claims) else "",
        [(law.title, law.statement, law.condition) for law in laws_of(certificate)],
        list(beside),
        of_row(one),
        not_for_all(certificate),
        notation([*texts, *(claim.statement for claim in certificate.claims)]),
    )


def _brief(h: Hypothesis) -> Formula:
    """Return a hypothesis for a row: text alone if it is long, as formulas do not wrap."""
    formula = of_hypothesis(h)
    return formula if len(formula.text) <= _NARROW else Formula([], formula.text)


def _facts(certificate: Certificate, where: str) -> list[tuple[str, str]]:
    """Return labelled facts about the rule as a whole: its file, domain, parameters, source, digest."""
    parameters = [f"{n} with {symbols(c)}" if c else n for n, c in certificate.params.items()]
    literals = [f"{one.literal} is {one.text}" for one in certificate.literals]
    rows = [
        ("file", where),
        ("domain", symbols(" and ".join(certificate.domain))),
        ("parameters", ", ".join(parameters) + ": every real value" if parameters else ""),
        ("read as", ", ".join(literals)),
        ("source", certificate.source),
        ("digest", certificate.digest[:16]),
    ]
    return [(label, value) for label, value in rows if value]


def _obligation(claim: Claim, shown: Exhibit, anchor: str) -> Obligation:
    """Return an obligation as the page shows it: its statement, hypotheses, failing cases, sides and plots."""
    words, formula = of_statement(claim.statement)
    sides = next((s for s in shown.sides if s.kind == claim.kind), None)
    plots = [p for p in shown.plots if p.kind == "witness" and p.title.startswith(claim.code)]
    failing = [c for c in claim.cases if not is_discharged(c.verdict)]
    noted = [
        ("uses", claim.facts),
        ("read as", claim.idealisations),
        ("compared", compared_with(claim)),
    ]
    return Obligation(
        claim.code,
        SHORT_NAMES[claim.kind],
        CODES[claim.code].title,
        claim.id,
        claim.verdict,
        mark(claim.verdict),
        words,
        formula,
        [_worded_hypothesis(h) for h in claim.hypotheses],
        list(dict.fromkeys(case.scope for case in claim.cases if case.scope and is_discharged(case.verdict))),
        [_failing(c, len(claim.cases) > 1) for c in failing[:_CASES]],
        []
        if sides is None
        else [_sides(*of_equation(e), e.left_text == e.right_text, e.common) for e in sides.equations],
        "" if sides is None else as_written(sides.signature),
        [drawn(p, f"{anchor}-w{k}") for k, p in enumerate(plots)],
        [(label, list(values)) for label, values in noted if values],
    )


def _sides(left: Formula, right: Formula, same: bool, common: Sequence) -> Sides:
    return Sides(left, right, same, [(form.where, of_form(form)) for form in common])


def _worded_hypothesis(h: Hypothesis) -> WordedHypothesis:
    return WordedHypothesis(of_hypothesis(h), in_words(h), grounds(h), h.negligible)


def _failing(case: CaseClaim, several: bool) -> Failing:
    return Failing(
        case.verdict,
        mark(case.verdict),
        case_name(case) if several else "",
        case.reason.splitlines(),
        case.residual,
        _witness(case.witness),
    )


def _witness(witness: Witness | None) -> list[tuple[str, str]]:
    if witness is None:
        return []
    rows = []
    for k, (label, value) in enumerate(witness_rows(witness)):
        name, assigned, rest = value.partition(" = ")
        if k == 0 and (witness.dims or witness.statics):
            rows.append(("with" if witness.statics else "sizes", value))
        else:
            rows.append((name, rest) if label in ("witness", "") and assigned else (label, value))
    return [(label, value) for label, value in rows if value]


def _coloured(mend: Mend | None) -> list[tuple[str, str]]:
    """Return the lines of a diff, each with its class in the style sheet; [] without a mend."""
    kinds = {"+": "added", "-": "removed", "@": "hunk"}
    lines = mend.diff.splitlines() if mend is not None else []
    return [("" if line[:3] in ("+++", "---") else kinds.get(line[:1], ""), line) for line in lines]
