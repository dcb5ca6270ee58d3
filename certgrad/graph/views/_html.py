"""A certified graph as one self-contained page: drawing, hypotheses, nodes, lemmas. It has no scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module, resources
from itertools import pairwise
from typing import Any

from certgrad.errors import UsageError
from certgrad.graph.certificate import GraphCertificate, Step
from certgrad.graph.ir import Graph, Node
from certgrad.graph.views._groups import READABLE, Group, edges, groups
from certgrad.graph.views._layout import Point, layout
from certgrad.graph.wording.describe import Descriptions
from certgrad.graph.wording.explain import broken_in_floats, lines
from certgrad.graph.wording.report import conclusions, grouped, lemma_line, theorem_line

MARKS = {
    "proved": "✓",
    "proved under hypotheses": "✓ if",
    "proved up to rounding": "✓ up to rounding",
    "refuted": "✗ refuted",
    "unproved": "? unproved",
    "surrogate": "~ surrogate",
}
WORDS = {"proved": "✓ proved", "proved under hypotheses": "✓ if: proved under hypotheses"}
_CHARACTER, _LINE, _MARGIN, _LONGEST = 6.7, 15.0, 9.0, 30


@dataclass(frozen=True)
class Shape:
    """A box of a drawing: its upper left corner and its size, its text lines, and the anchor that it links to."""

    x: float
    y: float
    width: float
    height: float
    style: str
    lines: list[str]
    title: str
    link: str


@dataclass(frozen=True)
class Picture:
    """A drawing as numbers and strings for the page."""

    width: float
    height: float
    shapes: list[Shape]
    paths: list[str]


@dataclass(frozen=True)
class Row:
    """A node in the list of nodes."""

    anchor: str
    node: Node
    step: Step
    style: str
    mark: str
    title: str
    hypotheses: list[str]
    inside: list[Section]


@dataclass(frozen=True)
class Section:
    """A graph, or a run of its nodes, with its drawing and its list."""

    title: str
    anchor: str
    style: str
    mark: str
    hypotheses: int
    picture: Picture | None
    rows: list[Row]
    parts: list[Section]


def render_html(certificate: GraphCertificate) -> str:
    """Return the page as HTML. Raises UsageError where jinja2 is not installed."""
    try:
        jinja2: Any = import_module("jinja2")
    except ImportError:
        raise UsageError("HTML needs jinja2. Install it with: pip install 'certgrad[html]'.") from None
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8"))
    page: str = template.render(
        certificate=certificate,
        style=_style(certificate.verdict),
        mark=MARKS[certificate.verdict],
        graph=_section(certificate.graph, certificate.steps, "n"),
        hypotheses=grouped(certificate),
        explained=lines(certificate),
        floats=broken_in_floats(certificate),
        lemmas=[lemma_line(one) for one in certificate.lemmas],
        theorems=[theorem_line(one) for one in certificate.theorems],
        conclusions=conclusions(certificate),
        legend=[(_style(v), WORDS.get(v, m)) for v, m in MARKS.items()],
    )
    return page + "\n"


def picture(certificate: GraphCertificate) -> Picture:
    """Return the drawing of the graph alone."""
    drawing = _section(certificate.graph, certificate.steps, "n").picture
    assert drawing is not None
    return drawing


def _style(verdict: str) -> str:
    return {"proved under hypotheses": "under", "proved up to rounding": "rounding"}.get(verdict, verdict)


def _section(graph: Graph, steps: Sequence[Step], prefix: str, title: str = "") -> Section:
    """Return the section of a graph: a small one is drawn node by node, a large one by runs, each with its section."""
    described = Descriptions(graph)
    rows = [_row(node, step, described, prefix) for node, step in zip(graph.nodes, steps, strict=True)]
    whole = Group(title, graph.nodes, list(steps))
    if len(graph.nodes) <= READABLE:
        return _group_section(whole, rows, prefix, _of_nodes(whole, rows))
    runs = groups(graph, steps)
    row_of = {row.node.id: row for row in rows}
    parts = []
    for k, group in enumerate(runs):
        own_rows = [row_of[n.id] for n in group.nodes]
        picture = _of_nodes(group, own_rows) if 1 < len(own_rows) <= READABLE else None
        parts.append(_group_section(group, own_rows, f"{prefix}g{k}", picture))
    return _group_section(whole, [], prefix, _of_groups(runs, parts), parts)


def _group_section(
    group: Group, rows: list[Row], anchor: str, picture: Picture | None, parts: Sequence[Section] = ()
) -> Section:
    verdict = group.verdict
    count = len(group.hypotheses)
    return Section(group.title, anchor, _style(verdict), MARKS[verdict], count, picture, rows, list(parts))


def _row(node: Node, step: Step, described: Descriptions, prefix: str) -> Row:
    """Return a node as a row of the list, with the sections of the graphs inside it."""
    is_given = node.kind in ("input", "constant")
    anchor = f"{prefix}{node.id}"
    title = described.of(node)
    if not is_given:
        title.append(f"{step.verdict}" + (f", by the lemma {step.lemma[:8]}" if step.lemma else ""))
    title += [f"needs: {h.text}" for h in step.hypotheses] + ([step.reason] if step.reason else [])
    inside = [
        _section(body, part.steps, f"{anchor}b{k}-", f"{body.name} of %{node.id}")
        for k, (body, part) in enumerate(zip(node.bodies, step.inside, strict=False))
    ]
    hypotheses = list(dict.fromkeys(h.text for h in step.hypotheses))
    style, mark = ("given", "") if is_given else (_style(step.verdict), MARKS[step.verdict])
    return Row(anchor, node, step, style, mark, "\n".join(title), hypotheses, inside)


def _of_nodes(group: Group, rows: Sequence[Row]) -> Picture:
    """Return the drawing of a group's nodes, one box a node."""
    texts = []
    for row in rows:
        text = [f"%{row.node.id} {row.node.name}", ", ".join(map(str, row.node.outputs))]
        formulas = list(dict.fromkeys(h.formula for h in row.step.hypotheses))
        text += [f"needs {formulas[0]}" + (f" (+{len(formulas) - 1})" if len(formulas) > 1 else "")] if formulas else []
        text += [row.mark] if row.mark and row.style not in ("proved", "under") else []
        texts.append([_truncate(line) for line in text])
    members = [Group("", [n], [s]) for n, s in zip(group.nodes, group.steps, strict=True)]
    return _picture(texts, edges(members), [(r.style, r.title, r.anchor) for r in rows])


