"""What is drawn from a key: rules that draw other numbers than their function are refuted, at a key that is shown."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad
from certgrad.obligations.balls import _jaxpr
from certgrad.obligations.balls._evaluate import evaluate


def noisy(factor=1.0, of=lambda key: key, of_backward=None):
    """x times a normal sample; the backward draws from a key of its own making."""
    of_backward = of if of_backward is None else of_backward

    @jax.custom_vjp
    def scaled(x, key):
        return x * jax.random.normal(of(key), x.shape)

    def backward(key, g):
        return factor * g * jax.random.normal(of_backward(key), g.shape), None

    scaled.defvjp(lambda x, key: (scaled(x, key), key), backward)
    return scaled


def first(key):
    return jax.random.split(key)[0]


def second(key):
    return jax.random.split(key)[1]


def folded(by):
    return lambda key: jax.random.fold_in(key, by)


@jax.custom_vjp
def steps(x, keys):
    return jax.lax.scan(lambda c, key: (c * jax.random.uniform(key, x.shape), None), x, keys)[0]


def steps_backward(keys, g):
    return jax.lax.scan(lambda c, key: (c * jax.random.uniform(key, g.shape), None), g, keys[1:])[0], None


steps.defvjp(lambda x, keys: (steps(x, keys), keys), steps_backward)


@jax.custom_vjp
def dropout(x, key, rate):
    keep = jax.random.bernoulli(key, 1 - rate, x.shape)
    return jnp.where(keep, x / (1 - rate), 0.0)


def dropout_backward(residuals, g):
    key, rate = residuals
    return jnp.where(jax.random.bernoulli(key, 1 - rate, g.shape), g, 0.0), None, None


dropout.defvjp(lambda x, key, rate: (dropout(x, key, rate), (key, rate)), dropout_backward)


@jax.custom_vjp
def sampled(x, key):
    return jax.random.bernoulli(key, jax.nn.sigmoid(x)).astype(x.dtype)


sampled.defvjp(lambda x, key: (sampled(x, key), x), lambda x, g: (g * jax.nn.sigmoid(x), None))


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("wrong", "signature"),
    [
        (noisy(2.0), "n, 2:uint32 -> n"),
        (noisy(of=first, of_backward=second), "n, :key -> n"),
        (noisy(of=folded(3), of_backward=folded(4)), "n, 2:uint32 -> n"),
        (sampled, "n, :key -> n"),
    ],
)
def test_another_draw_is_refuted(wrong, signature):
    assert certgrad.check(wrong, signature).verdict == "refuted"


@pytest.mark.slow
def test_another_order_of_keys_is_refuted():
    assert certgrad.check(steps, "n, t+1:key -> n", differentiable=["x"]).verdict == "refuted"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("of", [lambda key: key, first, folded(3)])
def test_the_same_draw_is_proved(of):
    assert certgrad.check(noisy(of=of), "n, :key -> n").verdict == "proved"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("key", [":key", "2:uint32"])
def test_the_reproduction_runs(key):
    report = certgrad.check(dropout, f"n, {key}, -> n", differentiable=["x"], domain=["rate > 0", "rate < 1"])
    script = report.reproduction.replace(f"from {__name__} import", "from wrong_dropout import")
    code = f"import sys, types\nsys.modules['wrong_dropout'] = m = types.ModuleType('m')\n{DEFINITION}\n{script}"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert abs(float(said[1]) - float(said[3])) > 0.01


DEFINITION = f"exec(compile(open({__file__!r}).read().split('@pytest')[0], 'm', 'exec'), m.__dict__)"


def test_the_numbers_are_those_that_jax_draws():
    program = _jaxpr.trace(lambda key, x: x + jax.random.normal(key, (3,)), [_jaxpr.placeholder((), "key"), ARRAY])
    (out,) = evaluate(program, [7, np.zeros(3, object)]).values
    with jax.enable_x64(True):
        expected = jax.random.normal(jax.random.key(7), (3,), float)
    assert [float(x) for x in out] == pytest.approx(expected.tolist(), rel=1e-14)


def written_out(draw):
    """x plus a draw, as a function of a key."""
    return lambda key, x: x + draw(key, x.shape, x.dtype)


def of_uniform(compute, low):
    return written_out(lambda key, shape, dtype: compute(jax.random.uniform(key, shape, dtype, low(dtype), 1.0)))


def zero(dtype):
    return jnp.zeros((), dtype)


def tiny(dtype):
    return jnp.finfo(dtype).tiny


TWICE = {
    "exponential": (jax.random.exponential, of_uniform(lambda u: -jnp.log1p(-u), zero)),
    "gumbel": (jax.random.gumbel, of_uniform(lambda u: -jnp.log(-jnp.log(u)), tiny)),
    "logistic": (jax.random.logistic, of_uniform(lambda u: jnp.log(u) - jnp.log1p(-u), tiny)),
    "logistic, as a quotient": (jax.random.logistic, of_uniform(lambda u: jnp.log(u / (1 - u)), tiny)),
    "cauchy": (
        jax.random.cauchy,
        of_uniform(lambda u: jnp.tan(jnp.pi * (u - 0.5)), lambda dtype: jnp.finfo(dtype).eps),
    ),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("draw", TWICE)
def test_a_draw_that_is_written_out_is_not_refuted_by_how_floats_round(draw):
    drawn, computed = TWICE[draw]
    assert certgrad.equal(written_out(drawn), computed, ":key, n").verdict != "refuted"


@pytest.mark.parametrize("draw", ["exponential", "gumbel", "logistic"])
def test_another_function_of_the_bits_is_refuted(draw):
    drawn, _ = TWICE[draw]
    other = of_uniform(lambda u: -jnp.log1p(u), zero)
    assert certgrad.equal(written_out(drawn), other, ":key, n").verdict == "refuted"


ARRAY = _jaxpr.placeholder((3,), "float")


def test_what_is_drawn_between_bounds_that_move_moves_with_them():
    program = _jaxpr.trace(
        lambda key, x: jax.random.uniform(key, (3,), minval=x, maxval=x + 1), [_jaxpr.placeholder((), "key"), ARRAY]
    )
    found = evaluate(program, [7, np.zeros(3, object)], [None, np.ones(3, object)])
    assert all(float(t) == 1 for t in found.tangents[0].ravel())
