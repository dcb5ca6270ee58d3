"""A normaliser that runs along in a scan: max(|q·n|, 1) of an mLSTM, and that of linear attention."""

from functools import partial

import jax
import jax.numpy as jnp
import pytest

import certgrad

pytestmark = pytest.mark.usefixtures("verdicts_alone")


def rule(function, fwd, bwd):
    found = jax.custom_vjp(function)
    found.defvjp(fwd, bwd)
    return found


def empty(d):
    return jnp.zeros((d, d)), jnp.zeros(d)


def step(state, x):
    (c, n), (q, k, v, i, f) = state, x
    c, n = f * c + i * jnp.outer(k, v), f * n + i * k
    return (c, n), (q @ c) / jnp.maximum(jnp.abs(q @ n), 1.0)


def mlstm(q, k, v, i, f):
    return jax.lax.scan(step, empty(q.shape[1]), (q, k, v, i, f))[1]


def mlstm_fwd(*args):
    def kept(state, x):
        new, h = step(state, x)
        return new, (h, state, new)

    _, (h, before, after) = jax.lax.scan(kept, empty(args[0].shape[1]), args)
    return h, (*args, before, after)


def of_clipped(z, u):
    return jnp.where(jnp.abs(z) > 1, jnp.sign(z) * u, 0.0)


def mlstm_bwd(saved, g, divisor=lambda z: jnp.maximum(jnp.abs(z), 1.0), through=of_clipped):
    *args, before, after = saved

    def back(state, x):
        dc, dn = state
        q, k, v, i, f, (c0, n0), (c, n), g = x
        z = q @ n
        m = divisor(z)
        dz = through(z, -jnp.sum(g * (q @ c)) / m**2)
        dc, dn = dc + jnp.outer(q, g / m), dn + dz * q
        dk, dv = i * (dc @ v) + i * dn, i * (k @ dc)
        return (f * dc, f * dn), (c @ (g / m) + dz * n, dk, dv, k @ dc @ v + k @ dn, jnp.sum(dc * c0) + n0 @ dn)

    return jax.lax.scan(back, empty(args[0].shape[1]), (*args, before, after, g), reverse=True)[1]


def attending(state, x):
    (s, z), (q, k, v) = state, x
    s, z = s + jnp.outer(k, v), z + k
    return (s, z), (q @ s) / (q @ z)


def attention(q, k, v):
    return jax.lax.scan(attending, empty(q.shape[1]), (jnp.exp(q), jnp.exp(k), v))[1]


def attention_fwd(q, k, v):
    def kept(state, x):
        new, y = attending(state, x)
        return new, (y, new)

    read = jnp.exp(q), jnp.exp(k), v
    _, (y, after) = jax.lax.scan(kept, empty(q.shape[1]), read)
    return y, (*read, y, after)


def attention_bwd(saved, g, through=1.0):
    def back(state, x):
        ds, dz = state
        q, k, v, y, (s, z), g = x
        total, below = g / (q @ z), -through * jnp.sum(g * y) / (q @ z)
        ds, dz = ds + jnp.outer(q, total), dz + below * q
        return (ds, dz), ((s @ total + below * z) * q, (ds @ v + dz) * k, k @ ds)

    return jax.lax.scan(back, empty(g.shape[1]), (*saved, g), reverse=True)[1]


MLSTM, ATTENTION = "t d, t d, t d, t, t -> t d", "t d, t d, t d -> t d"
RULES = {
    "mlstm": ((mlstm, mlstm_fwd, mlstm_bwd), MLSTM),
    "attention": ((attention, attention_fwd, attention_bwd), ATTENTION),
}
WRONG = {
    "mlstm, a constant normaliser": ((mlstm, mlstm_fwd, partial(mlstm_bwd, through=lambda z, u: 0 * u)), MLSTM),
    "mlstm, without a sign": (
        (mlstm, mlstm_fwd, partial(mlstm_bwd, through=lambda z, u: jnp.where(jnp.abs(z) > 1, u, 0.0))),
        MLSTM,
    ),
    "mlstm, below 1 too": ((mlstm, mlstm_fwd, partial(mlstm_bwd, through=lambda z, u: jnp.sign(z) * u)), MLSTM),
    "mlstm, another divisor": ((mlstm, mlstm_fwd, partial(mlstm_bwd, divisor=lambda z: jnp.abs(z) + 1)), MLSTM),
    "attention, a constant normaliser": (
        (attention, attention_fwd, partial(attention_bwd, through=0.0)),
        ATTENTION,
    ),
}


def test_the_kinks_of_an_mlstm_are_where_the_normaliser_is_1():
    parts, signature = RULES["mlstm"]
    report = certgrad.check(rule(*parts), signature, seconds=120)  # it takes nearly all of the 20 s of an audit
    assert report.verdict == "proved under hypotheses"
    kinks = sorted(text.split(" where ")[0].rsplit(" ≠ ", 1)[1] for text in report.hypotheses)
    assert kinks == ["1", "−1"]


@pytest.mark.slow
def test_linear_attention_that_runs_along():
    parts, signature = RULES["attention"]
    assert certgrad.check(rule(*parts), signature).verdict == "proved under hypotheses"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", WRONG)
def test_wrong_normalisers_are_refuted(name):
    parts, signature = WRONG[name]
    assert certgrad.check(rule(*parts), signature).verdict == "refuted"
