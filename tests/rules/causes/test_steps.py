"""Loops whose number of steps is found by counting, and loops in loops."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from certgrad import check
from certgrad.obligations.tracing.jax_internals import while_loop
from certgrad.obligations.tracing.jax_internals._steps import counted_steps

pytestmark = pytest.mark.usefixtures("proofs_alone")


def doubled_until(x):
    """Five steps: 1, 2, 4, 8, 16, 32."""
    return lax.while_loop(
        lambda c: (c[0] < 20) & (c[1] > -9), lambda c: (2 * c[0], c[1] - 1, jnp.sin(c[2])), (1, 0, x)
    )[2]


def by_scan(steps):
    f = jax.custom_vjp(doubled_until)

    def fwd(x):
        return lax.scan(lambda z, _: (jnp.sin(z), z), x, None, length=steps)

    def bwd(path, g):
        return (lax.scan(lambda lam, z: (lam * jnp.cos(z), None), g, path, reverse=True)[0],)

    f.defvjp(fwd, bwd)
    return f


@pytest.mark.parametrize(("steps", "verdict"), [(5, "proved"), (4, "refuted")])
def test_a_loop_whose_test_looks_at_numbers(steps, verdict):
    report = check(by_scan(steps), "n -> n")
    assert report.verdict == verdict, report


def exponential_sums(x):
    """1 + (1 + x) + (1 + x + x²): inside, as many steps as outside have been made."""

    def outer(n, total):
        return total + lax.fori_loop(0, n, lambda _, p: 1 + x * p, jnp.ones_like(x))

    return lax.fori_loop(0, 3, outer, jnp.zeros_like(x))


@pytest.mark.parametrize(("slope", "verdict"), [(lambda x: 2 + 2 * x, "proved"), (lambda x: 1 + 2 * x, "refuted")])
def test_a_loop_whose_length_is_the_place_in_another(slope, verdict):
    f = jax.custom_vjp(exponential_sums)
    f.defvjp(lambda x: (exponential_sums(x), x), lambda x, g: (g * slope(x),))
    report = check(f, "n -> n")
    assert report.verdict == verdict, report


def loop_of(test, body, *start):
    eqns = jax.make_jaxpr(lambda *c: lax.while_loop(test, body, c))(*start).eqns
    return while_loop(next(eqn for eqn in eqns if eqn.primitive.name == "while"))


def test_what_is_counted():
    def counter(last):
        return loop_of(lambda c: c[0] < last, lambda c: (c[0] + 1, c[1] * c[0]), 0, 1.0)

    assert counted_steps(counter(7), [0, None]) == 7
    assert counted_steps(counter(7), [9, None]) == 0
    assert counted_steps(counter(7), [None, None]) is None  # an input
    assert counted_steps(counter(10**9), [0, None]) is None  # too many to be gone through
    by_value = loop_of(lambda c: c[1] < 9.0, lambda c: (c[0] + 1, c[1] + c[0]), 0, 1.0)
    assert counted_steps(by_value, [0, 1]) is None  # floats are rounded
    by_rounding = loop_of(lambda c: jax.jit(lambda i: 0.1 * i <= 0.3)(c[0]), lambda c: (c[0] + 1, c[1] * c[0]), 0, 1.0)
    assert counted_steps(by_rounding, [0, None]) is None  # in a program inside, too


@pytest.mark.parametrize(("first", "verdict"), [(0, "proved"), (1, "refuted")])
def test_a_while_that_ends_at_a_size(first, verdict):
    """A size that is a name is no number to count up to."""
    f = jax.custom_vjp(lambda x: x * x)

    def backward(x, g):
        def step(carried):
            i, filled = carried
            return i + 1, filled.at[i].set(2 * x[i] * g[i])

        return lax.while_loop(lambda c: c[0] < x.shape[0], step, (first, jnp.zeros_like(x)))[1:]

    f.defvjp(lambda x: (x * x, x), backward)
    assert check(f, "n -> n").verdict == verdict


def exponential(of):
    """Five terms of a series, each made of the one before by a division by `of` the step's number."""
    return lambda x: lax.fori_loop(
        0, 5, lambda k, c: (c[0] * x / of(k), c[1] + c[0]), (jnp.ones_like(x), jnp.zeros_like(x))
    )[1]


def by_the_derivative_of(f, other):
    rule = jax.custom_jvp(f)
    rule.defjvp(lambda x, dx: (f(*x), jax.jvp(other, x, dx)[1]))
    return rule


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("of", "verdict"),
    [
        (lambda k: k + 1.0, "proved"),
        (lambda k: (k + 1.0) * (2 * k + 3.0), "proved"),
        (lambda k: k, "unproved"),
        (lambda k: k - 2.0, "unproved"),
    ],
)
def test_a_loop_that_divides_by_the_number_of_its_step(of, verdict):
    assert check(by_the_derivative_of(exponential(of), exponential(of)), "n -> n").verdict == verdict


BY_ANOTHER_NUMBER = by_the_derivative_of(exponential(lambda k: k + 1.0), exponential(lambda k: k + 2.0))
"""A row of the corpus."""
