"""Carries that are measured in a unit of their own: an online softmax, its tiles, and the plain form as a reference."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from certgrad.errors import UsageError
from certgrad.obligations import audit, obligation
from certgrad.obligations.verify import verify
from certgrad.ops import case, size_of
from tests.obligations.traps import declare
from tests.obligations.verify.forging import for_code_of


def online(start=0.0, shrink=jnp.exp, unit=jnp.maximum, add=lambda x, new: jnp.exp(x - new), tile=jnp.max):
    """log Σ exp of the entries, tile by tile; the arguments are its parts, some of them wrong."""

    def forward(x):
        def step(carry, row):
            largest, total = carry
            new = lax.stop_gradient(unit(largest, tile(row)))
            return (new, shrink(largest - new) * total + jnp.sum(add(row, new))), None

        first = jnp.ones((), x.dtype)
        (largest, total), _ = lax.scan(step, (lax.stop_gradient(x[0, 0]) - 1, start * first), x)
        return largest + jnp.log(total)

    return forward


def stated(forward, reference=lambda x: jnp.log(jnp.sum(jnp.exp(x)))):
    """The op with JAX's own rules of the plain form, and the plain form as the reference."""
    plain = lambda x: jnp.log(jnp.sum(jnp.exp(x)))
    one = declare(
        "t b -> ",
        lambda x: forward(x),
        lambda x, dx: jax.jvp(plain, (x,), (dx,))[1],
        lambda x, seed: jax.vjp(plain, x)[1](seed)[0],
    )
    one.reference(reference)
    return one


def verdicts(one):
    return {claim.kind: claim.verdict for claim in audit(one).claims}


PROVED = dict.fromkeys(
    ("jvp_is_derivative", "vjp_is_adjoint", "rule_runs_forward", "forward_equals_reference"), "proved"
)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "forward",
    [
        online(),
        online(tile=jnp.min),  # any unit will do over the reals
        online(unit=lambda a, b: (a + b) / 2),
        online(unit=lambda a, b: a),
    ],
    ids=["the largest so far", "the least of the tile", "a mean", "one unit throughout"],
)
def test_the_unit_does_not_matter(forward):
    assert verdicts(stated(forward)) == PROVED


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "forward",
    [
        online(start=1.0),
        online(shrink=lambda d: 1.0),
        online(shrink=lambda d: jnp.exp(-d)),
        online(shrink=lambda d: jnp.exp(2 * d)),
        online(add=lambda x, new: jnp.exp(x - 2 * new)),
        online(add=lambda x, new: jnp.exp(x)),
    ],
    ids=["starts at 1", "never shrunk", "grown", "shrunk twice", "another unit", "no unit"],
)
def test_a_wrong_step_is_refuted(forward):
    found = verdicts(stated(forward))
    assert found["forward_equals_reference"] == "refuted" == found["jvp_is_derivative"]


def test_a_wrong_reference_is_refuted_and_nothing_else():
    found = verdicts(stated(online(), lambda x: jnp.log(jnp.mean(jnp.exp(x)))))
    assert found == PROVED | {"forward_equals_reference": "refuted"}


def in_tiles(other):
    """Σ x·w by tiles, where w is another order of x's entries; and Σ x·x as the reference."""

    def forward(x, *, tile):
        rows = jnp.reshape(x, (x.shape[0] // tile, tile))
        return jnp.sum(jnp.sum(other(x, tile) * rows, axis=1))

    one = declare(
        case("t*b -> ", tile=size_of("b")),
        forward,
        lambda x, dx, *, tile: jax.jvp(lambda x: forward(x, tile=tile), (x,), (dx,))[1],
        lambda x, seed, *, tile: seed * jax.grad(lambda x: forward(x, tile=tile))(x),
    )
    one.reference(lambda x: jnp.sum(x * x))
    return one


def rows(x, b):
    return jnp.reshape(x, (x.shape[0] // b, b))


def test_sums_over_tiles_are_sums_over_all():
    assert verdicts(in_tiles(rows)) == PROVED


@pytest.mark.parametrize(
    "other",
    [lambda x, b: rows(x, b)[:, :1], lambda x, b: rows(x, x.shape[0] // b).T],
    ids=["the first of each tile", "columns"],
)
def test_other_places_are_refuted(other):
    assert verdicts(in_tiles(other))["forward_equals_reference"] == "refuted"


def test_an_op_without_a_reference_has_no_claim_of_one():
    one = declare("n -> n", lambda x: 2 * x, lambda x, dx: 2 * dx)
    assert "forward_equals_reference" not in verdicts(one)
    with pytest.raises(UsageError, match="without a reference"):
        obligation(one, "forward_equals_reference")


@pytest.mark.slow
def test_the_second_check_looks_at_the_reference():
    one = stated(online())
    certificate = audit(one)
    assert verify(certificate, one).outcome == "verified"
    one.reference(lambda x: jnp.log(jnp.sum(jnp.exp(x)) + 1))
    (problem,) = verify(certificate, one).problems
    assert "traces to another program" in problem
    problems = verify(for_code_of(certificate, one), one).problems
    assert problems
    assert all("forward_equals_reference" in p for p in problems)
