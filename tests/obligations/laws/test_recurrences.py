"""Loops of any length: networks over `scan` with JAX's rules and with reverse scans by hand, right and wrong."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from certgrad.obligations import audit
from tests.obligations.traps import declare

ELMAN = "n d, m, m m, m d, m -> n m"


def elman(x, h0, W, U, b):
    def step(h, row):
        h = jnp.tanh(W @ h + U @ row + b)
        return h, h

    return lax.scan(step, h0, x)[1]


def elman_jvp(*args):
    return jax.jvp(elman, args[:5], args[5:])[1]


def elman_vjp(x, h0, W, U, b, seed, fault=""):
    """The backward pass as one writes it: a reverse scan with accumulators for the weights."""
    hs = elman(x, h0, W, U, b)
    before = hs if fault == "stale" else jnp.concatenate([h0[None], lax.slice_in_dim(hs, 0, -1)])

    def back(carry, row):
        g, dW, dU, db = carry
        h, old, xt, seed_t = row
        total = 2 * g + seed_t if fault == "doubled carry" else g if fault == "no seed" else g + seed_t
        dz = total * (1 - (old if fault == "slope of the old state" else h) ** 2)
        if fault == "no transpose":
            g = W @ dz
        elif fault == "carry dropped":
            g = 0 * dz
        elif fault == "carry without the slope":
            g = W.T @ total
        else:
            g = W.T @ dz
        dW = jnp.outer(dz, old) if fault == "accumulator forgotten" else dW + jnp.outer(dz, old)
        return (g, dW, dU + jnp.outer(dz, xt), db + dz), U.T @ dz

    start = (
        lax.index_in_dim(seed, -1, keepdims=False) if fault == "seed twice" else jnp.zeros_like(h0),
        0 * W,
        0 * U,
        jnp.zeros_like(h0),
    )
    if fault == "bias starts at one":
        start = (start[0], start[1], start[2], jnp.ones_like(h0))
    rows = (hs, before, x, seed)
    (g, dW, dU, db), dx = lax.scan(back, start, rows, reverse=fault != "forward")
    if fault == "first step":
        dx = jnp.concatenate([0 * lax.slice_in_dim(dx, 0, 1), lax.slice_in_dim(dx, 1, None)])
    if fault == "last step":
        dx = jnp.concatenate([lax.slice_in_dim(dx, 0, -1), 2 * lax.slice_in_dim(dx, -1, None)])
    if fault == "first step of the initial state":
        g = g + W.T @ lax.index_in_dim(seed, 0, keepdims=False)
    return dx, g, dW, dU, db


def elman_vjp_recomputing(x, h0, W, U, b, seed):
    """The states are computed again, and the weights' cotangents are sums over stacked rows."""

    def forth(h, row):
        z = W @ h + U @ row + b
        return jnp.tanh(z), (h, z)

    _, (before, z) = lax.scan(forth, h0, x)

    def back(g, row):
        zt, seed_t = row
        dz = (g + seed_t) * (1 - jnp.tanh(zt) * jnp.tanh(zt))
        return W.T @ dz, dz

    g, dz = lax.scan(back, jnp.zeros_like(h0), (z, seed), reverse=True)
    return dz @ U, g, dz.T @ before, dz.T @ x, jnp.sum(dz, axis=0)


def elman_vjp_carrying_the_seed(x, h0, W, U, b, seed):
    """The carry includes the seed of the step that comes next."""
    hs = elman(x, h0, W, U, b)
    before = jnp.concatenate([h0[None], lax.slice_in_dim(hs, 0, -1)])
    earlier = jnp.concatenate([jnp.zeros_like(lax.slice_in_dim(seed, 0, 1)), lax.slice_in_dim(seed, 0, -1)])

    def back(g, row):
        h, seed_before = row
        dz = g * (1 - h * h)
        return W.T @ dz + seed_before, dz

    g, dz = lax.scan(back, lax.index_in_dim(seed, -1, keepdims=False), (hs, earlier), reverse=True)
    return dz @ U, g, dz.T @ before, dz.T @ x, jnp.sum(dz, axis=0)


def elman_vjp_with_flipped_rows(x, h0, W, U, b, seed):
    """The same by a forward scan over flipped rows, indexed as one does in numpy."""
    hs = elman(x, h0, W, U, b)
    before = jnp.concatenate([h0[None], hs[:-1]])

    def back(g, row):
        h, seed_t = row
        dz = (g + seed_t) * (1 - h * h)
        return W.T @ dz, dz

    g, dz = lax.scan(back, 0 * h0, (hs[::-1], seed[::-1]))
    dz = dz[::-1]
    return dz @ U, g, dz.T @ before, dz.T @ x, jnp.sum(dz, axis=0)


def verdicts(one):
    certificate = audit(one)
    return {c.kind: c.verdict for c in certificate.claims}, certificate


PROVED = {"jvp_is_derivative": "proved", "vjp_is_adjoint": "proved", "rule_runs_forward": "proved"}

