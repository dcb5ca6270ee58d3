"""The same statement has one form, whatever its variables are called; other statements have others."""

import pytest

from certgrad.language import tree as t
from certgrad.language.canonical import canonical, in_canonical_order
from certgrad.language.prose import _in_words, prose
from certgrad.language.substitute import unbound
from certgrad.language.text import text

ZERO = t.ZERO


def index(name: str) -> t.Index:
    return t.Index(name)


def x(*names: str) -> t.Entry:
    return t.Entry("x", tuple(map(index, names)))


def over(**sizes: t.Term) -> tuple[t.Range, ...]:
    return tuple(t.Range(name, size) for name, size in sizes.items())


def total(variable: str, size: t.Term, *place: str) -> t.Term:
    return t.Fold("sum", over(**{variable: size}), x(*place))


ROW, COLUMN = t.Axis("x", 0), t.Axis("x", 1)
SAME = [
    (
        t.ForAll(over(a=ROW), t.Compare(">", total("b", COLUMN, "a", "b"), ZERO)),
        t.ForAll(over(q=ROW), t.Compare(">", total("a", COLUMN, "q", "a"), ZERO)),
    ),
    (
        t.ForAll(over(a=ROW, b=COLUMN), t.Compare(">", x("a", "b"), ZERO)),
        t.ForAll(over(a=COLUMN, b=ROW), t.Compare(">", x("b", "a"), ZERO)),
    ),
    (
        t.Compare("!=", t.Add((t.Array("x"), t.Mul((t.Number("-1"), t.Array("y"))))), ZERO),
        t.Compare("!=", t.Add((t.Array("y"), t.Mul((t.Number("-1"), t.Array("x"))))), ZERO),
    ),
    (
        t.Compare(">", t.Add((total("a", ROW, "a"), total("b", t.Size("n"), "b"))), ZERO),
        t.Compare(">", t.Add((total("b", t.Size("n"), "b"), total("b", ROW, "b"))), ZERO),
    ),
]


@pytest.mark.parametrize("one, other", SAME)
def test_one_form(one: t.Statement, other: t.Statement) -> None:
    assert canonical(one) == canonical(other)
    assert canonical(canonical(one)) == canonical(one)
    assert text(canonical(one)) == text(canonical(other))


def sums(size: t.Term) -> t.Statement:
    return t.Compare(">", total("a", size, "a"), ZERO)


def entries(place: t.Term) -> t.Statement:
    return t.ForAll(over(a=t.Size("n")), t.Compare("!=", t.Entry("x", (place,)), ZERO))


OTHERS = [
    sums(ROW),
    sums(t.Size("n")),
    sums(t.Size("m")),
    sums(t.Add((t.Size("n"), t.Number("-1")))),
    t.ForAll(over(b=ROW), t.Compare(">", total("a", COLUMN, "b", "a"), ZERO)),
    t.ForAll(over(b=COLUMN), t.Compare(">", total("a", ROW, "a", "b"), ZERO)),
    entries(index("a")),
    entries(t.Mul((t.Number("2"), index("a")))),
    entries(t.Add((t.Number("1"), index("a")))),
    t.ForAll(over(a=ROW), t.Compare("!=", x("a"), ZERO)),
    t.Compare("!=", t.Array("x"), ZERO),
    t.Compare(">", t.Array("x"), ZERO),
    t.Compare(">", t.Add((t.Array("x"), t.Number("-1"))), ZERO),
    t.Compare(">", t.Add((t.Array("x"), t.Number("-2"))), ZERO),
    t.Compare("!=", t.Array("x1"), ZERO),
    t.Compare("!=", t.Entry("x", (t.Number("1"),)), ZERO),
    t.Unique(over(a=ROW), x("a")),
    t.Unique(over(a=t.Size("n")), x("a")),
    t.Unique(over(a=ROW), t.Mul((t.Number("-1"), x("a")))),
    t.Unique(over(a=ROW), x("a"), (t.Compare(">=", t.Add((index("a"), t.Number("-1"))), ZERO),)),
    t.Distinct(over(a=ROW), x("a")),  # type: ignore[arg-type]
    t.Where((t.Compare("!=", t.Array("m"), ZERO),), t.Compare(">", t.Array("x"), ZERO)),
    t.Where((t.Compare("=", t.Array("m"), ZERO),), t.Compare(">", t.Array("x"), ZERO)),
    t.Solves("cg", False, t.Compare("=", t.Array("x"), ZERO)),
    t.Solves("cg", True, t.Compare("=", t.Array("x"), ZERO)),
]


def test_others_have_other_forms_and_texts() -> None:
    forms = [canonical(one) for one in OTHERS]
    assert len(set(forms)) == len(forms)
    for shown in (list(map(text, forms)), [text(f, "latex", sizes={"x": ["n + 1", "m"]}) for f in forms]):
        assert len(set(shown)) == len(shown)


def test_a_letter_that_a_size_has_is_no_index() -> None:
    found = canonical(t.ForAll(over(a=t.Size("i")), t.Compare(">", total("b", t.Size("j"), "a", "b"), ZERO)))
    assert text(found) == "(Σ{l<j} x[k,l]) > 0 for k<i"


def test_an_index_that_nothing_binds_is_captured_by_no_binder() -> None:
    """Of a statement that is a part of another, whose binder is left away."""
    row = t.Compare(">", total("b", COLUMN, "i", "b"), ZERO)
    assert canonical(row) == t.Compare(">", total("j", COLUMN, "i", "j"), ZERO)
    assert canonical(row) != canonical(t.Compare(">", total("b", COLUMN, "b", "b"), ZERO))
    every = t.ForAll(over(b=COLUMN), t.Compare("!=", x("i", "b"), ZERO))
    assert canonical(every) == t.ForAll(over(j=COLUMN), t.Compare("!=", x("i", "j"), ZERO))


def test_nor_in_a_term_where_another_binder_has_its_name() -> None:
    outer = t.Fold("sum", over(a=ROW), t.Mul((x("a"), t.Entry("y", (index("i"),)))))
    found = in_canonical_order(t.Add((outer, total("i", ROW, "i"))))
    assert unbound(found) == {"i"}
    assert t.Fold("sum", over(j=ROW), t.Mul((x("j"), t.Entry("y", (index("i"),))))) in [*t.walk(found)]


def test_words() -> None:
    assert prose(OTHERS[10], ["x"]) == "at every entry, x is not 0"
    assert prose(canonical(OTHERS[16])) == "the maximum of x[i] over i is attained only once"


def test_the_relation_in_words_is_the_one_outside_of_brackets():
    assert _in_words("(Σj [m[i,j] < 0]) + (Σj [m[i,j] > 0]) > 0") == (
        "(Σj [m[i,j] < 0]) + (Σj [m[i,j] > 0]) is greater than 0"
    )
    assert _in_words("x[i] ≠ 0") == "x[i] is not 0"
    assert _in_words("argmax of x is unique") == "argmax of x is unique"
