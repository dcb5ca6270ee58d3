"""A refuted graph says where it is right, and that is proved."""

import jax
import jax.numpy as jnp

from certgrad.graph import certify, trace


def square(slope):
    """x², whose rule has the slope `slope(x)`."""

    @jax.custom_jvp
    def square(x):
        return x * x

    @square.defjvp
    def _(primals, tangents):
        (x,), (dx,) = primals, tangents
        return square(x), slope(x) * dx

    return square


@jax.custom_vjp
def picked(x, k):
    return x[k]


def _bwd(kept, g):
    x, k = kept
    return jnp.where(jnp.arange(x.shape[0]) == k, g, 0.0), None


picked.defvjp(lambda x, k: (picked(x, k), (x, k)), _bwd)


def findings(fn, *specs):
    found = certify(trace(fn, *specs))
    assert found.verdict == "refuted"
    return [f for f in found.findings if "is right" in f]


def test_a_corner_is_named_and_an_error_everywhere_is_not() -> None:
    corner = square(lambda x: jnp.where(x == 0, 1.0, 2 * x))
    (said,) = findings(lambda x, y: jnp.sum(corner(x - 1) * y), "n", "n")
    assert said.startswith("the graph is proved under hypotheses where %")
    assert said.endswith("every element of `x - 1` ≠ 0")
    assert findings(lambda x, y: jnp.sum(square(lambda x: 3 * x)(x - 1) * y), "n", "n") == []


def test_a_side_and_an_index() -> None:
    side = square(lambda x: jnp.where(x > 2, 2 * x, 1.0))
    (said,) = findings(lambda x: jnp.sum(side(x)), "n")
    assert "every element of `x` > 2" in said
    (said,) = findings(lambda x, k: picked(x * x, k), "5", ":int")
    assert "every element of `k` ≥ 0" in said
    assert "every element of `k` < 5" in said, "JAX's index stops there, and the rule's does not"


def test_another_step_that_is_wrong_leaves_nothing_to_say() -> None:
    """The condition would make one rule right, and the graph would still be wrong."""
    corner, wrong = square(lambda x: jnp.where(x == 0, 1.0, 2 * x)), square(lambda x: 3 * x)
    assert findings(lambda x: jnp.sum(corner(x) + wrong(x)), "n") == []
