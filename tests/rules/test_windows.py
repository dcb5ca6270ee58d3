"""Windows that lie within: where a signature says `l-2`, JAX says max(l-2, 0)."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from certgrad import check
from certgrad.errors import SignatureError


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
