"""Values that a declared domain keeps as they are: a rule that clips its argument to where it is computes the same."""

import jax
import jax.numpy as jnp
import pytest

import certgrad


def sampled(x):
    """Random bits, of which nothing is known: only what both programs compute alike is equal."""
    found = jax.random.uniform(jax.random.PRNGKey(0), x.shape, x.dtype)
    return x * found + jnp.sin(jax.lax.bitcast_convert_type(x, int if x.dtype == jnp.float64 else jnp.int32) % 3 * 1.0)


def rule(value):
    out = jax.custom_jvp(sampled)
    out.defjvp(lambda xs, dxs: (value(*xs), dxs[0]))
    return out


def verdict(value, domain):
    report = certgrad.check(rule(value), "n -> n", domain=domain, surrogate="it is a sampler")
    return next(c for c in report.claims if c.kind == "rule_runs_forward").verdict


@pytest.mark.one_in(7)
@pytest.mark.parametrize(
    ("value", "domain", "proved"),
    [
        (lambda x: sampled(jnp.clip(x, min=0.5)), "x > 1", True),
        (lambda x: sampled(jnp.clip(x, min=0.5)), "1 < x", True),
        (lambda x: sampled(jnp.clip(x, min=0.5)), "x >= 0.5", True),
        (lambda x: sampled(jnp.clip(x, 0.5, 3.0)), ("x > 1", "x < 2"), True),
        (lambda x: sampled(jnp.minimum(x, -0.5)), "x < -1", True),
        (lambda x: sampled(jnp.clip(x, min=0.5)), "x > 0", False),
        (lambda x: sampled(jnp.clip(x, min=0.5)), "x < 1", False),
        (lambda x: sampled(jnp.clip(x, min=0.5)), "x != 1", False),
        (lambda x: sampled(jnp.clip(x, 0.5, 1.5)), ("x > 1", "x < 2"), False),
        (lambda x: sampled(jnp.minimum(x, 0.5)), "x > 1", False),
        (lambda x: sampled(jnp.maximum(x, jnp.arange(x.shape[0]) * 1.0)), "x > 1", False),
    ],
)
def test_a_clip_to_where_the_argument_is(value, domain, proved):
    assert (verdict(value, domain) in ("proved", "proved under hypotheses")) == proved
