"""Sizes at which a rule is tried tell something: at equal sizes, and in a single group, wrong rules are right."""

from functools import partial

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.obligations.tracing.jax_internals import abstract, trace
from certgrad.rules.judging.distinct_sizes import distinct_sizes

pytestmark = pytest.mark.usefixtures("proofs_alone")


def forward(function, *shapes):
    """The function traced at sizes; None where it does not run."""

    def at(sizes):
        try:
            return trace(function, [abstract([sizes[n] for n in shape], float) for shape in shapes])
        except (TypeError, AssertionError, ZeroDivisionError, ValueError):
            return None

    return at


def test_small_sizes_that_differ_come_first():
    assert distinct_sizes(["n", "d"], forward(jnp.matmul, "nd", "d")) == {"n": 2, "d": 3}


def test_nothing_is_found_where_sizes_must_be_equal():
    assert distinct_sizes(["n", "m"], forward(jnp.add, "n", "m")) is None
    assert distinct_sizes(["n"], forward(lambda x: x.reshape(1), "n")) is None


def test_sizes_divide_as_the_function_asks():
    found = distinct_sizes(
        ["b", "h", "g"], forward(lambda q, k: q * jnp.repeat(k, q.shape[1] // k.shape[1], 1), "bh", "bg")
    )
    assert found is not None
    assert len({*found.values()}) == 3
    assert found["h"] % found["g"] == 0
    assert found["h"] > found["g"] > 1


def test_there_is_more_than_one_group():
    assert distinct_sizes(["n", "c"], forward(lambda x: x.reshape(x.shape[0], -1, 4).max(-1), "nc")) == {"n": 2, "c": 8}


def test_the_result_has_several_entries():
    """At 2 it has none, and at 4 one."""
    windows = forward(lambda x: x[2 * jnp.arange((x.shape[0] - 3) // 2 + 1)[:, None] + jnp.arange(3)], "n")
    assert distinct_sizes(["n"], windows) == {"n": 5}


def test_a_number_of_the_code_is_tried():
    def insists(x):
        assert x.shape[0] == 7
        return jnp.cumsum(x, axis=0)

    assert distinct_sizes(["n", "d"], forward(insists, "nd"), [{"n": 7, "d": 7}]) == {"n": 7, "d": 2}


def _grouped(spread):
    """Each of g heads serves h/g of h query heads; `spread` is how the cotangent of a head is gathered."""

    @jax.custom_vjp
    def f(q, k):
        return q * jnp.repeat(k, q.shape[1] // k.shape[1], axis=1)

    def bwd(saved, g):
        q, k = saved
        return g * jnp.repeat(k, q.shape[1] // k.shape[1], axis=1), spread(g * q, k.shape[1])

    f.defvjp(lambda q, k: (f(q, k), (q, k)), bwd)
    return f


GROUPED = {
    "right": _grouped(lambda d, g: d.reshape(d.shape[0], g, -1).sum(2)),  # where g divides h
    "wrong": _grouped(lambda d, g: d.reshape(d.shape[0], -1, g).sum(1)),
}
"""Heads that serve several: rows of the corpus, of `b h, b g -> b h`."""


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def tiled_maxout(x, k):
    """The rule tiles each group's maximum where it should repeat it: right of a single group."""
    return x.reshape(x.shape[0], -1, k).max(-1).sum(-1)


def _tiled(k, x, g):
    m = x.reshape(x.shape[0], -1, k).max(-1)
    return (jnp.where(x == jnp.tile(m, (1, k)), g[:, None], 0.0),)


tiled_maxout.defvjp(lambda x, k: (tiled_maxout(x, k), x), _tiled)


def test_a_rule_that_is_right_of_one_group_alone_is_refuted():
    assert certgrad.check(tiled_maxout, "n c -> n", static={"k": 4}).verdict == "refuted"


def test_a_large_shape_that_is_the_only_one_is_searched_for_a_witness():
    @jax.custom_vjp
    def squares(x):
        return x * x

    squares.defvjp(lambda x: (squares(x), x), lambda x, g: (2 * x * g[::-1],))
    assert certgrad.check(squares, "100").verdict == "refuted"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", ["square", "two"])
def test_where_no_sizes_tell_the_report_says_so(kind):
    """A loop over rows of a square matrix, and over two vectors of one length that are declared of two."""

    @jax.custom_vjp
    def f(x, y):
        assert x.shape == y.shape
        total = jnp.zeros(())
        for k in range(int(x.shape[0])):
            total = total + x[k] * y[k]
        return total

    f.defvjp(lambda x, y: (f(x, y), (x, y)), lambda r, g: (g * r[1], g * r[0]))
    found = certgrad.check(f, "n, m -> " if kind == "two" else "n, n -> ")
    assert found.verdict == "proved at sizes"
    assert ("no sizes above 1 that all differ" in str(found)) is (kind == "two")
