"""The page on the op library, `docs/ops.md`: a row for each op, made from the declarations."""

import importlib
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from certgrad.ops import Composed
from certgrad.ops._declare import Op
from certgrad.report.markdown import code, tabulated
from certgrad.report.pages.torchlean import LEGEND, STATUS
from certgrad.signatures.signature import for_people

_INTRODUCTION = """\
# The ops

`certgrad list --format markdown` writes this page. Do not edit it by hand.

`certgrad.ops` holds {count} ops. Each has a forward, a JVP and a VJP, proved for all shapes that fit its signature:
[the report](../reports/README.md) has the verdicts and hypotheses, `certgrad explain OP` the obligations. An op that
is *composed* is a program of other ops, whose rules are its own; it is proved by induction over that program. In a
signature a name is the length of one axis, `*s` stands for any number of axes, and an array without any is a
`scalar`. *Domain* is what the proof assumes of arguments and parameters. *Convention* is what the rules return at
points that the domain excludes.

TorchLean is the library that certgrad measures itself by; the last column says what it proves of the op.
{legend}"""

_HEADER = ("op", "signature", "what it computes", "domain", "convention", "JAX, PyTorch", "source", "TorchLean")


def render(ops: Iterable[Any]) -> str:
    """Return the page on the ops, with a section for each module that declares some."""
    ops = list(ops)
    parts = [_INTRODUCTION.format(count=len(ops), legend=LEGEND)]
    for module, group in groupby(ops, key=lambda op: op.__module__):
        title = (importlib.import_module(module).__doc__ or "").partition("\n")[0].rstrip(".")
        parts += [f"## {title}", tabulated(_HEADER, map(_cells, group))]
    return "\n\n".join(parts) + "\n"


def _cells(op: Op) -> list[str]:
    also = f" (also {', '.join(map(code, op.aliases))})" if op.aliases else ""
    also += " (composed)" if isinstance(op, Composed) else ""
    constraints = [constraint for constraint in op.params.values() if constraint]
    conventions = [f"{value} at {point}" for point, value in op.convention.items()]
    return [
        code(op.name) + also,
        "<br>".join(map(code, dict.fromkeys(for_people(str(one.signature)) for one in op.cases))),
        _text(op.doc.partition("\n")[0]),
        "<br>".join(map(code, [*op.domain, *constraints])),
        "<br>".join(map(code, conventions)),
        "<br>".join(code(name) for name in (op.like, op.torch) if name),
        _text(op.source or ""),
        STATUS.get(op.name, ""),
    ]


def _text(text: str) -> str:
    """Return prose for a table cell, with the characters of markup escaped."""
    for mark in "\\|*_<[`":
        text = text.replace(mark, f"\\{mark}")
    return text