def _of_groups(found: Sequence[Group], parts: Sequence[Section]) -> Picture:
    """Return the drawing of a graph's groups, one box a group."""
    texts = []
    for group, part in zip(found, parts, strict=True):
        first, last = group.nodes[0].id, group.nodes[-1].id
        text = [_truncate(group.title), f"%{first}" if first == last else f"%{first} to %{last}"]
        text += [f"needs {part.hypotheses}"] if part.hypotheses else []
        texts.append([*text, *([part.mark] if part.style not in ("proved", "under") else [])])
    return _picture(
        texts, edges(found), [(p.style, "\n".join(g.hypotheses), p.anchor) for g, p in zip(found, parts, strict=True)]
    )


def _picture(
    texts: Sequence[list[str]], links: Sequence[tuple[int, int]], rest: Sequence[tuple[str, str, str]]
) -> Picture:
    """Return a drawing of boxes with these text lines and links; `rest` has each box's style, title and anchor."""
    sizes = [(max(map(len, t)) * _CHARACTER + 2 * _MARGIN, len(t) * _LINE + _MARGIN) for t in texts]
    drawing = layout(sizes, links)
    shapes = [
        Shape(
            round(b.x - b.width / 2, 1),
            round(b.y - b.height / 2, 1),
            round(b.width, 1),
            b.height,
            style,
            text,
            title,
            link,
        )
        for b, text, (style, title, link) in zip(drawing.boxes, texts, rest, strict=True)
    ]
    return Picture(round(drawing.width), round(drawing.height), shapes, [_path(points) for points in drawing.edges])


def _path(points: Sequence[Point]) -> str:
    """Return the SVG path of a curve through the points that runs downwards at each of them."""
    text = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (a, b), (c, d) in pairwise(points):
        middle = (b + d) / 2
        text += f"C{a:.1f} {middle:.1f} {c:.1f} {middle:.1f} {c:.1f} {d:.1f}"
    return text


def _truncate(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
