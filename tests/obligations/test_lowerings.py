"""Primitives that JAX lowers to programs of others are read, and evaluated, as these programs."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import check, equal
from certgrad.obligations.balls import evaluate


def masks(sizes, length):
    ends, i = jnp.cumsum(sizes), jnp.arange(length)
    return ((i < ends[:, None]) & (i >= (ends - sizes)[:, None])).astype(float)


def grouped(last):
    """x by groups of rows with a matrix each, and a rule in dense masks; `last` counts the row after each group too."""

    @jax.custom_vjp
    def product(x, w, sizes):
        return jax.lax.ragged_dot(x, w, sizes)

    def bwd(saved, g):
        x, w, sizes = saved
        m = masks(sizes, x.shape[0])
        m = jnp.maximum(m, jnp.roll(m, 1, 1)) if last else m
        return jnp.einsum("gm,mn,gkn->mk", m, g, w), jnp.einsum("gm,mk,mn->gkn", m, x, g), None

    product.defvjp(lambda x, w, sizes: (product(x, w, sizes), (x, w, sizes)), bwd)
    return product


def test_of_one_group_it_is_proved() -> None:
    def vjp(saved, g):
        x, w, sizes = saved
        return *jax.vjp(lambda x, w: jax.lax.ragged_dot(x, w, sizes), x, w)[1](g), None

    product = jax.custom_vjp(lambda x, w, sizes: jax.lax.ragged_dot(x, w, sizes))
    product.defvjp(lambda x, w, sizes: (product(x, w, sizes), (x, w, sizes)), vjp)
    assert check(product, "n d, 1 d k, 1:int", conformance=False).verdict == "proved"


@pytest.mark.slow
def test_a_wrong_rule_is_refuted() -> None:
    found = check(grouped(True), "4 3, 2 3 5, 2:int", conformance=False)
    assert found.verdict == "refuted"
    assert found.witness is not None


def test_balls_compute_what_jax_does() -> None:
    x, w, sizes = np.arange(6.0).reshape(3, 2), np.arange(12.0).reshape(3, 2, 2), np.array([1, 0, 1])
    with jax.enable_x64(True):
        program = jax.make_jaxpr(jax.lax.ragged_dot)(x, w, sizes)
        want = jax.lax.ragged_dot(x, w, sizes)
    (found,) = evaluate(program, [x.astype(int).astype(object), w.astype(int).astype(object), sizes]).values
    assert found.shape == want.shape
    assert [float(Fraction(int(v.p), int(v.q))) for v in found.flat] == np.asarray(want).ravel().tolist()


@pytest.mark.slow
def test_groups_of_other_sizes_are_not_equal() -> None:
    same = equal(lambda x, w, s: jax.lax.ragged_dot(x, w, s), lambda x, w, s: jax.lax.ragged_dot(x, w, s + 1),
                 "4 3, 2 3 5, 2:int")  # fmt: skip
    assert same.verdict != "proved"


def normalised(x):
    """Each column by the statistics of the batch, as layers that are mapped over it compute them."""
    centred = x - jax.lax.pmean(x, "batch")
    return centred * jax.lax.rsqrt(jax.lax.pmean(centred**2, "batch") + 1e-5)


@pytest.mark.parametrize("right", [True, False])
def test_a_collective_over_an_axis_that_vmap_names(right) -> None:
    @jax.custom_vjp
    def layer(x):
        return jax.vmap(normalised, axis_name="batch")(x)

    def bwd(x, g):
        def plain(x):
            centred = x - (jnp.mean(x, 0) if right else jax.lax.stop_gradient(jnp.mean(x, 0)))
            return centred * jax.lax.rsqrt(jnp.mean(centred**2, 0) + 1e-5)

        return jax.vjp(plain, x)[1](g)

    layer.defvjp(lambda x: (layer(x), x), bwd)
    assert check(layer, "4 d", conformance=False).verdict == ("proved" if right else "refuted")
