"""Recurrences beside their closed forms, read out by a product, and recurrences that start at a multiple."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import certgrad


def recurrent(q, k, v, gate, before=False):
    """Gated linear attention, a row at a time: S ← exp(gate)·S + k·vᵀ, y = q·S."""

    def body(s, row):
        q, k, v, gate = row
        new = jnp.exp(gate) * s + jnp.outer(k, v)
        return new, q @ (s if before else new)

    return lax.scan(body, jnp.zeros((q.shape[1], v.shape[1]), q.dtype), (q, k, v, gate))[1]


def decay(gate, first=0):
    """exp of the gates after column j, up to row i, and 0 above the diagonal."""
    total, n = jnp.cumsum(gate), gate.shape[0]
    low = jnp.arange(n)[:, None] >= jnp.arange(n)[None, :] + first
    return jnp.where(low, jnp.exp(jnp.where(low, total[:, None] - total[None, :], 0.0)), 0.0)


def parallel(q, k, v, gate):
    return ((q @ k.T) * decay(gate)) @ v


def shifted(gate):
    """As `decay`, with the gate of row j too."""
    return decay(gate) * jnp.exp(gate)[None, :]


GATED = "t d, t d, t e, t -> t e"
EQUAL = {
    "read out": (recurrent, parallel, "proved"),
    "without gates": (recurrent, lambda q, k, v, gate: jnp.tril(q @ k.T) @ v, "refuted"),
    "without the diagonal": (recurrent, lambda q, k, v, gate: ((q @ k.T) * decay(gate, first=1)) @ v, "refuted"),
    "a gate more": (recurrent, lambda q, k, v, gate: ((q @ k.T) * shifted(gate)) @ v, "refuted"),
    "read out before the step": (lambda *a: recurrent(*a, before=True), parallel, "refuted"),
}


@pytest.mark.parametrize("name", EQUAL)
def test_a_contraction_with_a_linear_recurrence(name):
    left, right, verdict = EQUAL[name]
    assert certgrad.equal(left, right, "t d, t d, t e, t").verdict == verdict


def retained(x, a):
    return lax.scan(lambda s, row: (a * s + row,) * 2, jnp.zeros((), x.dtype), x)[1]


def powers(x, a, first=0):
    """a to the number of steps between two rows, and 0 above the diagonal."""
    k = jnp.arange(x.shape[0])
    gap = k[:, None] - k[None, :] - first
    return jnp.where(gap >= 0, a ** jnp.maximum(gap, 0), 0.0) @ x


RETAINED = {
    "by powers": (powers, "proved under hypotheses"),
    "a step late": (lambda x, a: powers(x, a, first=1), "refuted"),
    "a power more": (lambda x, a: a * powers(x, a), "refuted"),
}


@pytest.mark.parametrize("name", RETAINED)
@pytest.mark.parametrize("domain", ["a > 0", "a != 0"])
def test_a_recurrence_with_a_number_for_its_decay(name, domain):
    right, verdict = RETAINED[name]
    assert certgrad.equal(retained, right, "t, ", domain=domain).verdict == verdict


def forward_algorithm(p, a, first):
    return jnp.log(jnp.sum(lax.scan(lambda c, row: (row * (c @ a), None), first, p)[0]))


def in_log_space(p, a, first):
    def step(c, row):
        return row + jax.nn.logsumexp(c[:, None] + jnp.log(a), axis=0), None

    return jax.nn.logsumexp(lax.scan(step, jnp.log(first), jnp.log(p))[0])


LOGARITHMS = {
    "of the same": (lambda p, a, first: forward_algorithm(p, a, first), "proved under hypotheses"),
    "of the transpose": (lambda p, a, first: forward_algorithm(p, a.T, first), "refuted"),
    "of another start": (lambda p, a, first: forward_algorithm(p, a, first**2), "refuted"),
    "without the rows": (lambda p, a, first: forward_algorithm(jnp.ones_like(p), a, first), "refuted"),
}


@pytest.mark.parametrize("name", LOGARITHMS)
def test_a_recurrence_in_log_space(name):
    right, verdict = LOGARITHMS[name]
    positive = ["p > 0", "a > 0", "first > 0"]
    assert certgrad.equal(in_log_space, right, "t s, s s, s", domain=positive).verdict == verdict


def gated(mistake=""):
    """The recurrence with a backward in parallel form."""

    def backward(saved, g):
        q, k, v, gate = saved
        m, s = decay(gate), q @ k.T
        of_scores = g @ v.T
        p = s * m * of_scores
        of_total = p.sum(1) + p.sum(0) if mistake == "sign" else p.sum(1) - p.sum(0)
        of_gate = jnp.cumsum(of_total) if mistake == "not reversed" else jnp.flip(jnp.cumsum(jnp.flip(of_total)))
        dv = jnp.tril(s).T @ g if mistake == "no gates" else (s * m).T @ g
        return (of_scores * m) @ k, (of_scores * m).T @ q, dv, of_gate

    rule = jax.custom_vjp(lambda *a: recurrent(*a))
    rule.defvjp(lambda *a: (recurrent(*a), a), backward)
    return rule


@pytest.mark.slow
@pytest.mark.parametrize("mistake", ["", "sign", "not reversed", "no gates"])
def test_a_recurrence_with_a_parallel_backward(mistake):
    report = certgrad.check(gated(mistake), GATED, conformance=False)
    assert report.verdict == ("refuted" if mistake else "proved")


def chain(total, start, scale):
    """A product of matrices and rows, whose backward starts at `start` and is multiplied by `scale` at the end."""

    def run(p, a, x0):
        return lax.scan(lambda c, row: (row * (c @ a), c @ a), x0, p)

    def backward(saved, g):
        p, a, before, last = saved
        first, later = lax.scan(lambda e, row: (a @ (row * e), e), start(last), p, reverse=True)
        return scale(last, g) * before * later, jnp.zeros_like(a), scale(last, g) * first

    def forward(p, a, x0):
        last, before = run(p, a, x0)
        return total(last), (p, a, before, last)

    rule = jax.custom_vjp(lambda p, a, x0: total(run(p, a, x0)[0]))
    rule.defvjp(forward, backward)
    return rule


def log_sum(c):
    return jnp.log(c.sum())


def squares(c):
    return (c**2).sum()


SCALED = {
    "at 1": (log_sum, jnp.ones_like, lambda c, g: g / c.sum(), "proved under hypotheses"),
    "at 1, multiplied": (log_sum, jnp.ones_like, lambda c, g: g * c.sum(), "refuted"),
    "at 2": (log_sum, lambda c: 2 * jnp.ones_like(c), lambda c, g: g / 2 / c.sum(), "proved under hypotheses"),
    "at 2, not halved": (log_sum, lambda c: 2 * jnp.ones_like(c), lambda c, g: g / c.sum(), "refuted"),
    "at what is left": (squares, lambda c: c, lambda c, g: 2 * g, "proved"),
    "at the sum": (squares, lambda c: jnp.full_like(c, c.sum()), lambda c, g: 2 * g, "refuted"),
}


@pytest.mark.parametrize("name", SCALED)
def test_a_backward_that_is_multiplied_at_its_end(name):
    total, start, scale, verdict = SCALED[name]
    positive = ["a > 0", "p > 0", "x0 > 0"]
    rule = chain(total, start, scale)
    report = certgrad.check(rule, "t s, s s, s -> ", domain=positive, differentiable=["p", "x0"], conformance=False)
    assert report.verdict == verdict
