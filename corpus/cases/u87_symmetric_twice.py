# libKriging/libKriging#342: a warped point stands in a row and in a column of the symmetric kernel matrix, and its
# gradient takes one of them.
import jax
import jax.numpy as jnp


def value(points, weights):
    gap = points[:, None] - points[None, :]
    return jnp.sum((weights + weights.T) / 2 * jnp.exp(-gap * gap / 2))


def make(factor):
    rule = jax.custom_vjp(lambda points, weights: value(points, weights))

    def bwd(res, g):
        points, weights = res
        gap = points[:, None] - points[None, :]
        slope = -gap * jnp.exp(-gap * gap / 2) * (weights + weights.T) / 2
        return factor * g * jnp.sum(slope, axis=1), None

    rule.defvjp(lambda points, weights: (value(points, weights), (points, weights)), bwd)
    return rule


wrong = make(1)
right = make(2)


def example():
    return jnp.array([0.5, -1.0, 0.2]), jnp.array([[1.0, 0.2, 0.1], [0.3, 1.0, 0.5], [0.4, 0.6, 1.0]])
