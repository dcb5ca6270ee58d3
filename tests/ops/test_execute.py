"""Under every transform of JAX the declared rules run, and nothing else. The planted rules are wrong on purpose."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from certgrad.errors import RuleError
from certgrad.ops import Registry, op, softmax

FORWARD, REVERSE = 3.0, 7.0


@op("*s -> *s", registry=Registry())
def planted(x):
    """Sine, with a JVP three times and a VJP seven times too large."""
    return jnp.sin(x)


@planted.jvp
def _(x, dx):
    return FORWARD * jnp.cos(x) * dx


@planted.vjp
def _(x, seed):
    return REVERSE * jnp.cos(x) * seed


def saving_residuals():
    """The same op through a fwd."""
    other = planted.with_rules(fwd=lambda x: (jnp.sin(x), {"cos": jnp.cos(x)}))
    return other.with_rules(
        jvp=lambda res, dx: FORWARD * res["cos"] * dx, vjp=lambda res, seed: REVERSE * res["cos"] * seed
    )


X = jnp.asarray([0.3, -0.8, 1.9])
COS, SIN = np.cos(X), np.sin(X)
OPS = pytest.mark.parametrize("f", [planted, saving_residuals()], ids=["plain", "fwd"])


def close(got, want):
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6)


def total(f):
    return lambda x: jnp.sum(f(x))


def scanned(f):
    return lambda x: lax.scan(lambda carry, _: (f(carry), None), x, None, length=2)[0]


@OPS
def test_forward_mode_runs_the_jvp(f):
    ones = jnp.ones(3)
    close(jax.jvp(f, (X,), (ones,))[1], FORWARD * COS)
    close(jax.jit(lambda x: jax.jvp(f, (x,), (ones,))[1])(X), FORWARD * COS)
    close(jax.jvp(jax.jit(f), (X,), (ones,))[1], FORWARD * COS)
    close(jax.linearize(f, X)[1](ones), FORWARD * COS)
    close(jax.jacfwd(f)(X), np.diag(FORWARD * COS))
    close(jax.vmap(lambda x: jax.jvp(f, (x,), (1.0,))[1])(X), FORWARD * COS)
    close(jax.jvp(jax.vmap(f), (X,), (ones,))[1], FORWARD * COS)


@OPS
def test_reverse_mode_runs_the_vjp(f):
    close(jax.grad(total(f))(X), REVERSE * COS)
    close(jax.jit(jax.grad(total(f)))(X), REVERSE * COS)
    close(jax.grad(total(jax.jit(f)))(X), REVERSE * COS)
    close(jax.vjp(f, X)[1](jnp.ones(3))[0], REVERSE * COS)
    close(jax.linear_transpose(jax.linearize(f, X)[1], X)(jnp.ones(3))[0], REVERSE * COS)
    close(jax.jacrev(f)(X), np.diag(REVERSE * COS))
    close(jax.vmap(jax.grad(f))(X), REVERSE * COS)
    close(jax.grad(total(jax.vmap(f)))(X), REVERSE * COS)
    close(jax.grad(total(jax.checkpoint(f)))(X), REVERSE * COS)
    close(jax.value_and_grad(total(f))(X)[0], SIN.sum())


@OPS
def test_scan_runs_the_rules(f):
    chain = np.cos(SIN) * COS
    close(jax.grad(total(scanned(f)))(X), REVERSE**2 * chain)
    close(jax.jit(jax.grad(total(scanned(f))))(X), REVERSE**2 * chain)
    close(jax.jvp(scanned(f), (X,), (jnp.ones(3),))[1], FORWARD**2 * chain)


@pytest.mark.slow
@OPS
def test_second_derivatives_differentiate_the_rules(f):
    close(jax.hessian(total(f))(X), np.diag(-REVERSE * SIN))
    close(jax.jit(jax.hessian(total(f)))(X), np.diag(-REVERSE * SIN))
    close(jax.jacrev(jax.jacrev(total(f)))(X), np.diag(-REVERSE * SIN))
    close(jax.jacrev(jax.jacfwd(total(f)))(X), np.diag(-FORWARD * SIN))
    close(jax.jacfwd(jax.jacfwd(total(f)))(X), np.diag(-FORWARD * SIN))
    close(jax.vmap(jax.hessian(f))(X), -REVERSE * SIN)
    close(jax.grad(jax.grad(jax.grad(f)))(0.3), -REVERSE * np.cos(0.3))


@OPS
def test_the_vjp_as_a_function_of_its_seed_is_transposed_by_the_jvp(f):
    pullback = jax.vjp(f, X)[1]
    close(jax.vjp(lambda seed: pullback(seed)[0], jnp.ones(3))[1](jnp.ones(3))[0], FORWARD * COS)


def test_batches_over_some_arguments_only():
    @op("*s, *s -> *s", broadcast=True, registry=Registry())
    def product(x, y):
        """Product."""
        return x * y

    product.jvp(lambda x, y, dx, dy: FORWARD * (dx * y + x * dy))
    product.vjp(lambda x, y, seed: (REVERSE * seed * y, REVERSE * seed * x))
    y = jnp.asarray([2.0, 3.0, 5.0])
    close(jax.vmap(jax.grad(product, (0, 1)), (None, 0))(4.0, y), (REVERSE * y, REVERSE * 4 * np.ones(3)))
    close(jax.grad(lambda x: jnp.sum(jax.vmap(product, (None, 0))(x, y)))(4.0), REVERSE * y.sum())
    close(jax.vmap(lambda x, y: jax.jvp(lambda y: product(x, y), (y,), (1.0,))[1], (None, 0))(4.0, y), 12 * np.ones(3))
    close(jax.grad(product, 1)(4.0, 5.0), REVERSE * 4)
    close(jax.vmap(jax.vmap(jax.grad(product), (0, None)), (None, 0))(y, y), REVERSE * np.outer(y, np.ones(3)))


def test_masks_have_no_tangent():
    from certgrad.ops import where

    mask = jnp.asarray([True, False, True])
    close(jax.grad(lambda x: jnp.sum(where(mask, x, 2.0)))(X), [1, 0, 1])
    close(jax.jvp(lambda x, y: where(mask, x, y), (X, X), (jnp.ones(3), 2 * jnp.ones(3)))[1], [1, 2, 1])
    tangents = (np.zeros(3, jax.dtypes.float0), jnp.ones(3), jnp.zeros(3))
    close(jax.jvp(where, (mask, X, X), tangents)[1], [1, 0, 1])
    close(jax.vmap(jax.grad(where, 1))(mask, X, X), [1, 0, 1])
    masks = jnp.stack([mask, ~mask])
    close(jax.vmap(lambda m: jax.grad(lambda x: jnp.sum(where(m, x, 0.0)))(X))(masks), [[1, 0, 1], [0, 1, 0]])


def test_runs_at_symbolic_dims():
    n, m = jax.export.symbolic_shape("n, m")
    x = jax.ShapeDtypeStruct((n, m), jnp.float32)
    assert jax.eval_shape(jax.grad(lambda x: jnp.sum(softmax(x) ** 2)), x).shape == (n, m)


def test_weights_of_a_step_under_jit_and_donation():
    step = jax.jit(lambda x: x - 0.1 * jax.grad(total(planted))(x), donate_argnums=0)
    close(step(X + 0), X - 0.1 * REVERSE * COS)


def wrong(**rules):
    return planted.with_rules(**rules)


MESSAGES = [
    (
        wrong(vjp=lambda x, seed: (seed, seed)),
        "reverse",
        r"The vjp of op 'planted' \(test_execute.py:\d+\) returned 2 cotangents; it must return 1, "
        r"one for each float argument, in order\.",
    ),
    (
        wrong(vjp=lambda x, seed: jnp.sum(seed)),
        "reverse",
        r"The vjp of op 'planted' \(test_execute.py:\d+\) returned a cotangent of x of shape \(\) float32; "
        r"it must be \(3\) float32, like the argument\.",
    ),
    (
        wrong(vjp=lambda x, seed: seed.astype(jnp.bfloat16)),
        "reverse",
        r"returned a cotangent of x of shape \(3\) bfloat16; it must be \(3\) float32, like the argument\.",
    ),
    (
        wrong(jvp=lambda x, dx: dx[:1]),
        "forward",
        r"The jvp of op 'planted' \(test_execute.py:\d+\) returned a tangent of shape \(1\) float32; "
        r"it must be \(3\) float32, like the output\.",
    ),
    (
        wrong(jvp=lambda x, dx: (dx, dx)),
        "forward",
        r"returned 2 tangents; it must return 1, one for each output, in order",
    ),
    (
        wrong(fwd=lambda x: jnp.sin(x)),
        "forward",
        r"The fwd of op 'planted' \(test_execute.py:\d+\) returned one value; it must return \(out, residuals\)\.",
    ),
]


@pytest.mark.parametrize("f, mode, message", MESSAGES)
def test_a_rule_with_the_wrong_outputs_is_named(f, mode, message):
    with pytest.raises(RuleError, match=message):
        jax.grad(total(f))(X) if mode == "reverse" else jax.jvp(f, (X,), (X,))
