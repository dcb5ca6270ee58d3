"""Backward passes of recurrences that read what the forward one saved: the next state, and log-probabilities."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.nn import logsumexp, sigmoid

import certgrad

pytestmark = pytest.mark.usefixtures("proofs_alone")


def run(x, h0, u):
    return lax.scan(lambda h, xt: ((n := sigmoid(u * h + xt)), n), h0, x)[1]


def recurrent(slope, weighs=True):
    """h' = σ(u·h + x) with all states as outputs; the slope of σ by the state that was saved."""
    rule = jax.custom_vjp(run)

    def forward(x, h0, u):
        out = run(x, h0, u)
        return out, (u, out, jnp.concatenate([h0[None], out[:-1]]))

    def backward(saved, g):
        u, after, before = saved

        def step(carried, row):
            dh, du = carried
            n, h, seed = row
            dn = (dh + seed) * slope(n)
            return (u * dn if weighs else dn, du + dn * h), dn

        zero = jnp.zeros(())
        (dh, du), dx = lax.scan(step, (zero, zero), (after, before, g), reverse=True)
        return dx, dh, du

    rule.defvjp(forward, backward)
    return rule


def test_the_slope_by_the_state_that_was_saved():
    assert certgrad.check(recurrent(lambda n: n * (1 - n)), "t, , ").verdict == "proved"


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("slope", "weighs"), [(lambda n: n * (1 - n), False), (lambda n: n * n, True)])
def test_wrong_backward_passes(slope, weighs):
    assert certgrad.check(recurrent(slope, weighs), "t, , ", sizes=None).verdict == "refuted"


def alphas(b, a, start):
    first = start + b[0]
    last, rows = lax.scan(lambda h, row: ((n := logsumexp(h[:, None] + a, 0) + row), n), first, b[1:])
    return logsumexp(last), jnp.concatenate([first[None], rows])


def hidden_markov(other=lambda da: da):
    """The log-probability of a hidden Markov model by its forward algorithm, and its posteriors."""
    rule = jax.custom_vjp(lambda *args: alphas(*args)[0])

    def forward(b, a, start):
        out, rows = alphas(b, a, start)
        return out, (b, a, rows, out)

    def backward(saved, g):
        b, a, rows, out = saved

        def step(carried, row):
            here, da = carried
            h, after, emitted = row
            q = jnp.exp(h[:, None] + a + emitted - after) * here
            return (q.sum(1), da + q), here

        last = (g * jnp.exp(rows[-1] - out), jnp.zeros_like(a))
        (first, da), db = lax.scan(step, last, (rows[:-1], rows[1:], b[1:]), reverse=True)
        return jnp.concatenate([first[None], db]), other(da), first

    rule.defvjp(forward, backward)
    return rule


def test_posteriors_of_a_hidden_markov_model():
    assert certgrad.check(hidden_markov(), "t+1 s, s s, s").verdict == "proved"


@pytest.mark.slow
def test_wrong_posteriors():
    assert certgrad.check(hidden_markov(jnp.transpose), "t+1 s, s s, s", sizes=None).verdict == "refuted"


def gated(of_bias):
    """h' = (1 − r)·tanh(x + b) + r·h with r = σ(w·h), an output at every step. Its backward scan has two sums, in one
    of which nothing but the cotangent that it carries stands."""

    def states(x, h0, w, b):
        def step(h, row):
            n, r = jnp.tanh(row + b), sigmoid(w * h)
            after = (1 - r) * n + r * h
            return after, (after, h, n, r)

        return lax.scan(step, h0, x)[1]

    rule = jax.custom_vjp(lambda *args: states(*args)[0])

    def backward(args, g):
        _, h0, w, _ = args
        _, before, new, gate = states(*args)

        def step(carried, row):
            dh, dw, db = carried
            h, n, r, seed = row
            dh = dh + seed
            dn, dr = dh * (1 - r) * (1 - n * n), dh * (h - n) * r * (1 - r)
            return (dh * r + dr * w, dw + dr * h, db + of_bias(dn, dh)), dn

        zero = jnp.zeros_like(h0)
        (dh, dw, db), dx = lax.scan(step, (zero, zero, zero), (before, new, gate, g), reverse=True)
        return dx, dh, dw, db

    rule.defvjp(lambda *args: (states(*args)[0], args), backward)
    return rule


BIAS = {"right": lambda dn, dh: dn, "wrong": lambda dn, dh: dh}
"""The cotangent of the bias. The wrong one is a row of the corpus."""


def test_gates():
    assert certgrad.check(gated(BIAS["right"]), "t h, h, h, h -> t h", sizes=None).verdict == "proved"


def filtered(y, a, q, r):
    """The log-likelihood of a scalar Kalman filter, up to a constant, with the mean and variance before each step."""

    def step(state, seen):
        mean, spread = state
        ahead = a * a * spread + q
        total, error = ahead + r, seen - a * mean
        gain = ahead / total
        after = (a * mean + gain * error, (1 - gain) * ahead)
        return after, (-(jnp.log(total) + error * error / total) / 2, mean, spread)

    return lax.scan(step, (jnp.zeros(()), jnp.ones(())), y)[1]


def kalman(of_transition=lambda d: 2 * d):
    rule = jax.custom_vjp(lambda y, a, q, r: jnp.sum(filtered(y, a, q, r)[0]))

    def forward(y, a, q, r):
        logs, means, spreads = filtered(y, a, q, r)
        return jnp.sum(logs), (y, a, q, r, means, spreads)

    def backward(saved, g):
        y, a, q, r, means, spreads = saved

        def step(carried, row):
            dm, dp, da, dq, dr = carried
            seen, mean, spread = row
            ahead, error = a * a * spread + q, seen - a * mean
            total = ahead + r
            gain = ahead / total
            dgain, derror = dm * error - dp * ahead, dm * gain - g * error / total
            dtotal = -g / 2 * (1 / total - error**2 / total**2) - dgain * ahead / total**2
            dahead, dmean = dp * (1 - gain) + dgain / total + dtotal, dm - derror
            da = da + dmean * mean + of_transition(a * spread * dahead)
            return (a * dmean, a * a * dahead, da, dq + dahead, dr + dtotal), derror

        zero = jnp.zeros(())
        (_, _, da, dq, dr), dy = lax.scan(step, (zero,) * 5, (y, means, spreads), reverse=True)
        return dy, da, dq, dr

    rule.defvjp(forward, backward)
    return rule


@pytest.mark.slow
def test_a_kalman_filter():
    found = certgrad.check(kalman(), "t, , , -> ", domain=["q > 0", "r > 0"])
    assert found.verdict == "proved under hypotheses", found


@pytest.mark.slow
def test_a_wrong_kalman_filter():
    found = certgrad.check(kalman(lambda d: d), "t, , , -> ", domain=["q > 0", "r > 0"], sizes=None)
    assert found.verdict == "refuted"
