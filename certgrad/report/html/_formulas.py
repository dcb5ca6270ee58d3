"""Formulas of a page as MathML, each with a plain text for browsers that do not typeset it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

from certgrad.exhibits.data import Equation, Form
from certgrad.language import tree as t
from certgrad.language.mathml import mathml, operator, row, summands, symbol
from certgrad.obligations.certificate import Hypothesis
from certgrad.report.wording import number

_IN_WORDS = (t.Words, t.OffBoundaries, t.Unique, t.Distinct, t.AtSteps, t.Matrix, t.Chosen, t.Carry, t.Carried)
_LONG = 90
"""A formula with more characters is broken between its summands."""
_EQUALS = re.compile(r"(?<!at t) = ")
_TOKEN = re.compile(r"\s*(d/dt|at t = 0|[A-Za-z_][A-Za-z_0-9.]*|\d+|⟨|⟩|[(),=+·])")


@dataclass(frozen=True)
class Formula:
    """Pieces of MathML, between which a line may be broken, and the plain text; no pieces if there is only text."""

    pieces: list[str]
    text: str


def of_hypothesis(h: Hypothesis) -> Formula:
    """Return a hypothesis as a formula; text alone if it says a size or a range in words."""
    tree = h.tree.holds if isinstance(h.tree, t.ForAll) else h.tree
    if any(isinstance(n, _IN_WORDS) for n in t.walk(tree)) or " for " in h.text:
        return Formula([], number(h.text))
    return Formula([mathml(tree)], number(h.text))


def of_term(term: t.Term | None, text: str) -> Formula:
    """Return a side of an equation as a formula, in pieces if it is long; text alone without a term."""
    if term is None:
        return Formula([], text)
    return Formula(summands(term) if len(text) > _LONG else [mathml(term)], text)


def of_equation(equation: Equation) -> tuple[Formula, Formula]:
    return of_term(equation.left, equation.left_text), of_term(equation.right, equation.right_text)


def of_form(form: Form) -> Formula:
    return of_term(form.term, form.text)


def of_statement(text: str) -> tuple[str, Formula]:
    """Return the words of a claim, and its equation as a formula: `for all x and dx:`, `jvp(x, dx) = …`.

    The formula has no pieces if the text is no equation that can be typeset.
    """
    head, mark, body = text.partition(": ")
    if not mark:
        return "", Formula([], text)
    left, *right = _EQUALS.split(body, maxsplit=1)
    if not right:
        return f"{head}: {body}.", Formula([], "")
    try:
        pieces = _typeset(left)
        first, *rest = _typeset(right[0])
        return f"{head}:", Formula([*pieces, row(operator("="), first), *rest], body)
    except ValueError:
        return f"{head}:", Formula([], body)


def _typeset(text: str) -> list[str]:
    """Return a side of an equation, given as text, as MathML in pieces that end after a comma.

    Raises ValueError for a text with a token that is not known.
    """
    pieces: list[str] = []
    out: list[str] = []
    position = 0
    while text[position:].strip():
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError(text)
        token, position = match[1], match.end()
        if token == "d/dt":
            d = "<mi mathvariant='normal'>d</mi>"
            out.append(f"<mfrac>{d}<mrow>{d}<mi>t</mi></mrow></mfrac>")
        elif token == "at t = 0":
            out.append("<msub><mo>|</mo><mrow><mi>t</mi><mo>=</mo><mn>0</mn></mrow></msub>")
        elif token[0].isalpha() or token[0] == "_":
            is_function = text[position : position + 1] == "("
            out.append(f"<mi>{escape(token)}</mi><mo>⁡</mo>" if is_function else symbol(token))
        elif token.isdigit():
            out.append(f"<mn>{token}</mn>")
        elif token in "⟨⟩()":
            out.append(f"<mo stretchy='false'>{token}</mo>")
        else:
            out.append(operator(token))
            if token == ",":
                pieces.append(row(*out))
                out = []
    return [*pieces, row(*out)]
