"""Feasibility: what isl calls impossible has no small example; sizes that isl has no words for stay open."""

from hypothesis import given, settings
from hypothesis import strategies as st

from certgrad.obligations.assume.isl import feasible
from certgrad.obligations.terms.atoms import access, dimension
from certgrad.obligations.terms.index import of_atom, of_const, of_var
from certgrad.obligations.terms.integers import ORDER, Comparison, Entry, chosen, quotient
from certgrad.obligations.terms.polynomials import ONE, number

quick = settings(max_examples=100, derandomize=True, deadline=None)
I, J = ("u", 0, 0), ("u", 1, 0)
N, M = dimension("n"), dimension("m")
RANGES = {I: N, J: M}
small = st.integers(-3, 3)
RELATIONS = {">=": lambda k: k >= 0, "=": lambda k: k == 0, "!=": lambda k: k != 0}


@st.composite
def conditions(draw):
    a, b, c, d = (draw(small) for _ in range(4))
    halved, relation = draw(st.booleans()), draw(st.sampled_from(list(RELATIONS)))
    ix = of_var(I).scaled(a).plus(of_var(J).scaled(b)).shifted(number(c) + N.scale(d))

    def holds(i, j, n):
        k = a * i + b * j + c + d * n
        return RELATIONS[relation](k // 2 if halved else k)

    return (quotient(ix, number(2)) if halved else ix, relation), holds


@quick
@given(st.lists(conditions(), min_size=1, max_size=4))
def test_what_is_impossible_has_no_small_example(pairs):
    if feasible([c for c, _ in pairs], RANGES):
        return
    for n in range(1, 6):
        for m in range(1, 6):
            for i in range(n):
                for j in range(m):
                    assert not all(holds(i, j, n) for _, holds in pairs)


def test_plain_cases():
    i = of_var(I)
    assert not feasible([(i.shifted(-N), ">=")], RANGES)
    assert feasible([(i.shifted(-N + ONE), "=")], RANGES)
    assert not feasible([(i.scaled(2).shifted(ONE - N.scale(2)), "=")], RANGES)
    assert not feasible([(of_const(N - ONE).scaled(-1).shifted(-ONE), ">=")], RANGES)


def test_products_and_opaque_sizes_stay_open():
    product = dimension("n") * dimension("m")
    assert feasible([(of_const(product - N.scale(7) - ONE), "=")], RANGES)
    assert feasible([(of_const(dimension("max(n, 3)") - ONE), "=")], RANGES)
    half = dimension("floordiv(n, 2)", positive=False)
    assert not feasible([(of_const(half - N), ">=")], {})


def test_what_is_known_of_an_entry_is_used_of_that_tensor_only():
    one, other = (of_atom(Entry(name, (of_var(I),))) for name in ("k", "l"))
    negative = [(x.scaled(-1).shifted(-ONE), ">=") for x in (one, other)]

    def known(entry):
        return [((of_atom(entry), ">="),)] if entry.tensor == "k" else []

    assert not feasible(negative[:1], RANGES, known)
    assert feasible(negative[1:], RANGES, known)


def test_of_a_group_of_conditions_one_holds():
    """k ≥ 0 or k = −5."""
    k = of_atom(Entry("k", (of_var(I),)))
    below = k.scaled(-1).shifted(-ONE), ">="

    def known(entry):
        return [((of_atom(entry), ">="), (of_atom(entry).shifted(number(5)), "="))]

    assert feasible([below], RANGES, known)
    assert not feasible([below, (k.shifted(number(5)), "!=")], RANGES, known)
    assert not feasible([below, (k.shifted(number(4)), ">=")], RANGES, known)


def test_integers_at_indices_that_equations_make_equal():
    """Of an order of each row: σ(i, s) = σ(j, t) and i = j say s = t; of two rows it may be, where s ≠ t."""
    row, column = dimension("r"), dimension("c")
    i, j, s, t = (("u", k, 0) for k in range(4))
    body = access("x", (of_var(("p", 0, 0)), of_var(("b", 1, 0))))
    order = Comparison(ORDER, (("b", 1, 0),), (column,), (body,), ONE)
    one, other = chosen(order, 0, (of_var(s), of_var(i))), chosen(order, 0, (of_var(t), of_var(j)))
    ranges = {i: row, j: row, s: column, t: column}
    apart = [(one.minus(other), "="), (of_var(s).minus(of_var(t)), "!=")]
    assert feasible(apart, ranges)
    assert not feasible([*apart, (of_var(i).minus(of_var(j)), "=")], ranges)
    assert feasible([*apart, (of_var(i).minus(of_var(j)).shifted(ONE), "=")], ranges)
