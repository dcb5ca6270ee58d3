# fla-org/flash-linear-attention#862: the backward of the products A(βk) and A(βv) of a delta rule has no branch for the
# keys where there is no gate, so that the gradient of β is that of the values alone.
import jax
import jax.numpy as jnp


def products(A, k, v, beta):
    return A @ (k * beta[:, None]), A @ (v * beta[:, None])


def make(of_keys):
    rule = jax.custom_vjp(lambda A, k, v, beta: products(A, k, v, beta))

    def bwd(res, cotangents):
        A, k, v, beta = res
        dw, du = cotangents
        dA = dw @ (k * beta[:, None]).T + du @ (v * beta[:, None]).T
        dkb, dvb = A.T @ dw, A.T @ du
        dbeta = of_keys(jnp.sum(dkb * k, axis=1)) + jnp.sum(dvb * v, axis=1)
        return dA, dkb * beta[:, None], dvb * beta[:, None], dbeta

    rule.defvjp(lambda A, k, v, beta: (products(A, k, v, beta), (A, k, v, beta)), bwd)
    return rule


wrong = make(jnp.zeros_like)
right = make(lambda db: db)


def example():
    k = jnp.array([[0.5, -1.0], [0.3, 0.7]])
    return jnp.array([[1.0, 0.0], [0.4, 1.0]]), k, jnp.array([[0.1], [0.4]]), jnp.array([0.6, 0.9])
