# denizyuret/Knet.jl#288: the backward of batch normalisation multiplies the gradient by the scale, and goes on with the
# gradient that it had before.
import jax
import jax.numpy as jnp


def normed(x):
    centered = x - jnp.mean(x, axis=0)
    inverse = 1 / jnp.sqrt(jnp.mean(centered**2, axis=0) + 1e-5)
    return centered * inverse, inverse


def batchnorm(x, scale, shift):
    return scale * normed(x)[0] + shift


def make(scaled):
    rule = jax.custom_vjp(lambda x, scale, shift: batchnorm(x, scale, shift))

    def bwd(res, dy):
        x, scale = res
        x_hat, inverse = normed(x)
        d = scaled(dy, scale)
        dx = inverse * (d - jnp.mean(d, axis=0) - x_hat * jnp.mean(d * x_hat, axis=0))
        return dx, jnp.sum(dy * x_hat, axis=0), jnp.sum(dy, axis=0)

    rule.defvjp(lambda x, scale, shift: (batchnorm(x, scale, shift), (x, scale)), bwd)
    return rule


wrong = make(lambda dy, scale: dy)
right = make(lambda dy, scale: dy * scale)


def example():
    return (jnp.array([[0.5, -1.0], [1.0, 0.2], [0.1, 0.7]]), jnp.array([1.5, 0.5]), jnp.array([0.2, -0.3]))
