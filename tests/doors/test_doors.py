"""What each door says of each example. Of the first examples of each kind a few run by default."""

from __future__ import annotations

import pytest

from tests.doors.__main__ import NOT_RUN, PAGE
from tests.doors.doors import DOORS, verdict_through
from tests.doors.examples import Example
from tests.doors.expected import CELLS, TABLE, may_say


def named(example: Example, door: str) -> str:
    return f"{door}-{example.kind}-{example.variant.name}-{'wrong' if example.wrong else 'right'}"


@pytest.mark.one_in(23)  # of 22 for each door: each meets one, and each another one
@pytest.mark.parametrize(
    ("example", "door"),
    [
        pytest.param(*cell, id=named(*cell), marks=[pytest.mark.slow] * (not cell[0].is_first))
        for cell in sorted(CELLS, key=lambda cell: list(DOORS).index(cell[1]))
    ],
)
@pytest.mark.usefixtures("verdicts_alone")
def test_cell(example: Example, door: str) -> None:
    assert verdict_through(door, example) in may_say(example, door)


def test_each_kind_has_an_example_and_three_variants() -> None:
    assert {example.kind for example, _ in CELLS} == {*TABLE}
    for kind in TABLE:
        assert len({example.variant for example, _ in CELLS if example.kind == kind}) >= 4


def test_the_page_has_every_cell_and_what_it_may_say() -> None:
    sections = {part.partition("\n")[0]: part for part in PAGE.read_text("utf-8").split("\n## ")[1:]}
    for kind in TABLE:
        header, _, *rows = [line for line in sections[kind].splitlines() if line.startswith("|")]
        assert header == f"| example | is | {' | '.join(DOORS)} |"
        said = {tuple(row[1:-1].split(" | ")[:2]): row[1:-1].split(" | ")[2:] for row in rows}
        for example in dict.fromkeys(e for e, _ in CELLS if e.kind == kind):
            words = said[f" {example.variant.name}", "wrong" if example.wrong else "right"]
            for door, word in zip(DOORS, words, strict=True):
                if word.strip() != NOT_RUN:
                    assert word.strip() in may_say(example, door), (kind, example.variant.name, door)
