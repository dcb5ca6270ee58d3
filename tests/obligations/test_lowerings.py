"""Primitives that JAX lowers to programs of others are read, and evaluated, as these programs."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import sparse
from jax.extend.core import Primitive
from jax.interpreters import mlir

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


def times_sparse(scattered):
    """A sparse matrix by a vector; `scattered` says how the cotangents of a column come together."""

    @jax.custom_vjp
    def product(d, i, v):
        return sparse.BCOO((d, i), shape=(4, 3)) @ v

    def bwd(saved, g):
        d, i, v = saved
        rows, columns = i[:, 0], i[:, 1]
        return g[rows] * v[columns], None, scattered(jnp.zeros(3).at[columns], d * g[rows])

    product.defvjp(lambda d, i, v: (product(d, i, v), (d, i, v)), bwd)
    return product


@pytest.mark.slow
def test_a_sparse_product_is_proved_for_any_number_of_entries() -> None:
    found = check(times_sparse(lambda at, v: at.add(v)), "k, k 2:int, 3 -> 4", domain="i >= 0", conformance=False)
    assert found.verdict == "proved under hypotheses"
    assert {"i[j,0] ≤ 3", "i[j,1] ≤ 2"} <= set(found.hypotheses)
    wrong = check(times_sparse(lambda at, v: at.set(v)), "k, k 2:int, 3 -> 4", domain="i >= 0", conformance=False)
    assert wrong.verdict == "refuted"


def cubes(primitive, factor):
    @jax.custom_vjp
    def f(x):
        return primitive.bind(x, times=2)

    f.defvjp(lambda x: (f(x), x), lambda x, g: (factor * x * x * g,))
    return f


def times_cube(name, register=True):
    primitive = Primitive(name)
    primitive.def_abstract_eval(lambda x, *, times: x)
    if register:
        program = mlir.lower_fun(lambda x, *, times: times * x * x * x, multiple_results=False)
        mlir.register_lowering(primitive, program)
    return primitive


@pytest.mark.slow
def test_a_primitive_of_ones_own_is_the_function_that_is_compiled_for_it() -> None:
    # The last one has the name of a primitive that calls a program: it is told apart by what it is, not by its name.
    for primitive in (times_cube("times_cube"), times_cube("sin"), times_cube("jit")):
        assert check(cubes(primitive, 6), "*s -> *s", conformance=False).verdict == "proved"
        assert check(cubes(primitive, 3), "*s -> *s", conformance=False).verdict == "refuted"
    assert check(cubes(times_cube("times_cube", False), 6), "*s -> *s", conformance=False).verdict == "unproved"
