"""What hypotheses are assumed to say: at drawn arrays where they hold, no sign that occurs is excluded at any place."""

import itertools
import random

import pytest

from certgrad.obligations.assume.assumptions import at_all_entries, extent, facts_of
from certgrad.obligations.assume.conditions import Atomic, Clause
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import NEG, POS, ZERO
from certgrad.obligations.terms.atoms import Dim, access
from certgrad.obligations.terms.index import of_const, of_term, of_var
from certgrad.obligations.terms.index_terms import index_condition
from certgrad.obligations.terms.integers import Entry
from certgrad.obligations.terms.polynomials import ONE, number, poly_of
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.session import intern
from certgrad.obligations.terms.variables import template

N = poly_of(intern(Dim("n")))
SHAPES = {"x": (N + ONE,), "y": (N,), "k": (N,)}
AT = 3
"""The number that n is: x has 4 entries, y has 3."""
I, T = template(0), ("u", 0, 0)
READS = [("x", 0), ("x", 1), ("y", 0)]

FORMS = [(1, 0, 0), (0, 1, 0), (0, 0, -1), (1, 0, 1), (0, 1, 1), (-1, 1, 0), (1, -1, 0), (-2, 1, 1)]
"""Coefficients of what is read."""


def term(coefficients, v, guarded=()):
    """Σ c·x[v + shift] + a constant; entries of the `guarded` arrays only where v < n."""
    out = number(coefficients[-1])
    inside = index_condition(of_const(N - ONE).minus(of_var(v)))
    for (name, shift), c in zip(READS, coefficients, strict=False):
        entry = access(name, (of_var(v).shifted(number(shift)),)).scale(c)
        out = out + (entry * inside if name in guarded else entry)
    return out


def value(coefficients, place, at, guarded=()):
    """The same as a number; None where an entry is not there."""
    out = coefficients[-1]
    for (name, shift), c in zip(READS, coefficients, strict=False):
        if c and not (name in guarded and place >= AT):
            if place + shift >= len(at[name]):
                return None
            out += c * at[name][place + shift]
    return out


def sign(number):
    return POS if number > 0 else NEG if number < 0 else ZERO


def present(numbers):
    return [n for n in numbers if n is not None]


@pytest.mark.one_in(8)
@pytest.mark.parametrize("guarded", [(), ("y",)], ids=["", "y where it is"])
@pytest.mark.parametrize("question", FORMS)
def test_no_sign_that_occurs_is_excluded(question, guarded):
    """Two hypotheses that just hold, and a question about what is near 0 at the last place."""
    rng = random.Random(3)
    for one, other in itertools.product(FORMS, FORMS):
        for _ in range(4):
            low, high = rng.choice([(-3, -1), (1, 3)])
            at = {"x": [*(rng.randint(4, 7) for _ in range(AT)), rng.randint(-9, 9)]}
            at["y"] = [rng.randint(low, high) for _ in range(AT)]
            clauses = []
            for linear in (one, other):
                least = min(present(value((*linear, 0), place, at) for place in range(4)))
                clauses.append(Clause((Atomic("> 0", term((*linear, 0 if least > 0 else 1 - least), I)),)))
            last = present(value((*question, 0), place, at, guarded) for place in range(4))[-1]
            facts = Facts(facts_of(clauses, SHAPES)[0])
            for constant in (0, -last):
                known = facts.signs(term((*question, constant), T, guarded))
                occurring = present(value((*question, constant), place, at, guarded) for place in range(4))
                assert all(known & sign(n) for n in occurring), (one, other, at)


CASES = {
    "all entries": ([(1, 0, 0, 0)], True, N + ONE),
    "with the next one": ([(-1, 1, 0, 0)], False, N),
    "with a shorter array": ([(1, 0, 1, 0)], False, N),
    "the second on": ([(0, 1, 0, 0)], False, N),
}


