"""Statements of claims as formulas: whatever a claim says is typeset, and nothing of it is lost."""

import re
from xml.etree import ElementTree

import pytest

from certgrad.report.html._formulas import of_statement


def words(text: str) -> str:
    return re.sub(r"[\s\u2061|()_]|at t = 0", "", text)


@pytest.mark.parametrize(
    "statement",
    [
        "for all x and all dx: jvp(x, dx) = d/dt relu(x + t·dx) at t = 0",
        "for all x, y, dx, dy and seed: ⟨jvp(x, y, dx, dy), seed⟩ = ⟨(dx, dy), vjp(x, y, seed)⟩",
        "for all a, b, da, db and seed: ⟨d/dt f(a + t·da, b + t·db) at t = 0, seed⟩ = ⟨(da, db), vjp(a, b, seed)⟩",
    ],
)
def test_an_equation_is_typeset(statement: str) -> None:
    head, formula = of_statement(statement)
    assert f"{head} {formula.text}" == statement
    roots = [ElementTree.fromstring(f"<math>{piece}</math>") for piece in formula.pieces]
    text = "".join("".join(root.itertext()) for root in roots)
    plain = words(formula.text.replace("d/dt", "ddt").replace(" at t = 0", "t=0"))
    assert words(text) == plain
    for root in roots:
        assert [len(e) for e in root.iter("mfrac")] in ([], [2])


def test_what_is_no_equation_stays_text() -> None:
    head, formula = of_statement("for all x: the rule's primal output is relu(x)")
    assert (head, formula.pieces, formula.text) == ("for all x: the rule's primal output is relu(x).", [], "")
    assert of_statement("for all <x>: <x> = <y>")[1].pieces == []
