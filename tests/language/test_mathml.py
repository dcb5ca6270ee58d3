"""MathML of statements and terms: every element has the children that it needs, and names are inert."""

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certgrad.language import tree as t
from certgrad.language.mathml import mathml, summands, symbol
from certgrad.language.parse import parse
from certgrad.language.platform import PLATFORM, number_of

CHILDREN = {"mfrac": 2, "msup": 2, "msub": 2, "munder": 2}
X, Y, I = t.Entry("x", (t.Index("i"),)), t.Entry("y", (t.Index("i"),)), t.Range("i", t.Size("n"))


def read(inner: str) -> ElementTree.Element:
    """The formula as XML, each element with as many children as it must have."""
    root = ElementTree.fromstring(f"<math>{inner}</math>")
    for element in root.iter():
        if element.tag in CHILDREN:
            assert len(element) == CHILDREN[element.tag], ElementTree.tostring(element)
    return root


def shown(inner: str) -> str:
    return "".join(read(inner).itertext())


def terms() -> st.SearchStrategy[t.Term]:
    leaves = st.sampled_from([X, Y, t.Size("n"), t.Number("2"), t.Number("-3/4"), t.Constant("pi"), t.Entry("c")])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=3).map(lambda p: t.Add(tuple(p))),
            st.lists(inner, min_size=2, max_size=3).map(lambda p: t.Mul(tuple(p))),
            st.builds(t.Power, inner, st.sampled_from(["-1", "2", "1/2", "-1/2", "3/2"])),
            inner.map(lambda p: t.Apply("exp", (p,))),
            inner.map(lambda p: t.Apply("log", (p,))),
            inner.map(lambda p: t.Truth(t.Compare(">", p, t.ZERO))),
            st.builds(lambda p, k: t.Fold(k, (I,), p), inner, st.sampled_from(["sum", "product", "maximum"])),
        ),
        max_leaves=8,
    )


@given(terms())
@settings(max_examples=80, deadline=None)
def test_every_element_has_its_children(term: t.Term) -> None:
    read(mathml(term))
    pieces = summands(term)
    assert pieces
    for piece in pieces:
        assert len(read(piece)) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x > 0", "x>0"),
        ("x != 0", "x≠0"),
        ("2*x - 3 >= 0", "2x≥3"),
        ("x**2 + y**2 > 0", "x2+y2>0"),
        ("x != 0 or y > 0", "x≠0\u00a0or\u00a0y>0"),
    ],
)
def test_statements(text: str, expected: str) -> None:
    assert shown(mathml(parse(text, ("x", "y")))).replace("\u2062", "") == expected


def test_a_platform_is_named() -> None:
    machine = t.Add((t.Entry(PLATFORM), t.number(-number_of("cpu"))))
    assert shown(mathml(t.Compare("!=", machine, t.ZERO))) == "the platform is not cpu"


def test_a_quotient_is_a_fraction() -> None:
    ratio = t.Mul((X, t.Power(t.Fold("sum", (I,), X), "-1")))
    root = read(mathml(ratio))
    (fraction,) = root.iter("mfrac")
    assert [e.tag for e in fraction] == ["msub", "mrow"]


def test_a_sum_among_factors_is_in_brackets() -> None:
    once = t.Fold("sum", (I,), X)
    assert shown(mathml(t.Mul((once, once)))).count("(") == 2
    assert "(" not in shown(mathml(once))


def test_names_are_inert() -> None:
    evil = "<script>alert(1)</script>&\"'"
    for term in (
        t.Entry(evil),
        t.Array(evil),
        t.Size(evil),
        t.Apply(evil, (X,)),
        t.Fold("sum", (t.Range(evil, X),), X),
    ):
        root = read(mathml(term))
        assert not [*root.iter("script")]
        assert evil in "".join(root.itertext())
    read(mathml(t.Words(evil)))


def test_symbols() -> None:
    assert shown(symbol("dx")) == "dx"
    assert shown(symbol("alpha")) == "α"
    assert [e.tag for e in read(symbol("x1")).iter()][1:] == ["msub", "mi", "mn"]