RIGHT = {
    "JAX's own": lambda *a: jax.vjp(elman, *a[:5])[1](a[5]),
    "by hand": elman_vjp,
    "by hand, recomputing": elman_vjp_recomputing,
    "by hand, flipped": elman_vjp_with_flipped_rows,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_elman(name):
    found, certificate = verdicts(declare(ELMAN, elman, elman_jvp, RIGHT[name]))
    assert found == PROVED, [(c.kind, c.cases) for c in certificate.claims]
    assert certificate.claims[0].cases[0].scope == "all shapes"
    assert any("by induction on t" in r for r in certificate.rules_used)


FAULTS = [
    "stale", "no seed", "doubled carry", "slope of the old state", "no transpose", "carry dropped", "forward",
    "carry without the slope", "accumulator forgotten", "seed twice", "bias starts at one", "first step",
    "last step", "first step of the initial state",
]  # fmt: skip


QUICK = {"stale", "accumulator forgotten", "forward", "last step", "carry dropped"}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("fault", [f if f in QUICK else pytest.param(f, marks=pytest.mark.slow) for f in FAULTS])
def test_wrong_backward_pass_of_elman(fault):
    found, _ = verdicts(declare(ELMAN, elman, elman_jvp, lambda *a: elman_vjp(*a, fault=fault)))
    assert found["vjp_is_adjoint"] == "refuted"
    assert found["jvp_is_derivative"] == "proved"


GRU = "n d, m, m m, m m, m m, m d, m d, m d -> n m, m"


def gru(x, h0, Wz, Wr, Wc, Uz, Ur, Uc):
    def step(h, row):
        z = jax.nn.sigmoid(Wz @ h + Uz @ row)
        r = jax.nn.sigmoid(Wr @ h + Ur @ row)
        c = jnp.tanh(Wc @ (r * h) + Uc @ row)
        h = (1 - z) * h + z * c
        return h, h

    last, hs = lax.scan(step, h0, x)
    return hs, last


def gru_jvp(*args):
    return jax.jvp(gru, args[:8], args[8:])[1]


def gru_vjp(x, h0, Wz, Wr, Wc, Uz, Ur, Uc, seed, last, fault=""):
    """Residuals are stacked by a forward scan of its own; the weights' cotangents are accumulated."""

    def forth(h, row):
        z = jax.nn.sigmoid(Wz @ h + Uz @ row)
        r = jax.nn.sigmoid(Wr @ h + Ur @ row)
        c = jnp.tanh(Wc @ (r * h) + Uc @ row)
        return (1 - z) * h + z * c, (h, z, r, c)

    _, saved = lax.scan(forth, h0, x)

    def back(carry, row):
        g, dW, dU = carry
        (h, z, r, c), xt, seed_t = row
        g = g + seed_t
        dc = g * z * (1 - c * c)
        dz = g * (c - h) * z * (1 - z)
        inner = Wc.T @ dc
        dr = inner * h * r * (1 - r)
        if fault == "reset gate forgotten":
            inner = inner / r
        g = g * (1 - z) + inner * r + Wz.T @ dz + (0 if fault == "path of r" else Wr.T @ dr)
        kept = h if fault == "weights of the ungated state" else r * h
        dW = (dW[0] + jnp.outer(dz, h), dW[1] + jnp.outer(dr, h), dW[2] + jnp.outer(dc, kept))
        dU = tuple(a + jnp.outer(d, xt) for a, d in zip(dU, (dz, dr, dc), strict=True))
        return (g, dW, dU), Uz.T @ dz + Ur.T @ dr + Uc.T @ dc

    start = jnp.zeros_like(h0) if fault == "seed of the last state" else last
    zeros = (0 * Wz, 0 * Wr, 0 * Wc), (0 * Uz, 0 * Ur, 0 * Uc)
    (g, dW, dU), dx = lax.scan(back, (start, *zeros), (saved, x, seed), reverse=True)
    return dx, g, *dW, *dU


@pytest.mark.slow
@pytest.mark.parametrize("rule", [gru_vjp, lambda *a: jax.vjp(gru, *a[:8])[1](a[8:])], ids=["by hand", "JAX's own"])
def test_gru(rule):
    found, certificate = verdicts(declare(GRU, gru, gru_jvp, rule))
    assert found == PROVED, [(c.kind, c.cases) for c in certificate.claims]


GRU_FAULTS = ["reset gate forgotten", "path of r", "weights of the ungated state", "seed of the last state"]


@pytest.mark.slow
@pytest.mark.parametrize("fault", GRU_FAULTS)
def test_wrong_backward_pass_of_a_gru(fault):
    found, _ = verdicts(declare(GRU, gru, gru_jvp, lambda *a: gru_vjp(*a, fault=fault)))
    assert found["vjp_is_adjoint"] == "refuted"


@pytest.mark.slow
def test_a_relation_of_another_kind_is_not_found():
    """The rule is right, but its carry includes the next step's seed: honest, and not wrong."""
    found, _ = verdicts(declare(ELMAN, elman, elman_jvp, elman_vjp_carrying_the_seed))
    assert found["vjp_is_adjoint"] == "unproved"
