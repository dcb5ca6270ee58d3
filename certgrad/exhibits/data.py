"""The data of exhibits: what a page shows of a rule beside its certificate. No verdict depends on it."""

from __future__ import annotations

from typing import Literal

import msgspec

from certgrad.language.tree import Term


class Struct(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The base of all structs here: they are immutable, and decoding refuses unknown fields."""


class Form(Struct, frozen=True):
    """The common form of both sides in one region; `where` is "" if there is only one region."""

    where: str
    term: Term
    text: str


class Equation(Struct, frozen=True):
    """The two sides of an obligation as they were traced, and the normal form that both have.

    `common` is empty if both sides have no form that is the same term; a proof may have decided the difference
    alone. A side that is too long for a page is cut in `left_text` or `right_text`, and None as a term.
    """

    left: Term | None
    right: Term | None
    left_text: str
    right_text: str
    common: list[Form] = []


class Sides(Struct, frozen=True):
    """The equations of one obligation, at the general shapes of its first case."""

    kind: str
    signature: str
    equations: list[Equation]


class Program(Struct, frozen=True):
    """A program as JAX traced it, at symbolic sizes."""

    name: str
    text: str


class Curve(Struct, frozen=True):
    """A line of a plot, with None for points without a value."""

    name: str
    points: list[tuple[float, float] | None]


class Dot(Struct, frozen=True):
    """A single value in a plot."""

    name: str
    x: float
    y: float


class Plot(Struct, frozen=True):
    """Curves over one variable, with marks at seams or at a witness.

    `kind` is `seam` for a function and its derivative around points that hypotheses exclude, `witness` for the
    difference of both sides of an obligation along a line through a witness.
    """

    kind: Literal["seam", "witness"]
    title: str
    across: str
    """The name of the variable."""
    curves: list[Curve]
    marks: list[tuple[float, str]] = []
    dots: list[Dot] = []
    note: str = ""


class Mend(Struct, frozen=True):
    """A change of the source that makes a wrong rule right. It is shown only if the changed rule was proved."""

    file: str
    diff: str
    verdict: str
    """The verdict on the changed rule."""


class Box(Struct, frozen=True):
    """A node of a drawing, or a run of nodes."""

    x: float
    y: float
    width: float
    height: float
    style: str
    lines: list[str]
    title: str


class Drawing(Struct, frozen=True):
    """A certified graph as boxes and paths."""

    title: str
    verdict: str
    width: float
    height: float
    boxes: list[Box]
    paths: list[str]


class Exhibit(Struct, frozen=True):
    """All that a page shows of one rule beside its certificate."""

    doc: str = ""
    sides: list[Sides] = []
    programs: list[Program] = []
    plots: list[Plot] = []
    mend: Mend | None = None
    drawings: list[Drawing] = []


def encode(exhibit: Exhibit) -> bytes:
    return msgspec.json.encode(exhibit)


def decode(data: bytes) -> Exhibit:
    """Return the decoded exhibit. Raises msgspec.MsgspecError for an unknown field or a wrong type."""
    return msgspec.json.decode(data, type=Exhibit)
