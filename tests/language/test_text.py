"""How statements are printed."""

import pytest

from certgrad.language.platform import PLATFORM, number_of
from certgrad.language.text import term_text, text
from certgrad.language.tree import (
    ONE,
    UNKNOWN,
    ZERO,
    Add,
    Compare,
    Entry,
    ForAll,
    Index,
    Mul,
    Number,
    Power,
    Range,
    Truth,
    Where,
)

OTHER = Mul((Number("-1"), Entry(PLATFORM)))


@pytest.mark.parametrize("name", ["cpu", "cuda", "tpu"])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_platform_is_named(name: str, sign: int) -> None:
    machine = Entry(PLATFORM) if sign > 0 else OTHER
    for relation, word in (("=", "is"), ("!=", "is not")):
        here = Compare(relation, Add((machine, Number(str(-sign * number_of(name))))), ZERO)
        assert text(here) == f"the platform {word} {name}"
        assert text(Compare("=", Truth(here), ONE)) == f"[the platform {word} {name}] = 1"


def test_a_range_that_is_not_known_is_said_in_words() -> None:
    entry = Entry("x", (Add((Index("i"), ONE)),))
    statement = ForAll((Range("i", UNKNOWN),), Compare(">", entry, ZERO))
    assert text(statement) == "x[i+1] > 0 for every i that numbers an entry of the program"


def test_equal_roots_of_numbers_are_one_root() -> None:
    def root(n: int, exponent: str = "1/2") -> Power:
        return Power(Number(str(n)), exponent)

    assert term_text(Mul((Number("100"), root(2), root(5)))) == "100·√10"
    assert term_text(Mul((root(2, "-1/2"), root(5, "-1/2"), root(3)))) == "√3/√10"
    assert term_text(Mul((root(2, "1/3"), root(5)))) == "2^(1/3)·√5"


BELOW = Compare("<", Entry("x"), Number("3"))
ABOVE = Compare(">", Entry("x"), Number("5"))


@pytest.mark.parametrize(
    ("guards", "asked", "shown"),
    [
        ([(BELOW, "!=")], ("!=", 0, 0), "x ≥ 3"),
        ([(BELOW, "=")], (">", -1, 0), "x < 3"),
        ([(BELOW, "="), (ABOVE, "!=")], (">", 0, 1), "x < 3 or x ≤ 5"),
        ([(BELOW, "=")], (">", 1, 0), "1 > 0 wherever x ≥ 3"),
    ],
)
def test_what_never_holds_is_said_of_its_guards(guards, asked, shown):
    def number(value):
        return Number(str(value))

    relation, left, right = asked
    statement = Where(
        tuple(Compare(sign, Truth(inner), ZERO) for inner, sign in guards),
        Compare(relation, number(left), number(right)),
    )
    assert text(statement) == shown
