"""Whole models that Coq accepts: writes `reports/coq_models.md`.

    python -m benchmarks.coq_models [--jobs 1] [--limit 60] [--only NAME]

The set: the composed ops of the library, each case a graph, and the models of `examples/models`. Each is printed as by
`certgrad export --coq`, with no line written by hand, and judged as by `certgrad verify --kernel coq`. What was judged
before is remembered in `.certgrad_cache`.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import jax

from benchmarks.models import MODELS
from certgrad.cli import _library
from certgrad.cli._coq_graphs import names_of
from certgrad.coq import DEFINED_SUFFIX, File, Judged, Kernel, Library, NotPrintedError, Result, graph_not_printed
from certgrad.graph import trace
from certgrad.graph.certifying.certify import Certification, certification
from certgrad.graph.certifying.composed import certifications
from certgrad.graph.coq.printed import print_graph
from certgrad.ops._composed import Composed

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "reports" / "coq_models.md"
LAWS = ("jvp_is_derivative", "vjp_is_adjoint", "rule_runs_forward")
WHOLE = ("tangents_are_derivatives", "sweep_is_adjoint", "sweep_is_gradient")


@dataclass(frozen=True)
class Printed:
    """A model with its certification and its file."""

    done: Certification
    file: File


def composed() -> Iterator[tuple[str, Certification]]:
    """The graphs of the library's composed ops."""
    _library.prepare()
    for name in _library.names():
        if isinstance(op := _library.get(name), Composed):
            yield from zip(names_of(op), certifications(op), strict=True)


def models() -> Iterator[tuple[str, Certification]]:
    """The models of the examples, at the shapes that they have there."""
    with jax.enable_x64(True):
        for module, names in MODELS.items():
            functions = importlib.import_module(f"examples.models.{module}")
            for name in names:
                fn, args = getattr(functions, name)()
                yield name, certification(trace(fn, *args, name=name))


def printed(name: str, done: Certification) -> Printed:
    """The file of a graph, or one that says why there is none."""
    try:
        return Printed(done, print_graph(done, name))
    except NotPrintedError as error:
        return Printed(done, graph_not_printed(name, f"not printed: {error}"))


def page(rows: Sequence[tuple[Printed, Result]], limit: int, release: str) -> str:
    """The page."""
    whole = [result for _, result in rows if _whole(result) == "accepted"]
    lines = [
        "# Whole models in Coq",
        "",
        "Made by `python -m benchmarks.coq_models`. Each certified graph is printed as Coq: its lemmas at symbolic",
        "sizes, once each, its nodes as instances of them, and the theorem of `proofs/Graph.v` applied to the list of",
        "nodes: the tangents are the derivative, and reverse accumulation is its adjoint (of a loss: its gradient).",
        f"No line is written by hand. Coq {release}; a proof may take {limit} s. What is not accepted is not refuted.",
        "",
        f"**Of {len(rows)} graphs {len(whole)} are accepted as a whole**, on the four axioms of classical reals alone.",
        "",
        "Nodes are those that move; what does not move, as tokens and masks, is defined before them. Laws are those of",
        "the lemmas (derivative, adjoint, and that a rule runs the forward), beside them that their programs are",
        "defined where the hypotheses hold. The theorem about the whole asks the lemmas' hypotheses of the values",
        "that the nodes read; beside it whether Coq accepts that those follow which the certificate discharges by",
        "signs, and that what the nodes compute is what the specification reads in the whole trace (program). Seconds",
        "are those of the processor for all proofs.",
        "",
        "| graph | verdict | nodes | lemmas | laws | of | defined | of | whole | discharged | program | seconds |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- | --- | ---: |",
    ]
    lines += [_row(one, result) for one, result in rows]
    if left := [(result.subject, j) for _, result in rows for j in result.judged if _is_law(j) and not j.accepted]:
        lines += ["", "## Laws that are not accepted", "", "| graph | theorem | why |", "| --- | --- | --- |"]
        lines += [f"| `{subject}` | `{j.name}` | {_short(j)} |" for subject, j in left]
    return "\n".join(lines) + "\n"


def _row(one: Printed, result: Result) -> str:
    laws = [j for j in result.judged if _is_law(j)]
    defined = [j for j in result.judged if j.stated and j.kind.endswith(DEFINED_SUFFIX)]
    moving = sum(s.role == "moving" for s in one.done.certificate.steps)
    cells = [
        f"`{result.subject}`",
        one.done.certificate.verdict,
        str(moving),
        str(sum(j.kind == "jvp_is_derivative" for j in laws)),
        *(str(n) for part in (laws, defined) for n in (sum(j.accepted for j in part), len(part))),
        _whole(result),
        _one(result, "hypotheses_are_discharged"),
        _one(result, "program_is_run"),
        f"{result.seconds:.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def _is_law(judged: Judged) -> bool:
    """It is a law of a lemma."""
    return judged.stated and judged.kind in LAWS


def _whole(result: Result) -> str:
    found = [j for j in result.judged if j.kind in WHOLE]
    return "accepted" if all(j.accepted for j in found) else next(_short(j) for j in found if not j.accepted)


def _one(result: Result, kind: str) -> str:
    found = [j for j in result.judged if j.kind == kind]
    return "" if not found else "accepted" if found[0].accepted else _short(found[0])


def _short(judged: Judged) -> str:
    return judged.reason.split(": The reference")[0]


def main() -> None:
    """Judge them and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--only", default="", help="Judge the graphs with this in their names, and write no page.")
    options = parser.parse_args()
    kernel = Kernel(Library(ROOT / ".certgrad_cache" / "coq"), options.limit)
    rows = []
    for name, done in [*composed(), *models()]:
        if options.only in name:
            one = printed(name, done)
            result = kernel.judge(one.file)
            rows.append((one, result))
            print(_row(one, result), flush=True)
            if not options.only:
                PAGE.write_text(page(rows, options.limit, kernel.library.release))


if __name__ == "__main__":
    main()
