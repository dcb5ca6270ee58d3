"""Windows that lie within: where a signature says `l-2`, JAX says max(l-2, 0)."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from certgrad import check
from certgrad.errors import SignatureError

pytestmark = pytest.mark.usefixtures("proofs_alone")


def summed(x: Any) -> Any:
    return jax.lax.reduce_window(x, 0.0, jax.lax.add, (3,), (1,), "VALID")


def rule(value: Any, bwd: Any) -> Any:
    found = jax.custom_vjp(value)
    found.defvjp(lambda *args: (value(*args), args), bwd)
    return found


def test_a_signature_may_say_how_many_windows_there_are() -> None:
    right = rule(summed, lambda r, g: jax.vjp(summed, *r)[1](g))
    wrong = rule(summed, lambda r, g: jax.vjp(summed, *r)[1](2 * g))
    assert check(right, "l -> l-2", conformance=False).proved
    assert check(wrong, "l -> l-2", conformance=False).verdict == "refuted"
    with pytest.raises(SignatureError, match=r"returns shapes \(max\(l - 2, 0\)\), but its signature says \(l - 3\)"):
        check(right, "l -> l-3", conformance=False)


def test_a_rule_is_not_refuted_where_an_output_has_no_size() -> None:
    """At l = 1 numpy convolves the other way round, and at l = 2 nothing is left to convolve."""

    def averaged(x: Any) -> Any:
        return (x[2:] + x[1:-1] + x[:-2]) / 3

    right = rule(averaged, lambda _, g: (jnp.convolve(g, jnp.ones(3) / 3, mode="full"),))
    wrong = rule(averaged, lambda _, g: (jnp.convolve(g, jnp.ones(3) / 2, mode="full"),))
    found = [check(f, "l -> l-2", conformance=False, sizes={"l": 5}).verdict for f in (right, wrong)]
    assert found == ["proved at sizes", "refuted"]


def pooled(rows, up, wrong=lambda mask: mask):
    @jax.custom_vjp
    def pool(x):
        return rows(x).max(axis=(1, 3))

    def backward(residuals, seed):
        x, y = residuals
        return (jnp.where(wrong(x == up(y)), up(seed), 0.0),)

    pool.defvjp(lambda x: (pool(x), (x, pool(x))), backward)
    return pool


@pytest.mark.parametrize(
    ("up", "wrong", "verdict"),
    [
        (lambda a: jnp.repeat(jnp.repeat(a, 2, 0), 2, 1), lambda mask: mask, "proved under hypotheses"),
        (lambda a: jnp.repeat(jnp.repeat(a, 2, 0), 2, 1), lambda mask: ~mask, "refuted"),
        (lambda a: jnp.tile(a, (2, 2)), lambda mask: mask, "refuted"),
    ],
)
def test_the_mask_of_a_maximum_over_windows_is_where_it_is_attained(up, wrong, verdict):
    blocks = lambda x: x.reshape(x.shape[0] // 2, 2, x.shape[1] // 2, 2)
    report = check(pooled(blocks, up, wrong), "2*h 2*w -> h w")
    assert report.verdict == verdict, report
    if verdict != "refuted":
        assert ["over k<2, l<2 is unique" in str(h) for h in report.hypotheses] == [True]
