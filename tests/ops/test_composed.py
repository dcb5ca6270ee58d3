"""Composed ops: their value and all gradients against plain JAX, and their declaration."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import ops
from certgrad.errors import DeclarationError
from certgrad.ops import Composed, Registry, case, composed, registry
from tests.ops.sampling import draw, label

COMPOSED = [op for op in registry if isinstance(op, Composed)]
CASES = [
    pytest.param(op, one, marks=pytest.mark.slow if k else (), id=f"{op.name}-{label(one)}" if k else op.name)
    for op in COMPOSED
    for k, one in enumerate(op.cases)
]


def everything(f, xs, tangents, seeds):
    """The value, its tangent along a direction, and the cotangents of all float arguments."""
    value, pull = jax.vjp(f, *xs)
    return value, jax.jvp(f, xs, tangents)[1], pull(seeds)


@pytest.mark.one_in(15)
@pytest.mark.parametrize("op, one", CASES)
def test_value_tangent_and_gradients_are_those_of_plain_jax(op, one, x64):
    call = draw(op, one, 3)
    rng = np.random.default_rng(4)
    tangents = [jnp.asarray(rng.normal(size=x.shape)) for x in call.floats]
    seeds = call.shaped([jnp.asarray(rng.normal(size=shape)) for shape in call.out_shapes])
    both = jax.jit(lambda *args: (everything(call.run, *args), everything(call.like, *args)))
    got, want = both(call.floats, tangents, seeds)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-8, atol=1e-9)


def test_its_rules_are_those_of_its_parts():
    """What the audit traces as the rules of a composed op is what JAX runs."""
    call = draw(ops.mlp, ops.mlp.cases[0], 1, jnp.float32)
    xs, tangents = call.floats, [jnp.cos(x) for x in call.floats]
    assert jnp.array_equal(ops.mlp.jvp_rule(*xs, *tangents), jax.jvp(call.run, xs, tangents)[1])
    value, pull = jax.vjp(call.run, *xs)
    seed = jnp.sin(value)
    assert all(map(jnp.array_equal, ops.mlp.vjp_rule(*xs, seed), pull(seed)))


def test_it_works_under_vmap_and_promotes():
    x = jnp.ones((4, 3, 2), int)
    weights = [jnp.ones(s) for s in ((5, 2), (5,), (1, 5), (1,))]
    value = jax.vmap(lambda row: ops.mlp(row, *weights))(x)
    assert value.shape == (4, 3, 1)
    assert value.dtype == jnp.float32


def test_shapes_that_do_not_fit():
    with pytest.raises(
        ValueError, match=r"^mlp: the shapes x \(3, 2\), weight_1 \(5, 3\), .* do not fit its signature"
    ):
        ops.mlp(*(jnp.ones(s) for s in ((3, 2), (5, 3), (5,), (1, 5), (1,))))


def declared(*cases, forward=None):
    def twice(x, *, k=1):
        """Twice the argument."""
        return ops.scale(x, c=2.0)

    return composed(*cases, registry=Registry())(forward or twice)


def test_a_star_is_refused():
    message = r"Op 'twice' .* is composed, and its signature '\*s -> \*s' has a star: .* write out its axes"
    with pytest.raises(DeclarationError, match=message):
        declared("*s -> *s")


def test_a_size_as_keyword_is_refused():
    with pytest.raises(DeclarationError, match=r"Op 'twice' .* is composed, and 'k' is a size in a case of it"):
        declared(case("n -> n", k=ops.size_of("n")))


def test_rules_are_refused():
    with pytest.raises(DeclarationError, match="it has no rules of its own to replace; replace its forward"):
        ops.mlp.with_rules(vjp=lambda *args: args)


@pytest.mark.parametrize("kind", ["fwd", "jvp", "vjp", "reference"])
def test_a_rule_of_its_own_is_refused(kind):
    with pytest.raises(DeclarationError, match=f"Op 'twice' .* is composed: it has no {kind} of its own"):
        getattr(declared("n -> n"), kind)(lambda *args: args)
