"""Loops that begin beside their rows: scans that may have no step, and carries that start at an infinity."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from certgrad import check


def with_rule(function, bwd):
    rule = jax.custom_vjp(function)
    rule.defvjp(lambda *args: (function(*args), args), bwd)
    return rule


def own(function, change=lambda cotangents, *args: cotangents):
    """The function with the rule that JAX derives, changed."""
    return with_rule(function, lambda args, g: change(jax.vjp(function, *args)[1](g), *args))


def verdict(rule, signature):
    return check(rule, signature).certificate.verdict


def hidden_markov(x, A):
    """The forward algorithm: the first row is where it starts, the others are its steps."""
    start, rows = x[0], x[1:]
    last = lax.scan(lambda a, row: (jax.nn.logsumexp(a[:, None] + A, axis=0) + row, None), start, rows)[0]
    return jax.nn.logsumexp(last)


def recurrent(x, w):
    def step(h, row):
        h = jnp.tanh(w * h + row)
        return h, h

    last, rows = lax.scan(step, jnp.tanh(x[0]), x[1:])
    return last + jnp.sum(rows)


def from_the_end(x):
    last, rows = lax.scan(lambda a, row: (jnp.sin(a) * row, a), x[-1], x[:-1], reverse=True)
    return last + jnp.sum(rows)


def after_the_second(x):
    return lax.scan(lambda a, row: (jnp.sin(a) * row, None), x[0], x[2:])[0]


def with_the_first_in_front(x):
    """All that is carried, where it starts too: a moving average, or the hidden states of a recurrent layer."""
    rows = lax.scan(lambda a, row: (jnp.sin(a) * row,) * 2, x[0], x[1:])[1]
    return jnp.concatenate([x[:1], rows])


def smoothed(x):
    return lax.scan(lambda a, row: (0.5 * a + row, None), jnp.zeros(()), x)[0]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("function", "signature"),
    [
        pytest.param(hidden_markov, "t k, k k -> ", marks=pytest.mark.slow),
        pytest.param(recurrent, "t, -> ", marks=pytest.mark.slow),
        (from_the_end, "t -> "),
        (after_the_second, "t -> "),
        (with_the_first_in_front, "t -> t"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_a_scan_of_the_rows_after_the_first(function, signature):
    assert verdict(own(function), signature) == "proved"
    doubled = own(function, lambda cotangents, *args: (2 * cotangents[0], *cotangents[1:]))
    assert verdict(doubled, signature) == "refuted"
    # At one row the scan has no step: what is wrong there alone is wrong.
    no_step = own(function, lambda c, x, *_: (c[0] * jnp.minimum(x[1:].shape[0], 1), *c[1:]))
    assert verdict(no_step, signature) == "refuted"


def decaying(x, g, last=1):
    return (g * 0.5 ** (x.shape[0] - last - jnp.arange(x.shape[0])),)


def test_powers_of_a_constant_by_the_number_of_steps_that_are_left():
    assert verdict(with_rule(smoothed, lambda args, g: decaying(*args, g)), "n -> ") == "proved"
    assert verdict(with_rule(smoothed, lambda args, g: decaying(*args, g, last=0)), "n -> ") == "refuted"


def streaming(x, rescaled=True, start=-jnp.inf, total=0.0):
    """log Σ exp, one entry after another: the largest so far, and the sum in units of it."""

    def step(carry, entry):
        largest, total = carry
        new = jnp.maximum(largest, entry)
        return (new, (total * jnp.exp(largest - new) if rescaled else total) + jnp.exp(entry - new)), None

    largest, total = lax.scan(step, (jnp.full((), start, x.dtype), jnp.full((), total, x.dtype)), x)[0]
    return largest + jnp.log(total)


@pytest.mark.slow
def test_a_maximum_that_starts_at_minus_infinity():
    softmax = lambda args, g: (g * jax.nn.softmax(args[0]),)
    assert verdict(with_rule(lambda x: streaming(x), softmax), "n -> ") == "proved"
    # Whatever the sum starts at is scaled by exp(−∞).
    assert verdict(with_rule(lambda x: streaming(x, total=1.0), softmax), "n -> ") == "proved"
    assert verdict(with_rule(lambda x: streaming(x, rescaled=False), softmax), "n -> ") == "refuted"
    assert verdict(with_rule(lambda x: streaming(x), lambda args, g: (g * jnp.exp(args[0]),)), "n -> ") == "refuted"
    assert verdict(with_rule(lambda x: streaming(x, start=0.0, total=1.0), softmax), "n -> ") == "refuted"


def test_what_stays_infinite_or_is_handed_out_is_not_proved():
    def masked(x, keep):
        """The largest of what is kept, which may be nothing."""
        step = lambda m, row: (jnp.maximum(m, jnp.where(row[1], row[0], -jnp.inf)), None)
        return lax.scan(step, jnp.full((), -jnp.inf, x.dtype), (x, keep))[0]

    def before(x):
        """What was carried before each step: −∞ before the first."""
        return lax.scan(lambda m, row: (jnp.maximum(m, row), m), jnp.full((), -jnp.inf, x.dtype), x)[1]

    assert verdict(own(masked, lambda c, *args: (c[0],)), "n, n:bool -> ") not in ("proved", "proved under hypotheses")
    assert verdict(own(before), "n -> n") not in ("proved", "proved under hypotheses")


def symplectic(q, p, kicks):
    """Positions and momenta, stepped in turn: each carry begins its adjoint at 0."""

    def step(state, kick):
        q, p = state
        p = p - kick * jnp.sin(q)
        return (q + 0.1 * p, p), None

    return lax.scan(step, (q, p), kicks)[0][0]


def in_the_log_semiring(x):
    return lax.scan(lambda a, row: (jnp.logaddexp(a, row), None), x[0], x[1:])[0]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("function", "signature"), [(symplectic, ", , n -> "), (in_the_log_semiring, "n -> ")], ids=["momenta", "logaddexp"]
)
def test_what_the_carries_of_a_loop_are_to_each_other(function, signature):
    assert verdict(own(function), signature) == "proved"
    assert verdict(own(function, lambda c, *args: (*c[:-1], -c[-1])), signature) == "refuted"
