"""What is the same on both sides of a seam: as a term, and in the steps of loops."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certgrad
from certgrad.obligations.laws.selections import on_both_sides
from certgrad.obligations.terms.atoms import access
from certgrad.obligations.terms.index import of_const
from certgrad.obligations.terms.polynomials import ZERO, number
from certgrad.obligations.terms.power import exp_of, pred
from tests.obligations.terms_strategy import Table, computed

quick = settings(max_examples=100, derandomize=True, deadline=None)
small = st.integers(-2, 2)


def entry(name):
    return access(name, (of_const(ZERO),))


def entries():
    return entry("x"), entry("y")


FACTORS = (
    lambda x, y: number(1),
    lambda x, y: number(-3),
    lambda x, y: x,
    lambda x, y: x * y,
    lambda x, y: exp_of(x),
    lambda x, y: y * y + x,
)
linear = st.builds(lambda a, b, c: entry("x").scale(a) + entry("y").scale(b) + number(c), small, small, small)
factors = st.sampled_from(FACTORS).map(lambda factor: factor(*entries()))


def at(poly, x, y):
    values = {"a": 1, "b": 1, "x": x, "y": y}
    return computed(poly, Table({name: tuple(Fraction(v) for _ in range(9)) for name, v in values.items()}), {})


@quick
@given(linear, factors, linear, factors, small, small)
def test_the_value_is_the_same_on_each_side_and_on_the_seam(p, q, other, r, x, y):
    term = p * q * (pred(p) + pred(-p)) + other * r * pred(p) + other * pred(-other) + q
    assert at(on_both_sides(term), x, y).overlaps(at(term, x, y))


@quick
@given(linear, factors)
def test_both_sides_become_one(p, q):
    x, y = entries()
    rest = q * pred(x - y)
    assert on_both_sides(p * q * (pred(p) + pred(-p)) + rest) == p * q + rest


@quick
@given(linear.filter(lambda p: p.constant() is None), factors)
def test_what_is_not_alike_stays(p, q):
    for term in (p * q * (pred(p) - pred(-p)), q * (pred(p) + pred(-p)), p * q * pred(p)):
        assert on_both_sides(term) == term or p.single() is not None


def chain(step, slope):
    """A recurrence r ← step(r, x[t]) with its derivatives in r and in x[t]."""

    @jax.custom_vjp
    def function(x):
        return jax.lax.scan(lambda r, t: (step(r, t), None), jnp.zeros((), x.dtype), x)[0]

    def forward(x):
        last, before = jax.lax.scan(lambda r, t: (step(r, t), r), jnp.zeros((), x.dtype), x)
        return last, (x, before)

    def backward(residuals, seed):
        def body(e, here):
            t, r = here
            of_r, of_t = slope(r, t)
            return e * of_r, e * of_t

        return (jax.lax.scan(body, seed, residuals, reverse=True)[1],)

    function.defvjp(forward, backward)
    return function


sigmoid, one = jax.nn.sigmoid, jnp.ones_like


def softplus(r, t):
    return jax.nn.softplus(r) + t


def of_two(r, t):
    return jax.nn.logsumexp(jnp.stack([r, t]))


def shifted(r, t):
    return t - 0.5 * jnp.logaddexp(-r / 0.5, -2 * t / 0.5)


CASES = [
    (softplus, lambda r, t: (sigmoid(r), one(t)), "proved"),
    (softplus, lambda r, t: (sigmoid(-r), one(t)), "refuted"),
    (softplus, lambda r, t: (jnp.where(r > 0, 1.0, 0.0), one(t)), "refuted"),
    (of_two, lambda r, t: (sigmoid(r - t), sigmoid(t - r)), "proved"),
    (of_two, lambda r, t: (sigmoid(t - r), sigmoid(r - t)), "refuted"),
    (of_two, lambda r, t: (sigmoid(r - t), 2 * sigmoid(t - r)), "refuted"),
    (shifted, lambda r, t: (sigmoid(4 * t - 2 * r), 1 + 2 * sigmoid(2 * r - 4 * t)), "proved"),
    (shifted, lambda r, t: (sigmoid(4 * t - 2 * r), 1 + sigmoid(2 * r - 4 * t)), "refuted"),
]


@pytest.mark.parametrize(("step", "slope", "verdict"), CASES)
def test_steps_with_seams_that_are_none(step, slope, verdict):
    assert certgrad.check(chain(step, slope), "n -> ").verdict == verdict


# --- steps whose forms meet in value and in slope: nothing is asked of the boundary


def magnitude_square(r, t):
    return r * jnp.abs(r) + t


def huber(r, t):
    u = r + t
    return jnp.where(jnp.abs(u) < 1, 0.5 * u**2, jnp.abs(u) - 0.5)


def tangent_forms(r, t):
    """1 is the slope of both forms at 0, and not that of what is chosen there."""
    return jnp.where(r > 0, r + r**2, jnp.where(r < 0, r + r**3, 0.0)) + t


def slope_of_tangent_forms(at_zero):
    return lambda r, t: (jnp.where(r > 0, 1 + 2 * r, jnp.where(r < 0, 1 + 3 * r**2, at_zero)), one(t))


def root(r, t):
    u = r + t
    return jnp.where(u > 0, jnp.sqrt(jnp.where(u > 0, u, 1.0)), 0.0)


def slope_of_root(r, t):
    u = r + t
    return (jnp.where(u > 0, 0.5 / jnp.sqrt(jnp.where(u > 0, u, 1.0)), 0.0),) * 2


def elu(r, t):
    return jnp.where(r > 0, r, jnp.exp(jnp.where(r > 0, 0.0, r)) - 1) + t


def slope_of_elu(r, t):
    return jnp.where(r > 0, 1.0, jnp.exp(jnp.where(r > 0, 0.0, r))), one(t)


def leaky(r, t):
    return jnp.where(r + t > 0, r + t, (r + t) / 2)


def jumping(r, t):
    return jnp.where(r + t > 0, (r + t) ** 2 + 1, (r + t) ** 2)


def undefined_around(r, t):
    """r·√t off r = 0: around r = 0 it is not defined for t < 0."""
    root_of = jnp.sqrt(jnp.where(r != 0, t, 1.0))
    return jnp.where(r > 0, r * root_of, jnp.where(r < 0, r * root_of, 0.0)) + t


def slope_of_undefined(r, t):
    root_of = jnp.sqrt(jnp.where(r != 0, t, 1.0))
    return jnp.where(r != 0, root_of, 0.0), jnp.where(r != 0, r / 2 / root_of, 0.0) + 1


MEETING = {
    "r·|r|": (magnitude_square, lambda r, t: (2 * jnp.abs(r), one(t)), "proved"),
    "r·|r|, the sign forgotten": (magnitude_square, lambda r, t: (2 * r, one(t)), "refuted"),
    "softsign": (lambda r, t: jax.nn.soft_sign(r + t), lambda r, t: ((1 + jnp.abs(r + t)) ** -2,) * 2, "proved"),
    "softsign, without the sign": (
        lambda r, t: jax.nn.soft_sign(r + t),
        lambda r, t: ((1 + r + t) ** -2,) * 2,
        "refuted",
    ),
    "r·|r|, another slope at 0": (
        magnitude_square,
        lambda r, t: (jnp.where(r == 0, 1.0, 2 * jnp.abs(r)), one(t)),
        "unproved",
    ),
    "Huber": (huber, lambda r, t: (jnp.clip(r + t, -1, 1),) * 2, "proved"),
    "Huber, clipped elsewhere": (huber, lambda r, t: (jnp.clip(r + t, -2, 2),) * 2, "refuted"),
    "elu": (elu, slope_of_elu, "proved"),
    "tangent": (tangent_forms, slope_of_tangent_forms(1.0), "proved"),
    "tangent, as if 0 were a form": (tangent_forms, slope_of_tangent_forms(0.0), "unproved"),
    "a root of what is above 0": (root, slope_of_root, "proved under hypotheses"),
    "a kink": (leaky, lambda r, t: (jnp.where(r + t > 0, 1.0, 0.5),) * 2, "proved under hypotheses"),
    "a jump": (jumping, lambda r, t: (2 * (r + t),) * 2, "proved under hypotheses"),
    "undefined around the boundary": (undefined_around, slope_of_undefined, "unproved"),
}


@pytest.mark.parametrize("name", MEETING)
def test_forms_that_meet_in_a_step(name):
    step, slope, verdict = MEETING[name]
    report = certgrad.check(chain(step, slope), "n -> ", conformance=False)
    assert report.verdict == verdict


def cell(activation, slope):
    """h ← activation(h·A + x[t]), with its backward as a scan."""

    @jax.custom_vjp
    def function(x, A):
        return jax.lax.scan(lambda h, t: (activation(h @ A + t), None), jnp.zeros((x.shape[1],), x.dtype), x)[0]

    def forward(x, A):
        def body(h, t):
            u = h @ A + t
            return activation(u), (h, u)

        last, (before, inside) = jax.lax.scan(body, jnp.zeros((x.shape[1],), x.dtype), x)
        return last, (A, before, inside)

    def backward(residuals, seed):
        A, before, inside = residuals

        def body(e, here):
            h, u = here
            d = e * slope(u)
            return A @ d, (d, jnp.outer(h, d))

        _, (dx, dA) = jax.lax.scan(body, seed, (before, inside), reverse=True)
        return dx, dA.sum(0)

    function.defvjp(forward, backward)
    return function


def huber_of(u):
    return jnp.where(jnp.abs(u) < 1, u * u / 2, jnp.abs(u) - 0.5)


def relu6(u):
    return jnp.minimum(jnp.maximum(u, 0), 6)


DENSE = {
    "softsign": (jax.nn.soft_sign, lambda u: (1 + jnp.abs(u)) ** -2, "proved"),
    "softsign, a power less": (jax.nn.soft_sign, lambda u: (1 + jnp.abs(u)) ** -1, "refuted"),
    "Huber": (huber_of, lambda u: jnp.clip(u, -1, 1), "proved"),
    "Huber, clipped elsewhere": (huber_of, lambda u: jnp.clip(u, -2, 2), "refuted"),
    "relu6": (relu6, lambda u: jnp.where((u > 0) & (u < 6), 1.0, 0.0), "proved under hypotheses"),
    "relu6, one bound": (relu6, lambda u: jnp.where(u > 0, 1.0, 0.0), "refuted"),
    "relu6, another bound": (relu6, lambda u: jnp.where((u > 0) & (u < 5), 1.0, 0.0), "refuted"),
    "relu squared": (lambda u: jnp.maximum(u, 0) ** 2, lambda u: 2 * jnp.maximum(u, 0), "proved"),
    "relu squared, halved": (lambda u: jnp.maximum(u, 0) ** 2, lambda u: jnp.maximum(u, 0), "refuted"),
}


@pytest.mark.parametrize("name", DENSE)
def test_forms_that_meet_in_a_step_with_a_matrix_product(name):
    activation, slope, verdict = DENSE[name]
    assert certgrad.check(cell(activation, slope), "t n, n n -> n", conformance=False).verdict == verdict


def test_a_kink_in_a_step_is_asked_to_be_away():
    kinked = chain(lambda r, t: jnp.abs(r) + t, lambda r, t: (jnp.sign(r), one(t)))
    assert certgrad.check(kinked, "n -> ").verdict != "proved"


# --- kinks in steps: a step has two sides of what the hypotheses say is not 0


def saturated(within, mask, reverse=True):
    """c ← within(c + x[t]), all of them; the backward multiplies by a mask of c + x[t]."""

    def steps(x, out):
        def step(c, t):
            return within(c + t), out(c, t)

        return jax.lax.scan(step, jnp.zeros((), x.dtype), x)[1]

    @jax.custom_vjp
    def function(x):
        return steps(x, lambda c, t: within(c + t))

    def backward(x, seed):
        open_ = mask(steps(x, lambda c, t: c + t)).astype(x.dtype)

        def body(e, here):
            g, m = here
            return (e + g) * m, (e + g) * m

        return (jax.lax.scan(body, jnp.zeros((), x.dtype), (seed, open_), reverse=reverse)[1],)

    function.defvjp(lambda x: (function(x), x), backward)
    return function


def clipped(u):
    return jnp.clip(u, -1, 1)


def below(u):
    return jnp.minimum(u, 1)


SATURATED = {
    "below a bound": (saturated(below, lambda u: u < 1), "proved under hypotheses"),
    "or on it": (saturated(below, lambda u: u <= 1), "proved under hypotheses"),
    "between two": (saturated(clipped, lambda u: (u > -1) & (u < 1)), "proved under hypotheses"),
    "by its magnitude": (saturated(clipped, lambda u: jnp.abs(u) < 1), "proved under hypotheses"),
    "above it": (saturated(below, lambda u: u > 1), "refuted"),
    "below another": (saturated(below, lambda u: u < 0.5), "refuted"),
    "of two, one": (saturated(clipped, lambda u: u < 1), "refuted"),
    "not reversed": (saturated(clipped, lambda u: (u > -1) & (u < 1), reverse=False), "refuted"),
}


@pytest.mark.parametrize("name", SATURATED)
def test_steps_that_saturate(name):
    rule, verdict = SATURATED[name]
    report = certgrad.check(rule, "n -> n", conformance=False)
    assert report.verdict == verdict
    if verdict != "refuted":
        assert any("≠ 1 " in str(h) for h in report.hypotheses)


@pytest.mark.parametrize("beside", [True, False], ids=["beside an entry", "alone"])
def test_what_is_asked_at_each_step_says_nothing_of_the_last_carry(beside):
    """log is of what is carried before each step; |c| is of what is left, and its slope is not 1 where that is < 0."""

    def parts(x):
        def step(c, t):
            return c / 2 + t, jnp.log(c + t if beside else c)

        last, logs = jax.lax.scan(step, jnp.ones((), x.dtype), x)
        return jnp.sum(logs), last

    def rule(slope):
        @jax.custom_vjp
        def function(x):
            logs, last = parts(x)
            return logs + jnp.abs(last)

        def backward(x, seed):
            (_, last), pull = jax.vjp(parts, x)
            return pull((seed, seed * slope(last)))

        function.defvjp(lambda x: (function(x), x), backward)
        return function

    right, wrong = (certgrad.check(rule(slope), "n -> ", conformance=False) for slope in (jnp.sign, jnp.ones_like))
    assert right.verdict == "proved under hypotheses"
    assert any("c[n] ≠ 0" in str(h) for h in right.hypotheses)
    assert wrong.verdict == "refuted"
