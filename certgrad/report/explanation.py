"""The texts of `certgrad explain` on an op or a rule, and on a code, for readers who are new to certgrad."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from certgrad.obligations.certificate import Certificate, Claim, Hypothesis, compared_with, verdict_text
from certgrad.obligations.terms.law import Law
from certgrad.report.audited import case_name, is_discharged, merged_hypotheses, signatures
from certgrad.report.codes import Code
from certgrad.report.labelled import fields, witness_rows
from certgrad.report.wording import fill, grounds, in_words, notation, number, symbols

_LONGEST = 240
"""A side of an equation is printed up to this many characters."""


@dataclass(frozen=True)
class Declaration:
    """What an op declares beside its certificate, as plain text for the reader."""

    doc: str
    aliases: Sequence[str] = ()
    jax: str | None = None
    torch: str | None = None
    broadcast: bool = False
    params: Mapping[str, str | None] = field(default_factory=dict)
    equations: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    """By kind of obligation, the two sides of each equation, as traced from the op's first case."""
    inferred: str = ""
    """The inferred declaration of a rule in code; "" if it was declared."""
    limits: Sequence[tuple[str, str]] = ()
    """The remarks that limit the verdict, each as its level and its text."""


def explain_op(certificate: Certificate, declaration: Declaration, width: int | None = None) -> str:
    """Return the text on an op or rule: signature, claims with their hypotheses, conventions, laws, notation."""
    sections = [
        _heading(certificate, declaration, width),
        *(_claim(claim, declaration.equations.get(claim.kind, ()), width) for claim in certificate.claims),
        _conventions(certificate, width),
        _laws(certificate, width),
        _notation(certificate, declaration, width),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def explain_code(code: Code, width: int | None = None) -> str:
    """Return the text on a code, with an example of a rule that breaks it."""
    parts = [
        f"{code.code} {code.kind}: {code.title}",
        fill(code.statement, width, "  "),
        "\n\n".join(fill(paragraph, width) for paragraph in code.meaning.split("\n\n")),
        "For example:",
        textwrap.indent(code.example, "  "),
    ]
    return "\n\n".join(parts) + "\n"


def _heading(certificate: Certificate, declaration: Declaration, width: int | None) -> str:
    first, _, further_lines = declaration.doc.strip().partition("\n")
    title = f"{certificate.op}: {first}" if first else certificate.op
    inferred = " (inferred)" if declaration.inferred else ""
    rows = [
        ("verdict", verdict_text(certificate)),
        *declaration.limits,
        ("signature", "\n".join(signatures(certificate, inferred=declaration.inferred)) + inferred),
        ("", "the arguments broadcast as in numpy" if declaration.broadcast else ""),
        ("domain", symbols(" and ".join(certificate.domain)) or "all real inputs"),
        ("parameters", _parameters(declaration.params)),
        ("aliases", ", ".join(declaration.aliases)),
        ("the same as", ", ".join(name for name in (declaration.jax, declaration.torch) if name)),
        ("source", certificate.source),
    ]
    body = textwrap.dedent(further_lines).strip()
    return "\n".join([title, "", *([body, ""] if body else []), *fields(rows, width)])


def _parameters(params: Mapping[str, str | None]) -> str:
    listed = [f"{name} with {symbols(constraint)}" if constraint else name for name, constraint in params.items()]
    return ", ".join(listed) + ": every real value, not only the default" if listed else ""


def _claim(claim: Claim, equations: Sequence[tuple[str, str]], width: int | None) -> str:
    """Return the section on a claim: its verdict, and labelled lines; empty ones are left out."""
    scopes = dict.fromkeys(case.scope for case in claim.cases if case.scope)
    failing = [case_name(case) for case in claim.cases if not is_discharged(case.verdict)]
    none = "no hypothesis" if claim.verdict == "proved" else ""
    rows = [
        ("states", claim.statement),
        *_sides(claim, equations),
        ("for", "\n".join(scopes)),
        ("in", "\n".join(failing) if len(claim.cases) > 1 else ""),
        ("under", "\n".join(map(_hypothesis, merged_hypotheses(claim.hypotheses))) or none),
        ("uses", "; ".join(claim.facts)),
        ("idealises", "; ".join(claim.idealisations)),
        ("compared", "; ".join(compared_with(claim))),
        ("reason", "\n".join(dict.fromkeys(case.reason for case in claim.cases if case.reason))),
        ("residual", "\n".join(dict.fromkeys(case.residual for case in claim.cases if case.residual))),
    ]
    witness = next((case.witness for case in claim.cases if case.witness is not None), None)
    if witness is not None:
        rows += witness_rows(witness)
    return "\n".join([f"{claim.code} {claim.id}: {claim.verdict}", *fields(rows, width)])


def _hypothesis(hypothesis: Hypothesis) -> str:
    return f"{hypothesis.text}: {in_words(hypothesis)}\n({grounds(hypothesis)})"


def _sides(claim: Claim, equations: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return labelled rows with both sides of each equation; one row if a side is too long."""
    if any(len(side) > _LONGEST for pair in equations for side in pair):
        op, kind = claim.id.split(".")
        return [("both sides", f"too long for this page; certgrad.obligation({op!r}, {kind!r}).text shows them")]
    rows = []
    for left, right in equations:
        rows += [("both sides", left)] if left == right else [("left side", left), ("right side", right)]
    return rows


def _notation(certificate: Certificate, declaration: Declaration, width: int | None) -> str:
    sides = [
        side for pairs in declaration.equations.values() for pair in pairs for side in pair if len(side) <= _LONGEST
    ]
    text = notation([*sides, *(claim.statement for claim in certificate.claims)])
    return fill(text, width) if text else ""


def laws_of(certificate: Certificate) -> list[Law]:
    """Return the laws that the proofs of a certificate applied."""
    titles = {law.title: law for law in Law}
    return [titles[r] for rule in certificate.rules_used if (r := rule.removeprefix("law: ")) in titles]


def _laws(certificate: Certificate, width: int | None) -> str:
    used = laws_of(certificate)
    if not used:
        return ""
    rows = [(law.title, law.statement + (f"\nif {law.condition}" if law.condition else "")) for law in used]
    return "\n".join(["Laws that the proofs applied", *fields(rows, width)])


def _conventions(certificate: Certificate, width: int | None) -> str:
    if not certificate.conventions:
        return ""
    intro = "Convention: what the rule returns where nothing is claimed, beside what JAX and PyTorch return there."
    header = ("at", "certgrad", "JAX", "PyTorch")
    rows = [header, *((c.point, number(c.rule), c.jax or "-", c.torch or "-") for c in certificate.conventions)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    lines = [
        "  " + "  ".join(f"{cell:<{size}}" for cell, size in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return "\n".join([fill(intro, width), *lines])
