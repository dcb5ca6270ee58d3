"""A graph certificate for people: text and Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import zip_longest

from certgrad.graph.certificate import AtArrays, GraphCertificate, Lemma, Step, Theorem
from certgrad.graph.ir import Literal, Node
from certgrad.graph.wording.explain import broken_in_floats
from certgrad.graph.wording.explain import lines as explained

WIDTH = 100


def render_text(certificate: GraphCertificate, width: int | None = None, explain: bool = False) -> str:
    """Return the certificate as plain text: nodes with their lemmas, hypotheses, findings, conclusions.

    With `explain`, also say why each hypothesis of a lemma was discharged at its node, or kept.
    """
    width = max(width or WIDTH, 60)
    graph = certificate.graph
    lines = [f"{graph.name} over the dimensions {', '.join(graph.dims) or '(none)'}: {certificate.verdict}", ""]
    lines += [line for text in excluded(certificate) for line in (text, "")]
    lines += _table(["node", "type", "operation", "lemma", "source", "verdict"], _rows(certificate))
    for title, _, entries in _sections(certificate, explain):
        if entries:
            lines += ["", title]
            for entry in entries:
                indent = "  " + " " * (len(entry) - len(entry.lstrip()))
                lines += textwrap.wrap(
                    entry.lstrip(),
                    width,
                    initial_indent=indent,
                    subsequent_indent=f"{indent}  ",
                    break_long_words=False,
                    break_on_hyphens=False,
                )
    return "\n".join(lines) + "\n"


def render_markdown(certificate: GraphCertificate, explain: bool = False) -> str:
    """Return the certificate as Markdown; `explain` is that of `render_text`."""
    graph = certificate.graph
    lines = [f"# `{graph.name}`: {certificate.verdict}", ""]
    lines += [line for text in excluded(certificate) for line in (f"**{text}**", "")]
    lines += [f"Over the dimensions {', '.join(f'`{d}`' for d in graph.dims) or '(none)'}.", ""]
    header = ["node", "type", "operation", "lemma", "source", "verdict"]
    lines += [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    for row in _rows(certificate):
        cells = [f"`{cell}`" if k in (1, 2, 3) and cell else cell for k, cell in enumerate(row)]
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    for _, title, entries in _sections(certificate, explain):
        if entries:
            lines += ["", f"## {title}", ""]
            lines += [" " * (len(entry) - len(entry.lstrip())) + f"- {entry.lstrip()}" for entry in entries]
    return "\n".join(lines) + "\n"


def _sections(certificate: GraphCertificate, explain: bool) -> list[tuple[str, str, list[str]]]:
    """Return the sections of the report after the table of nodes, each with its title in plain text and in Markdown."""
    why = explained(certificate) if explain else []
    return [
        ("hypotheses", "Hypotheses", grouped(certificate) or ["none"]),
        ("hypotheses on dimensions", "Hypotheses on dimensions", certificate.dimensions),
        ("discharged", "Discharged", [] if explain else discharged(certificate)),
        (
            "every hypothesis of a lemma at its node, and why it is discharged or kept",
            "Every hypothesis of a lemma at its node",
            why,
        ),
        (
            "used above, true of real numbers, and for floating point to break",
            "Used above, and for floating point to break",
            broken_in_floats(certificate),
        ),
        ("findings", "Findings", certificate.findings),
        ("lemmas, each for all sizes of its dimensions", "Lemmas", [lemma_line(lemma) for lemma in certificate.lemmas]),
        (
            "how steps are put together, proved for all matrices",
            "How steps are put together, proved for all matrices",
            [theorem_line(t) for t in certificate.theorems],
        ),
        ("conclusions", "Conclusions", conclusions(certificate)),
        ("traced in", "Traced in", [certificate.traced_in] if certificate.traced_in else []),
        ("this rests on", "This rests on", certificate.assumptions),
    ]


def _rows(certificate: GraphCertificate) -> list[list[str]]:
    return [_row(n, s) for n, s in zip(certificate.graph.nodes, certificate.steps, strict=True)]


def _row(node: Node, step: Step) -> list[str]:
    types = ", ".join(map(str, node.outputs))
    verdict = "" if node.kind in ("input", "constant") else step.verdict
    return [f"%{node.id}", types, operation(node), step.lemma[:8], node.source, verdict]


def operation(node: Node) -> str:
    """Return what the node computes, and of which operands."""
    if node.kind in ("input", "constant"):
        return f"{node.kind} {node.name}"
    operands = ", ".join(o.text if isinstance(o, Literal) else str(o) for o in node.operands)
    prefix = "" if node.kind == "primitive" else f"{node.kind} "
    return f"{prefix}{node.name}({operands})"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[k]) for row in [header, *rows]) for k in range(len(header))]
    return [
        "  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in [header, *rows]
    ]


def discharged(certificate: GraphCertificate) -> list[str]:
    """Return each hypothesis of a lemma that holds at its node, and why."""
    out = []
    for node, step in zip(certificate.graph.nodes, certificate.steps, strict=True):
        for hypothesis in step.discharged:
            where = f"{node.name} at {node.source}" if node.source else f"{node.name} (%{node.id})"
            out.append(f"{where}: {hypothesis.formula}, because {hypothesis.because}")
    return out


def grouped(certificate: GraphCertificate) -> list[str]:
    """Return each hypothesis once, with the number of nodes that have it.

    First come those that fail at the given arrays, then those that fail on an open set.
    """
    counts: dict[tuple[bool, bool, str], int] = {}
    for h, result in zip_longest(certificate.hypotheses, certificate.at_arrays):
        text = f"{h.text}: {at_arrays(result)}" if result else h.text
        key = (not (result and result.failing), h.negligible, text)
        counts[key] = counts.get(key, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: item[0][:2])
    return [text + (f" ({n} times)" if n > 1 else "") for (*_, text), n in ordered]


def excluded(certificate: GraphCertificate) -> list[str]:
    """Return a line that says how many hypotheses fail at the given arrays; an empty list where none does."""
    failing = sum(1 for result in certificate.at_arrays if result.failing)
    if not failing:
        return []
    count = len(certificate.at_arrays)
    which = "the hypothesis fails" if count == 1 else f"{failing} of {count} hypotheses fail"
    return [f"Nothing is claimed of your arrays: {which} there."]


def at_arrays(found: AtArrays) -> str:
    """Return in words what came of a hypothesis at the arrays that were given."""
    if found.unknown:
        return f"not evaluated at your arrays ({found.unknown})"
    if not found.failing:
        return "holds for your arrays"
    axes = [k for name, k in found.first.items() if name.startswith("axis ")]
    first = ", ".join(f"{name} = {k}" for name, k in found.first.items() if not name.startswith("axis "))
    first = f"{first}{', ' if first else ''}{axes}" if axes else first
    instead_text = f"{', where ' if first else ': '}{found.instead} is asked" if found.instead else ""
    if found.places == 1:
        return f"fails for your arrays{instead_text}"
    return f"fails at {found.failing:,} of {found.places:,} places of your arrays, first at {first}{instead_text}"


def theorem_line(theorem: Theorem) -> str:
    """Return a theorem in one line."""
    return f"{theorem.name}: {theorem.verdict}. {theorem.statement}"


def lemma_line(lemma: Lemma) -> str:
    """Return a lemma in one line."""
    given = f", given {', '.join(lemma.given)}" if lemma.given else ""
    under = f" ({'; '.join(lemma.hypotheses)})" if lemma.hypotheses else ""
    return f"{lemma.digest[:8]}  {lemma.name}: {lemma.signature}{given}: {lemma.verdict}{under}"


def conclusions(certificate: GraphCertificate) -> list[str]:
    """Return the conclusions of the induction, one line each."""
    return [f"{c.name}: {c.statement}" + ("" if c.holds else " (not shown)") for c in certificate.conclusions]
