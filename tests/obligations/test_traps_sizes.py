"""Keyword arguments that are sizes: symbolic in the proof, and a rule that is wrong at some of them is refuted."""

import jax.numpy as jnp
import pytest
from jax import lax

from certgrad.obligations import audit
from certgrad.ops import registry
from certgrad.ops._declare import case, size_of

from .traps import declare

TILE = case("n -> r*n", reps=size_of("r"))


def tiled(x, *, reps):
    return jnp.reshape(jnp.broadcast_to(x, (reps, *x.shape)), (reps * x.shape[0],))


def tile(vjp):
    return declare(TILE, tiled, lambda x, dx, *, reps: tiled(dx, reps=reps), vjp)


def test_every_value_of_a_size_is_proved():
    right = tile(lambda x, g, *, reps: jnp.sum(jnp.reshape(g, (reps, x.shape[0])), axis=0))
    assert audit(right).verdict == "proved"


@pytest.mark.parametrize(
    "vjp",
    [
        lambda x, g, *, reps: jnp.sum(jnp.reshape(g, (x.shape[0], reps)), axis=1),
        lambda x, g, *, reps: reps * jnp.reshape(g, (reps, x.shape[0]))[0],
        lambda x, g, *, reps: jnp.sum(jnp.reshape(g, (reps, x.shape[0])), axis=0) * (2 if reps == 3 else 1),
    ],
    ids=["the other order", "the first copy alone", "right but at one size"],
)
def test_a_rule_that_is_wrong_at_some_size(vjp):
    certificate = audit(tile(vjp))
    assert certificate.verdict == "refuted"
    witness = next(c.witness for claim in certificate.claims for c in claim.cases if c.witness)
    assert witness.statics.keys() == {"reps"}
    assert int(witness.statics["reps"]) > 1


@pytest.mark.parametrize("shift", [0, 2])
def test_a_slice_that_is_put_back_beside_its_place(shift):
    def vjp(x, seed, *, start, length, axis):
        widths = [(0, 0, 0)] * x.ndim
        before = start + (1 if shift == 0 else -1)
        widths[axis] = (before, x.shape[axis] - before - length, 0)
        return lax.pad(seed, jnp.zeros((), x.dtype), widths)

    certificate = audit(registry.get("slice").with_rules(vjp=vjp))
    assert certificate.verdict == "refuted"
