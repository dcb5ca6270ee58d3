import jax
import jax.numpy as jnp


def _logabsdet(a):
    return jnp.linalg.slogdet(a)[1]


@jax.custom_jvp
def right(a):
    """log|det A| for (batches of) square matrices, e.g. invertible 1x1 convs."""
    return _logabsdet(a)


@right.defjvp
def _right_rule(primals, tangents):
    (a,), (da,) = primals, tangents
    sol = jnp.linalg.solve(a, da)
    return _logabsdet(a), jnp.trace(sol, axis1=-2, axis2=-1).real


@jax.custom_jvp
def wrong(a):
    return _logabsdet(a)


@wrong.defjvp
def _wrong_rule(primals, tangents):
    (a,), (da,) = primals, tangents
    inv = jnp.linalg.inv(a)
    return _logabsdet(a), jnp.sum(inv * da, axis=(-2, -1)).real
