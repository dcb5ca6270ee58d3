"""Orders and ranks: permutations of an axis, which undo each other and change the order of sums."""

import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import fmpq

import certgrad
from certgrad.obligations.balls import precision
from certgrad.obligations.decide.evaluate import evaluate
from certgrad.obligations.laws.order import place_in_order
from certgrad.obligations.terms.atoms import access, dimension
from certgrad.obligations.terms.index import Ix, of_var
from certgrad.obligations.terms.index_terms import index_equal, index_number
from certgrad.obligations.terms.integers import undone
from certgrad.obligations.terms.polynomials import ONE
from certgrad.obligations.terms.sums import sum_over
from certgrad.obligations.terms.variables import fresh

SIZE = 5


def order(place):
    """Which entry of x comes to the place."""
    v = fresh()
    return place_in_order([access("x", (of_var(v),))], v, dimension("n"), place)


def rank(index):
    (atom,) = order(of_var(fresh())).atoms
    return undone(atom, index)


def at(tensor, ix):
    return access(tensor, (ix,))


def last(place):
    """The place counted from the end."""
    ix = place if isinstance(place, Ix) else of_var(place)
    return ix.scaled(-1).shifted(dimension("n") - ONE)


LAWS = {
    "an order undoes its rank": lambda t, _: (at("y", order(rank(of_var(t)))), at("y", of_var(t))),
    "a rank undoes its order": lambda t, _: (at("y", rank(order(of_var(t)))), at("y", of_var(t))),
    "equal places": lambda t, u: (
        index_equal(order(of_var(t)).minus(order(of_var(u)))),
        index_equal(of_var(t).minus(of_var(u))),
    ),
    "an equation for a place": lambda t, u: (
        index_equal(order(of_var(t)).minus(of_var(u))) * at("y", of_var(t)),
        index_equal(order(of_var(t)).minus(of_var(u))) * at("y", rank(of_var(u))),
    ),
    "a sum in order": lambda t, _: (at("y", order(of_var(t))), at("y", of_var(t))),
    "a sum over ranks": lambda t, _: (at("y", rank(of_var(t))), at("y", of_var(t))),
    "a sum of places and entries": lambda t, _: (
        at("y", order(of_var(t))) * at("z", of_var(t)),
        at("y", of_var(t)) * at("z", rank(of_var(t))),
    ),
    "a sum in reverse order": lambda t, _: (
        at("y", order(last(t))) * at("z", of_var(t)),
        at("y", of_var(t)) * at("z", last(rank(of_var(t)))),
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_both_sides_are_equal_at_numbers(name):
    """Summed over the places, by the normal form and one by one; ties among the keys as well."""
    rng = random.Random(name)
    t, u = fresh(), fresh()
    one, other = LAWS[name](t, u)
    dummies = [(t, dimension("n")), (u, dimension("n"))]
    for spread in (2, 100):
        values = {(a, k): fmpq(rng.randrange(spread)) for a in "xyz" for k in range(SIZE)}

        def value(tensor, index, values=values):
            return values[tensor, *index]

        with precision(64):
            closed = [evaluate(sum_over(p, dummies), {"n": SIZE}, value, {}) for p in (one, other)]
            single = [
                sum(evaluate(p, {"n": SIZE}, value, {t: i, u: k}) for i in range(SIZE) for k in range(SIZE))
                for p in (one, other)
            ]
        assert len({int(x.unique_fmpz()) for x in (*closed, *single)}) == 1


@pytest.mark.parametrize("sign", [1, -1])
def test_the_order_of_an_order(sign):
    """Putting the places of a permutation in order inverts it."""
    keys = [3, 1, 3, 0, 2]
    v, t = fresh(), fresh()
    found = place_in_order([index_number(order(of_var(v))).scale(sign)], v, dimension("n"), of_var(t))
    permutation = np.argsort(keys, stable=True)

    def value(_, index):
        return fmpq(keys[index[0]])

    with precision(64):
        places = [int(evaluate(index_number(found), {"n": SIZE}, value, {t: k}).unique_fmpz()) for k in range(SIZE)]
    assert places == np.argsort(sign * permutation).tolist()


def rule(forward, backward):
    function = jax.custom_vjp(forward)
    function.defvjp(lambda x: (forward(x), x), backward)
    return function


RULES = {
    "Σ of the sorted entries": (
        lambda x: jnp.sum(jnp.sort(x) ** 2, -1),
        lambda x, g: (2 * x * g[:, None],),
        lambda x, g: (2 * jnp.sort(x) * g[:, None],),
    ),
    "ranks by argsort twice": (
        lambda x: jnp.sort(x) * jnp.arange(x.shape[1]),
        lambda x, g: (jnp.take_along_axis(g * jnp.arange(x.shape[1]), jnp.argsort(jnp.argsort(x)), 1),),
        lambda x, g: (jnp.take_along_axis(g, jnp.argsort(jnp.argsort(x)), 1) * jnp.arange(x.shape[1]),),
    ),
    "largest first": (
        lambda x: jnp.sort(x, descending=True) ** 2,
        lambda x, g: (2 * x * jnp.take_along_axis(g[:, ::-1], jnp.argsort(jnp.argsort(x)), 1),),
        lambda x, g: (2 * x * jnp.take_along_axis(g, jnp.argsort(jnp.argsort(x)), 1),),
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", RULES)
def test_rules_that_sort(name):
    forward, right, wrong = RULES[name]
    expected = "proved" if name.startswith("Σ") else "proved under hypotheses"  # a sum does not see how ties are broken
    assert certgrad.check(rule(forward, right), "b n").verdict == expected
    assert certgrad.check(rule(forward, wrong), "b n").verdict == "refuted"


def test_an_entry_written_twice_is_not_proved():
    """Neighbours share places of the array: which of them is written is not defined."""

    def places(x):
        return jnp.arange(x.shape[0]) // 2

    written = rule(lambda x: jnp.zeros_like(x).at[places(x)].set(x), lambda x, g: (g[places(x)],))
    assert certgrad.check(written, "n -> n").verdict in ("unproved", "refuted")
