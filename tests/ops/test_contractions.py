"""einsum, tensordot and matmul with batch axes that broadcast, against jax.numpy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import ops

RNG = np.random.default_rng(3)
SIZES = {a: 2 + k % 4 for k, a in enumerate("abcdhijkqxyz")}
EQUATIONS = [
    "ij,jk->ik",
    "ji,jk->ki",
    "bij,bkj->bki",
    "bqhd,bkhd->bhqk",
    "bhqk,bkhd->bqhd",
    "i,j->ij",
    "i,i->",
    "ij,ij->ij",
    "ij,k->k",
    "aij,bj->ab",
    ",ij->ji",
    "ij,jk",
    "...ij,...kj->...ik",
    "...i,i->...",
    "...i,...j",
]


def arrays(equation):
    inputs = equation.partition("->")[0].replace("...", "xy")
    return [jnp.asarray(RNG.normal(size=[SIZES[a] for a in part]), jnp.float32) for part in inputs.split(",")]


def same(ours, theirs, *args):
    every = tuple(range(len(args)))
    both = lambda f: jax.value_and_grad(lambda *xs: jnp.sum(jnp.sin(f(*xs))), every)
    assert jax.eval_shape(ours, *args) == jax.eval_shape(theirs, *args)
    got, want = jax.jit(lambda *xs: (both(ours)(*xs), both(theirs)(*xs)))(*args)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum(equation):
    same(lambda *xs: ops.einsum(equation, *xs), lambda *xs: jnp.einsum(equation, *xs), *arrays(equation))


REFUSED = [
    ("ii,i->i", "labels are letters, each once"),
    ("ij,jk->ii", "labels are letters, each once"),
    ("ij->ji", "is of 1 arrays; it contracts two"),
    ("ij,jk,kl->il", "is of 3 arrays; it contracts two"),
    ("ijk,jk->ik", "has 3 labels for an array of 2 axes"),
    ("ij,jk->iz", "a label that stands in no array"),
    ("i1,jk->ik", "labels are letters"),
]


@pytest.mark.parametrize("equation, message", REFUSED)
def test_einsum_refuses(equation, message):
    with pytest.raises(ValueError, match=f"^einsum: .*{message}"):
        ops.einsum(equation, jnp.ones((2, 2)), jnp.ones((2, 2)))


def test_einsum_of_sizes_that_differ():
    with pytest.raises(ValueError, match=r"^einsum: the shapes x \(2, 3\), y \(4, 5\) do not fit its signature"):
        ops.einsum("ij,jk->ik", jnp.ones((2, 3)), jnp.ones((4, 5)))
    with pytest.raises(TypeError, match=r"^einsum: the equation comes first"):
        ops.einsum(jnp.ones(2), "i,i->", jnp.ones(2))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("axes", [0, 1, 2, ((0,), (-1,)), (1, 0), ((2, 0), (0, 2))])
def test_tensordot(axes):
    a, b = (jnp.asarray(RNG.normal(size=(3, 3, 3)), jnp.float32) for _ in range(2))
    same(lambda *xs: ops.tensordot(*xs, axes), lambda *xs: jnp.tensordot(*xs, axes), a, b)


@pytest.mark.parametrize(
    "a, b",
    [((5, 2, 3), (1, 3, 4)), ((2, 1, 2, 3), (5, 3, 4)), ((2, 1, 2, 3), (1, 5, 3, 4)), ((1, 2, 3), (1, 5, 3, 4))],
)
@pytest.mark.one_in(2)
def test_matmul_broadcasts_batch_axes(a, b):
    same(ops.matmul, jnp.matmul, *(jnp.asarray(RNG.normal(size=shape), jnp.float32) for shape in (a, b)))
