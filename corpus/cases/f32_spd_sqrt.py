"""Principal square root of a symmetric positive definite matrix."""

import jax
import jax.numpy as jnp


def _sym(a):
    return 0.5 * (a + jnp.swapaxes(a, -1, -2))


def _sqrtm(a):
    lam, q = jnp.linalg.eigh(_sym(a))
    root = jnp.sqrt(lam)
    return (q * root[..., None, :]) @ jnp.swapaxes(q, -1, -2), root, q


@jax.custom_jvp
def right(a):
    return _sqrtm(a)[0]


@right.defjvp
def _right_jvp(primals, tangents):
    (a,), (da,) = primals, tangents
    s, root, q = _sqrtm(a)
    qt = jnp.swapaxes(q, -1, -2)
    # Sylvester equation S dS + dS S = dA in the eigenbasis
    inner = (qt @ _sym(da) @ q) / (root[..., :, None] + root[..., None, :])
    return s, q @ inner @ qt


@jax.custom_jvp
def wrong(a):
    return _sqrtm(a)[0]


@wrong.defjvp
def _wrong_jvp(primals, tangents):
    (a,), (da,) = primals, tangents
    s, root, q = _sqrtm(a)
    qt = jnp.swapaxes(q, -1, -2)
    inv_root = (q / root[..., None, :]) @ qt
    return s, _sym(0.5 * inv_root @ _sym(da))
