"""Loops that fill an array entry by entry, row by row, or in a mutable reference: for any number of steps."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from certgrad import check


def filled(x):
    return lax.fori_loop(0, x.shape[0], lambda i, r: r.at[i].set(x[i] * x[i]), jnp.zeros_like(x))


def filled_by_slices(x):
    def step(r, i):
        return lax.dynamic_update_slice(r, (x[i] * x[i])[None], (i,)), None

    return lax.scan(step, jnp.zeros_like(x), jnp.arange(x.shape[0]))[0]


def filled_from_the_end(x):
    n = x.shape[0]
    return lax.fori_loop(0, n, lambda i, r: r.at[n - 1 - i].set(x[i] * x[i]), jnp.zeros_like(x))[::-1]


def in_a_reference(x):
    r = jax.new_ref(jnp.zeros_like(x))

    def step(i, _):
        r[i] = x[i] * x[i]

    lax.fori_loop(0, x.shape[0], step, None)
    return jax.freeze(r)


def multiplied_in_place(x):
    return lax.fori_loop(0, x.shape[0], lambda i, r: r.at[i].multiply(x[i]), x)


def cell_by_cell(a):
    def row(i, r):
        return lax.fori_loop(0, a.shape[1], lambda j, q: q.at[i, j].set(a[i, j] ** 2), r)

    return lax.fori_loop(0, a.shape[0], row, jnp.zeros_like(a))


SQUARES = [filled, filled_by_slices, filled_from_the_end, in_a_reference, multiplied_in_place, cell_by_cell]


def rule(plain, backward):
    @jax.custom_vjp
    def f(*xs):
        return plain(*xs)

    f.defvjp(lambda *xs: (plain(*xs), xs), backward)
    return f


@pytest.mark.one_in(6)
@pytest.mark.parametrize("plain", SQUARES)
def test_a_buffer_that_is_filled(plain):
    signature = "n m -> n m" if plain is cell_by_cell else "n -> n"
    assert check(rule(plain, lambda xs, g: (2 * xs[0] * g,)), signature).verdict == "proved"
    assert check(rule(plain, lambda xs, g: (2 * xs[0] * g[::-1],)), signature).verdict == "refuted"


def all_but_the_first(x):
    return lax.fori_loop(1, x.shape[0], lambda i, r: r.at[i].set(x[i] * x[i - 1]), x * x)


def back(x, g, first):
    from_left, from_right = g[1:] * x[:-1], g[1:] * x[1:]
    return jnp.zeros_like(g).at[1:].add(from_left).at[:-1].add(from_right).at[0].add(first * x[0] * g[0])


def test_entries_that_no_step_writes_are_what_they_were():
    assert check(rule(all_but_the_first, lambda xs, g: (back(*xs, g, 2),)), "n+1 -> n+1").verdict == "proved"
    assert check(rule(all_but_the_first, lambda xs, g: (back(*xs, g, 1),)), "n+1 -> n+1").verdict == "refuted"


def rows(a, x):
    return lax.fori_loop(0, a.shape[0], lambda i, r: r.at[i].set(a[i] * x), jnp.zeros_like(a))


def test_rows():
    right = rule(rows, lambda xs, g: (g * xs[1], jnp.sum(g * xs[0], 0)))
    wrong = rule(rows, lambda xs, g: (g * xs[1], jnp.sum(g[1:] * xs[0][1:], 0)))
    assert check(right, "n m, m -> n m").verdict == "proved"
    assert check(wrong, "n m, m -> n m").verdict == "refuted"


def overwritten(x):
    return lax.fori_loop(0, x.shape[0], lambda i, r: r.at[0].set(x[i] * x[i]), 3 * x)


def pulled(x, g, of_first):
    return (3 * g).at[0].set(of_first * g[0]).at[-1].add(2 * x[-1] * g[0])


def test_of_an_entry_that_each_step_writes_the_last_value_stays():
    assert check(rule(overwritten, lambda xs, g: (pulled(*xs, g, 0),)), "n+1 -> n+1").verdict == "proved"
    assert check(rule(overwritten, lambda xs, g: (pulled(*xs, g, 3),)), "n+1 -> n+1").verdict == "refuted"


@pytest.mark.slow
def test_a_reference_from_outside_is_state():
    kept = jax.new_ref(jnp.ones(()))

    def stateful(x):
        kept[...] = kept[...] * 1.0
        return x * kept[...]

    assert check(rule(stateful, lambda xs, g: (g,)), "n -> n").verdict not in ("proved", "proved under hypotheses")
