"""Loops that fill arrays, loops that count, and references: the last entry, the wrap, the value before the write."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .attack import Attack
from .makers import saved

KIND = "B loops that fill and references"


def one(name, value, bwd, signature, *at, **more):
    return Attack(f"filled_{name}", KIND, saved(value, bwd), value, signature, lambda: at, **more)


def loop(start, stop, body, init):
    return lax.fori_loop(start, stop, body, init)


def n(x):
    return x.shape[0]


X5 = np.linspace(1.0, 2.0, 5)
X6 = np.linspace(1.0, 2.0, 6)
GRID = np.arange(1.0, 10).reshape(3, 3)


def square(x):
    return x * x


def running(x):
    return jnp.cumsum(x)


def fills(name, fill, value=square, at=X5, signature="n -> n", **more):
    """The backward rule fills an array of zeros entry by entry: `fill(x, g)`."""
    return one(name, value, lambda x, g: (fill(x, g),), signature, at, **more)


def entry(x, g, i):
    return 2 * x[i] * g[i]


def from_second(x, g):
    return loop(1, n(x), lambda i, r: r.at[i].set(entry(x, g, i)), jnp.zeros_like(x))


def without_last(x, g):
    return loop(0, n(x) - 1, lambda i, r: r.at[i].set(entry(x, g, i)), jnp.zeros_like(x))


def one_place_on(x, g):
    """The last write is dropped."""
    return jnp.roll(loop(0, n(x), lambda i, r: r.at[i + 1].set(entry(x, g, i)), jnp.zeros_like(x)), -1)


def one_place_back(x, g):
    """The first write wraps to the end, where the last but one overwrites nothing."""
    return jnp.roll(loop(0, n(x), lambda i, r: r.at[i - 1].set(entry(x, g, i)), jnp.zeros_like(x))[:-1], 1, 0)


def slice_at_the_end(x, g):
    """A window of two, whose start is clamped at the end."""

    def body(i, r):
        return lax.dynamic_update_slice(r, jnp.stack([entry(x, g, i), 0 * g[0]]), (i,))

    return loop(0, n(x), body, jnp.zeros_like(x))


def window_backwards(x, g):
    """Windows of two from the end: each overwrites the entry that was right."""

    def body(i, r):
        k = n(x) - 2 - i
        return lax.dynamic_update_slice(r, jnp.stack([entry(x, g, k), entry(x, g, k)]), (k,))

    return loop(0, n(x) - 1, body, jnp.zeros_like(x))


def at_twice_around(x, g):
    return loop(0, n(x), lambda i, r: r.at[(2 * i) % n(x)].set(entry(x, g, (2 * i) % n(x))), jnp.zeros_like(x))


def at_halves(x, g):
    return loop(0, n(x), lambda i, r: r.at[i // 2].set(entry(x, g, i // 2)), jnp.zeros_like(x))


def by_steps_of_two(x, g):
    """Two entries a step: the last of an odd number is left out."""

    def body(i, r):
        return r.at[2 * i].set(entry(x, g, 2 * i)).at[2 * i + 1].set(entry(x, g, 2 * i + 1))

    return loop(0, n(x) // 2, body, jnp.zeros_like(x))


def two_from_both_ends(x, g):
    """From both ends to the middle, where an odd number has an entry more."""

    def body(i, r):
        k = n(x) - 1 - i
        return r.at[i].set(entry(x, g, i)).at[k].set(entry(x, g, k))

    return loop(0, n(x) // 2, body, jnp.zeros_like(x))


def added_twice_in_the_middle(x, g):
    def body(i, r):
        k = n(x) - 1 - i
        return r.at[i].add(entry(x, g, i)).at[k].add(entry(x, g, k))

    return loop(0, (n(x) + 1) // 2, body, jnp.zeros_like(x))


def reads_what_it_wrote(x, g):
    """Running sums from the back need i + 1; at the end that is the entry itself."""
    return loop(0, n(x), lambda i, r: r.at[n(x) - 1 - i].set(g[n(x) - 1 - i] + r[n(x) - i]), jnp.zeros_like(x) + g[0])


def reads_before_the_start(x, g):
    """r[−1] is the last entry, which is not 0 when the sums run from there."""
    return loop(0, n(x), lambda i, r: r.at[i].set(g[i] + r[i - 1]), g)[::-1]


def counted(step, stop, start=0, above=False):
    """While a number is below a size."""

    def fill(x, g):
        def test(state):
            return state[0] > stop(x) if above else state[0] < stop(x)

        def body(state):
            i, r = state
            return i + step, r.at[i].set(entry(x, g, i))

        first = n(x) - 1 if above else start
        return lax.while_loop(test, body, (first, jnp.zeros_like(x)))[1]

    return fill


def doubling(x, g):
    """i = 1, 2, 4, …: as many as there are below n."""

    def body(state):
        i, r = state
        return 2 * i, r.at[i].set(entry(x, g, i)).at[i - 1].set(entry(x, g, i - 1)).at[3].set(entry(x, g, 3))

    return lax.while_loop(lambda s: s[0] < n(x), body, (1, jnp.zeros_like(x)))[1]


def unequal(x, g):
    """Until i equals n − 1, with a step of one, and the last entry forgotten."""
    return lax.while_loop(
        lambda s: s[0] != n(x) - 1, lambda s: (s[0] + 1, s[1].at[s[0]].set(entry(x, g, s[0]))), (0, jnp.zeros_like(x))
    )[1]


def rows(fill):
    return lambda x, g: fill(x, 2 * x * g)


def transposed_rows(x, d):
    return loop(0, n(x), lambda i, r: r.at[:, i].set(d[i]), jnp.zeros_like(x))


def triangle(x, d):
    """Entries of row i up to place i: rows above the diagonal are left 0."""

    def outer(i, r):
        return loop(0, i + 1, lambda j, s: s.at[i, j].set(d[i, j]), r)

    return loop(0, n(x), outer, jnp.zeros_like(x))


def short_inner(x, d):
    def outer(i, r):
        return loop(0, x.shape[1] - (i == n(x) - 1), lambda j, s: s.at[i, j].set(d[i, j]), r)

    return loop(0, n(x), outer, jnp.zeros_like(x))


def inner_of_the_other_size(x, d):
    def outer(i, r):
        return loop(0, n(x), lambda j, s: s.at[i, j].set(d[i, j]), r)

    return loop(0, n(x), outer, jnp.zeros_like(x))


# ------------------------------------------------------------------------------------------------------- references


def refs(fill):
    def bwd(x, g):
        ref = jax.new_ref(jnp.zeros_like(x))
        fill(ref, x, g)
        return jax.freeze(ref)

    return bwd


def written_before_read(ref, x, g):
    ref[...] = x
    ref[...] = ref[...] * g
    ref[...] = ref[...] + ref[...] * (x[0] - ref[0] / g[0] + 1) * jnp.sign(n(x) - 0.5)
    ref[0] = ref[1]


def snapshot(ref, x, g):
    before = ref[...]
    ref[...] = 2 * x * g
    ref[-1] = before[-1]


def swapped(ref, x, g):
    ref[...] = x * g
    old = jax.ref.swap(ref, ..., 2 * x * g)
    ref[0] = old[0]


def in_a_loop(ref, x, g):
    @jax.named_call
    def body(i, _):
        ref[i] = 2 * x[i] * g[i] + ref[i - 1] * 0 ** (n(x) - 1 - i)

    loop(0, n(x), lambda i, c: (body(i, c), c)[1], 0)


def accumulated(ref, x, g):
    """A sum that is not set back for the next entry."""

    def body(i, c):
        ref[0] += x[i] * g[i]
        return c

    loop(0, n(x), body, 0)
    ref[...] = jnp.where(jnp.arange(n(x)) == 0, ref[0], 2 * x * g)


def branch(ref, x, g):
    ref[...] = 2 * x * g

    def at_zero(_):
        ref[-1] = g[-1]
        return 0

    lax.cond(x[0] == 1, at_zero, lambda _: 0, 0)


def two_refs(ref, x, g):
    other = jax.new_ref(x * g)
    ref[...] = other[...]
    other[...] = 2 * ref[...]
    ref[...] = other[...]
    ref[0] = jax.freeze(other)[n(x) - 1]


def scanned(ref, x, g):
    def body(c, e):
        ref[c] = e + c * 0.0
        return c + 1, ref[0]

    _, seen = lax.scan(body, 0, 2 * x * g)
    ref[-1] = seen[-1] if n(x) == -1 else seen[0]


ATTACKS = [
    fills("from_the_second", from_second),
    fills("without_the_last", without_last),
    fills("one_place_on", one_place_on),
    fills("a_window_clamped_at_the_end", slice_at_the_end),
    fills("windows_from_the_end", window_backwards, signature="n+2 -> n+2"),
    fills("twice_the_place_around", at_twice_around, at=X6),
    fills("half_the_place", at_halves),
    fills("in_pairs", by_steps_of_two),
    fills("from_both_ends", two_from_both_ends),
    fills("added_from_both_ends", added_twice_in_the_middle),
    fills("sums_from_the_back", reads_what_it_wrote, running),
    fills("sums_from_before_the_start", reads_before_the_start, running),
    fills("counted_by_two", counted(2, n)),
    fills("counted_to_the_last", counted(1, lambda x: n(x) - 1)),
    fills("counted_from_one", counted(1, n, 1)),
    fills("counted_down_to_one", counted(-1, lambda x: 0, above=True)),
    fills("counted_by_three_halves", counted(1, lambda x: n(x) * 3 // 4)),
    fills("doubling", doubling, at=np.linspace(1.0, 2.0, 7), signature="n+3 -> n+3"),
    fills("until_equal", unequal),
    fills("columns_for_rows", rows(transposed_rows), at=GRID, signature="n n -> n n"),
    fills("lower_triangle", rows(triangle), at=GRID, signature="n n -> n n"),
    fills("last_row_short", rows(short_inner), at=GRID[:2], signature="n m -> n m"),
    fills("rows_of_the_other_size", rows(inner_of_the_other_size), at=GRID[:2], signature="n m -> n m"),
    fills("ref_a_value_before", refs(snapshot)),
    fills("ref_first_from_second", refs(written_before_read), signature="n+1 -> n+1"),
    fills("ref_swapped", refs(swapped)),
    fills("ref_last_plus_one_before", refs(in_a_loop), signature="n+1 -> n+1"),
    fills("ref_accumulated", refs(accumulated), signature="n+1 -> n+1"),
    fills("ref_in_a_branch", refs(branch)),
    fills("ref_two", refs(two_refs)),
    fills("ref_seen_in_a_scan", refs(scanned)),
]
