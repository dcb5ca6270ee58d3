"""Every op against JAX: its value, its tangents and cotangents, its second derivatives, its dtypes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certgrad.ops import Composed, Op, registry
from tests.ops.references import reference
from tests.ops.sampling import draw, first_of_each, label

CASES = [(op, case) for op in registry if not isinstance(op, Composed) for case in op.cases]  # those in test_composed
FIRST = [(op, op.cases[0]) for op in registry]
TWICE = [(op, case) for op, case in FIRST if not isinstance(op, Composed)]
BROADCAST = [op for op in registry if op.broadcast]
few = settings(max_examples=3, deadline=None, derandomize=True, database=None)
seeds = st.integers(0, 2**32 - 1)


def each(pairs):
    return [pytest.param(*pair, id="-".join(map(label, pair))) for pair in pairs]


def close(got, want, **tolerance):
    np.testing.assert_allclose(
        np.asarray(got, float), np.asarray(want, float), **(tolerance or {"rtol": 1e-9, "atol": 1e-9})
    )


def normal(seed, *shapes):
    rng = np.random.default_rng(seed)
    return [jnp.asarray(rng.normal(size=shape)) for shape in shapes]


def both(transform, call):
    """`transform` of the op and of its forward, each as one compiled function of the float arguments."""
    return jax.jit(lambda *args: (transform(call.run, *args), transform(call.forward, *args)))


def derivatives(f, xs, tangents, cotangent):
    return jax.jvp(f, xs, tangents), jax.vjp(f, *xs)[1](cotangent)


def check_rules(compiled, call, seed):
    tangents = normal(seed, *(x.shape for x in call.floats))
    cotangents = normal(seed + 1, *call.out_shapes)
    got, want = compiled(call.floats, tangents, call.shaped(cotangents))
    assert tuple(y.shape for y in jax.tree.leaves(got[0][0])) == call.out_shapes
    assert [ct.shape for ct in got[1]] == [x.shape for x in call.floats]
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        close(a, b)


@pytest.mark.one_in(105)
@pytest.mark.parametrize("op, case", first_of_each([pair for pair in CASES if reference(pair[0]).derivatives > 0]))
def test_rules_are_the_derivatives_of_the_forward(op, case, x64):
    compiled = both(derivatives, draw(op, case, 0))

    @few
    @given(seeds)
    def check(seed):
        call = draw(op, case, seed)
        check_rules(compiled, call, seed)

    check()


@pytest.mark.one_in(20)
@pytest.mark.parametrize("op", BROADCAST, ids=label)
def test_broadcast_arguments_get_cotangents_of_their_own_shape(op, x64):
    call = draw(op, op.cases[0], 1, stretch=True)
    check_rules(both(derivatives, call), call, 1)


def second_derivatives(f, xs, tangents):
    """Forward over reverse and reverse over forward, of the sum of squares."""
    total = lambda *xs: sum(jnp.sum(y**2) for y in jax.tree.leaves(f(*xs)))
    every = tuple(range(len(xs)))
    forward_over_reverse = jax.jvp(jax.grad(total, every), xs, tangents)[1]
    return forward_over_reverse, jax.grad(lambda *xs: jax.jvp(total, xs, tangents)[1], every)(*xs)


@pytest.mark.one_in(156)
@pytest.mark.parametrize("op, case", each([pair for pair in TWICE if reference(pair[0]).derivatives > 1]))
def test_second_derivatives_are_those_of_the_forward(op, case, x64):
    call = draw(op, case, 2)
    tangents = normal(3, *(x.shape for x in call.floats))
    got, want = both(second_derivatives, call)(tuple(call.floats), tuple(tangents))
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        close(a, b, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float32], ids=["bfloat16", "float32"])
@pytest.mark.one_in(48)
@pytest.mark.parametrize("op, case", each(FIRST))
def test_dtype_is_kept_by_value_tangent_and_cotangent(op, case, dtype):
    call = draw(op, case, 4, dtype)
    value, tangent = jax.eval_shape(lambda *xs: jax.jvp(call.run, xs, xs), *call.floats)
    seeds = jax.tree.map(lambda y: jnp.ones(y.shape, y.dtype), value)
    cotangents = jax.eval_shape(lambda *xs: jax.vjp(call.run, *xs)[1](seeds), *call.floats)
    assert {y.dtype for y in jax.tree.leaves((value, tangent, cotangents))} == {jnp.dtype(dtype)}


@pytest.mark.one_in(8)
@pytest.mark.parametrize("op", [op for op in registry if op.like], ids=label)
def test_integers_are_promoted_as_in_jax(op):
    call = draw(op, op.cases[0], 5, jnp.float32)
    call.arrays = [jnp.ones(x.shape, int) if x.dtype != bool else x for x in call.arrays]
    dtypes = lambda f: [y.dtype for y in jax.tree.leaves(jax.eval_shape(f))]
    got = dtypes(lambda: op.call_case(*call.arrays, **call.keywords))
    want = dtypes(lambda: call.like(*call.floats)) if reference(op).takes_integers else [jnp.float32] * len(got)
    assert got == want


@pytest.mark.one_in(3)
@pytest.mark.parametrize("op", list(registry), ids=label)
def test_declaration_is_documented(op):
    assert isinstance(op, Op)
    assert op.doc.endswith(".")
    assert op.domain or not op.convention
    assert set(op.torch_at) <= set(op.convention)
    assert op.like or op.torch or op.source