@pytest.mark.parametrize("name", CASES)
def test_how_far_an_index_runs(name):
    ((coefficients,), everywhere, most) = CASES[name]
    clause = Clause((Atomic("> 0", term(coefficients, I)),))
    assert at_all_entries(clause, SHAPES) == everywhere
    assert extent(I, clause, SHAPES) == most


def entries(*places):
    """A clause on the sum of entries of x at these places, each of which is an index."""
    total = sum((access("x", (ix,)) for ix in places), NOTHING)
    return Clause((Atomic("!= 0", total),))


def test_how_far_an_index_with_a_stride_runs():
    even, odd = of_var(I).scaled(2), of_var(I).scaled(2).shifted(ONE)
    for size, most in ((N + N, N), (N + N + ONE, N)):
        assert extent(I, entries(even, odd), {"x": (size,)}) == most
    assert extent(I, entries(even), {"x": (N + N + ONE,)}) == N + ONE
    assert extent(I, entries(even), {"x": (N,)}) is None


def test_an_index_that_an_array_of_integers_gives_runs_as_far_as_these():
    label = of_term(Entry("k", (of_var(I),)))
    assert at_all_entries(entries(label), SHAPES)
    assert extent(I, entries(label), SHAPES) == N
    assert not at_all_entries(entries(label, of_var(I)), SHAPES)


def test_what_may_be_asked_at_some_places_only_is_not_assumed():
    inside = index_condition(of_const(N - ONE).minus(of_var(I)))
    somewhere = Clause((Atomic("> 0", access("y", (of_var(I),)) * inside + ONE),))
    backwards = entries(of_var(I), of_var(I).shifted(-ONE))
    partial = Clause((Atomic("> 0", access("x", (of_var(("y", 0, 0)),))),))
    for clause in (somewhere, backwards, partial):
        assert facts_of([clause], SHAPES) == ([], ())


def test_of_axes_that_may_be_empty_nothing_is_said_at_all_entries():
    one = Clause((Atomic("> 0", access("a", (of_var(I),))),))
    assert [f.local for f in facts_of([one], {"a": (N,)})[0]] == [False]
    half = poly_of(intern(Dim("floordiv(n, 2)", positive=False)))
    assert [f.local for f in facts_of([one], {"a": (N - ONE,)})[0]] == [True]
    assert [f.local for f in facts_of([one], {"a": (half,)})[0]] == [True]
    assert facts_of([one], {}) == ([], ())


def test_the_places_of_a_small_array():
    """`extent` counts the places at which all entries are there."""
    for (name, shift), (other, further), stride, size in itertools.product(READS, READS, (1, 2), (3, 4, 5, 6)):
        reads = [(name, shift), (other, further)]
        clause = Clause(
            (
                Atomic(
                    "!= 0",
                    sum(
                        (
                            access(a, (of_var(I).scaled(stride).shifted(number(s)),)).scale(k)
                            for k, (a, s) in enumerate(reads, 1)
                        ),
                        NOTHING,
                    ),
                ),
            )
        )
        sizes = {"x": size, "y": size - 1}
        there = [i for i in range(9) if all(i * stride + s < sizes[a] for a, s in reads)]
        assert extent(I, clause, {a: (number(n),) for a, n in sizes.items()}) == number(len(there))


def test_an_entry_that_is_there_at_some_places_only_brings_no_assumption():
    """x[i] + y[i] > 0 and y < 0 say nothing of the last x, whatever is made of y where there is one."""
    there = index_condition(of_const(N - ONE).minus(of_var(T)))
    x, y = access("x", (of_var(T),)), access("y", (of_var(T),))
    clauses = [Clause((Atomic("> 0", term(form, I)),)) for form in ((1, 0, 1, 0), (0, 0, -1, 0))]
    facts = Facts(facts_of(clauses, SHAPES)[0])
    assert facts.signs(x + y * y) == POS
    assert facts.signs(x + y * y * there) & (ZERO | NEG) == ZERO | NEG
