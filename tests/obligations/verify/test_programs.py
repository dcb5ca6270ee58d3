"""Ops outside the library: programs that index, order, solve and repeat are verified, and wrong ones are not."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from certgrad.obligations import audit
from certgrad.obligations.verify import verify
from certgrad.obligations.verify.digest import _Writer
from certgrad.ops import Op
from tests.obligations.test_index_rules import FREE, IN_RANGE, by_jax
from tests.obligations.traps import declare
from tests.obligations.verify.forging import for_code_of, without_hypothesis

NAMES = [
    *("strided slice", "negative and interior pad", "concatenate", "split", "rotate half", "cumulative sum", "triu"),
    *("diagonal", "multi-head attention", "dynamic update", "embedding by one-hot", "average pool", "causal attention"),
    "conv2d, strided, padded, dilated, grouped",
]
SOLVES = {
    "solve": ("n n, n m -> n m", lambda a, b: jnp.linalg.solve(a, b)),
    "inverse": ("b n n -> b n n", lambda a: jnp.linalg.inv(a)),
    "cholesky": ("n n -> n n", lambda a: jnp.linalg.cholesky(a)),
}
CASES = {name: FREE[name] for name in NAMES} | {name: IN_RANGE[name][:2] for name in IN_RANGE} | SOLVES


@pytest.mark.one_in(28)
@pytest.mark.parametrize("name", CASES)
def test_a_proved_program_is_verified(name: str) -> None:
    op = by_jax(*CASES[name])
    certificate = audit(op)
    assert certificate.verdict.startswith("proved")
    result = verify(certificate, op)
    assert (result.outcome, result.problems) == ("verified", ())


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", ["take", "take_along_axis", "cross-entropy", "solve", "cholesky"])
def test_a_dropped_hypothesis_of_an_index_or_a_matrix_is_found(name: str) -> None:
    op = by_jax(*CASES[name])
    certificate = audit(op)
    for hypothesis in certificate.claims[0].hypotheses:
        dropped = without_hypothesis(certificate, op, "jvp_is_derivative", hypothesis.text)
        assert verify(dropped, op).outcome == "failed", hypothesis.text


def cumulative(turned: bool) -> Op:
    """A cumulative sum; with `turned`, its VJP forgets to run backwards."""
    return declare(
        "n -> n",
        lambda x: jnp.cumsum(x),
        lambda x, dx: jnp.cumsum(dx),
        lambda x, seed: lax.cumsum(seed, reverse=not turned),
    )


def recurrence(reverse: bool) -> Op:
    """c ← a·c + x; the VJP runs over the steps in reverse, or forgets to."""

    def forward(a, x):
        return lax.scan(lambda c, y: (a * c + y, None), jnp.zeros_like(a), x)[0]

    def jvp(a, x, da, dx):
        return jax.jvp(forward, (a, x), (da, dx))[1]

    def vjp(a, x, seed):
        if reverse:
            return jax.vjp(forward, a, x)[1](seed)
        carries = lax.scan(lambda c, y: (a * c + y, c), jnp.zeros_like(a), x)[1]
        (_, da), dx = lax.scan(lambda s, c: ((a * s[0], s[1] + s[0] * c), s[0]), (seed, jnp.zeros_like(a)), carries)
        return da, dx

    return declare(", n -> ", forward, jvp, vjp)


@pytest.mark.parametrize("right, wrong", [(cumulative(False), cumulative(True)), (recurrence(True), recurrence(False))])
def test_a_wrong_order_fails_with_a_forged_digest(right: Op, wrong: Op) -> None:
    assert verify(for_code_of(audit(right), wrong), wrong).outcome == "failed"


def test_an_open_program_among_the_parameters_is_written_without_constants():
    """Equinox hands the constants of a closed-over function on as operands, and its program as a static parameter."""
    table = jnp.arange(3.0)
    added, taken = (jax.make_jaxpr(f)(jnp.ones(3)) for f in (lambda x: x + table, lambda x: x - table))
    assert len(added.jaxpr.constvars) == 1
    first, second = (_Writer().param(one.jaxpr) for one in (added, taken))
    assert first != second
    assert "const v1:float32[3] = \n" in first
    assert " = add" in first
    assert _Writer().param(added) != first, "a closed one with its constants"
