"""What is said of hypotheses is true at points: random clauses, and what follows from them, in balls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product

from flint import arb
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from certgrad.obligations.assume.assumptions import facts_of
from certgrad.obligations.assume.by_place import taken_apart
from certgrad.obligations.assume.conditions import Atomic, Clause, discharged
from certgrad.obligations.assume.entailment import entailed
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.simplify import simplified
from certgrad.obligations.decide.evaluate import evaluate
from certgrad.obligations.terms.atoms import access, dimension
from certgrad.obligations.terms.functions import UndecidedError
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.index_terms import index_condition
from certgrad.obligations.terms.polynomials import ONE, Poly, number
from certgrad.obligations.terms.power import exp_of, fn, power, pred
from certgrad.obligations.terms.variables import Var
from tests.obligations.terms_strategy import SIZES, Table, tables

some = settings(max_examples=150, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
RELATIONS = ("> 0", ">= 0", "!= 0", "= 0")
Q, R = ("q", 1, 0), ("q", 2, 0)
"""Indices of a hypothesis, each over all of an axis."""


def shapes() -> dict[str, tuple[Poly, ...]]:
    n = dimension("n")
    return {"x": (), "y": (), "a": (n,), "b": (n, n)}


def x() -> Poly:
    return access("x", ())


def y() -> Poly:
    return access("y", ())


def drawn(*made: Callable[[], Poly]) -> st.SearchStrategy[Poly]:
    """Terms, made where they are drawn: those of another test are of another session."""
    return st.sampled_from(made).map(lambda f: f())


bases = drawn(
    x,
    y,
    lambda: x() - y(),
    lambda: x() + y(),
    lambda: x() * y(),
    lambda: x() * x() - ONE,
    lambda: x() - ONE,
    lambda: y() + number(2),
    lambda: x() * x() * y(),
    lambda: ONE - x() * y(),
)
changes = st.sampled_from(
    [
        lambda p: p,
        lambda p: -p,
        lambda p: p.scale(2),
        lambda p: p * p,
        lambda p: p * p * p,
        lambda p: p + ONE,
        lambda p: p - ONE,
        lambda p: p * p + ONE,
        lambda p: p * (x() * x() + ONE),
        lambda p: p * y(),
        lambda p: p * exp_of(y()),
        lambda p: exp_of(p) - ONE,
        lambda p: exp_of(p + y()) - exp_of(y()),
        lambda p: fn("tanh", p),
        lambda p: fn("cbrt", p),
        lambda p: pred(p),
        lambda p: pred(p) * x() + (ONE - pred(p)) * y(),
        lambda p: power(p * p + ONE, -1) * p,
    ]
)
polys = st.builds(lambda p, f: f(p), bases, changes)
atomics = st.builds(Atomic, st.sampled_from(RELATIONS), polys)
guards = st.lists(st.tuples(bases.map(pred), st.booleans()), max_size=1).map(tuple)
clauses = st.builds(lambda a, g: Clause(tuple(a), g), st.lists(atomics, min_size=1, max_size=2), guards)


def value(poly: Poly, table: Table, env: Mapping[Var, int]) -> arb:
    """Raises UndecidedError where it has none."""
    try:
        found = evaluate(poly, SIZES, table, env)
    except (ZeroDivisionError, ValueError) as error:
        raise UndecidedError(str(error)) from None
    if not found.is_finite():
        raise UndecidedError("not finite")
    return found


def true(a: Atomic, table: Table, env: Mapping[Var, int]) -> bool:
    x = value(a.poly, table, env)
    if x.contains(0) and not (x == 0):  # a ball, and no number
        raise UndecidedError("on a boundary")
    signs = {"> 0": x > 0, ">= 0": x >= 0, "!= 0": x != 0, "= 0": x == 0}
    return bool(signs[a.relation])


def places(free: Iterable[Var], extents: Mapping[Var, int] | None = None) -> Iterator[dict[Var, int]]:
    variables = sorted(free)
    for point in product(*(range((extents or {}).get(v, SIZES["n"])) for v in variables)):
        yield dict(zip(variables, point, strict=True))


def holds(clause: Clause, table: Table, extents: Mapping[Var, int] | None = None) -> bool:
    """At all values of its indices. Raises UndecidedError."""
    for env in places(clause.free, extents):
        if any((value(g, table, env) == 1) != wanted for g, wanted in clause.guards):
            continue
        if not any(tuple(true(a, table, env) for a in clause.alternatives)):
            return False
    return True


def decided(found: Iterable[Clause], table: Table, extents: Mapping[Var, int] | None = None) -> bool | None:
    """Whether all hold; None where one has no value."""
    try:
        return all(tuple(holds(c, table, extents) for c in found))
    except UndecidedError:
        return None


related = st.builds(
    lambda p, f, g, a, b: (Clause((Atomic(a, f(p)),)), Clause((Atomic(b, g(p)),))),
    bases,
    changes,
    changes,
    st.sampled_from(RELATIONS),
    st.sampled_from(RELATIONS),
)


@some
@given(related, st.lists(clauses, max_size=1), st.lists(tables, min_size=4, max_size=4))
def test_what_is_entailed_holds_wherever_what_is_assumed_does(pair, more, points):
    known, asked = pair
    found = entailed(asked, Facts(), [known, *more])
    event(f"entailed: {found}")
    for table in points if found else ():
        if decided([known, *more], table):
            assert decided([asked], table) is not False, (known, more, asked, table)


@some
@given(st.lists(clauses, min_size=1, max_size=2), st.lists(tables, min_size=4, max_size=4))
def test_what_is_simplified_says_the_same(found, points):
    simple = simplified(found, Facts())
    for table in points:
        before, after = decided(found, table), decided(simple, table)
        assert before is None or after is None or before == after, (found, simple, table)


@some
@given(related, st.lists(clauses, max_size=1), st.lists(tables, min_size=4, max_size=4))
def test_what_is_discharged_holds_where_the_facts_do(pair, more, points):
    known, asked = pair
    facts, rest = facts_of([known, *more], shapes())
    found = discharged(asked, Facts(facts))
    event(f"discharged: {found}")
    assert len(facts) + len(rest) == 1 + len(more)
    for table in points if found else ():
        if decided([known, *more], table):
            assert decided([asked], table) is not False, (known, more, asked, table)


# --- of entries: an assumption is one on all that its index numbers

WHOLE: dict[Callable[[], Poly], int] = {
    lambda: entry(Q): 3,
    lambda: entry(Q) - x(): 3,
    lambda: entry(Q) - entry(R) + number(5): 3,
    lambda: entry(Q, R): 3,
    lambda: entry(R, Q): 3,
    lambda: entry(Q, Q) + x(): 3,
    lambda: entry(Q, R) * entry(Q): 3,
    lambda: entry(Q, R) * entry(R): 3,
    lambda: access("a", (of_var(Q).shifted(ONE),)): 2,
}
"""Terms, with how far their indices run."""


def entry(*variables: Var) -> Poly:
    return access("a" if len(variables) == 1 else "b", tuple(map(of_var, variables)))


entries = st.sampled_from([*WHOLE.items()]).map(lambda one: (one[0](), one[1]))


@some
@given(
    entries, st.sampled_from(RELATIONS), entries, st.sampled_from(RELATIONS), st.lists(tables, min_size=6, max_size=6)
)
def test_assumptions_on_entries_say_nothing_beyond_them(known, relation, asked, wanted, points):
    assumed, question = Clause((Atomic(relation, known[0]),)), Clause((Atomic(wanted, asked[0]),))
    facts, rest = facts_of([assumed], shapes())
    found = entailed(question, Facts(facts), rest)
    event(f"entailed: {found}")
    for table in points if found else ():
        if decided([assumed], table, dict.fromkeys((Q, R), known[1])):
            assert decided([question], table, dict.fromkeys((Q, R), asked[1])) is not False, (assumed, question, table)


# --- parts of arrays that are put together

starts = st.integers(0, 3)


def joined(start: int, inside: Poly, outside: Poly) -> Poly:
    """One term from a place on, and another before it."""
    later = index_condition(of_var(Q).shifted(number(-start)))
    return later * inside + (ONE - later) * outside


@some
@given(
    st.lists(
        st.tuples(starts, drawn(x, y, lambda: ONE, lambda: x() - y(), lambda: number(-1))), min_size=1, max_size=3
    ),
    bases,
    st.sampled_from(RELATIONS),
    st.lists(tables, min_size=4, max_size=4),
)
def test_the_parts_of_a_clause_say_what_it_says(pieces, last, relation, points):
    length = 5
    whole = last
    for start, inside in pieces:
        whole = joined(start, inside, whole)
    clause = Clause((Atomic(relation, whole),))
    parts = taken_apart(clause, {Q: number(length)})
    assume(parts is not None)
    for table in points:
        together = decided([clause], table, {Q: length})
        apart = [decided([c], table, {v: int(n.constant()) for v, n in own.items()}) for c, own in parts]
        if together is not None and None not in apart:
            assert together == all(apart), (clause, parts, table)
