# PaddlePaddle/Paddle#74716: the backward of a rotary embedding rotates the gradient and then multiplies by the sines,
# in place of the other way round.
import jax
import jax.numpy as jnp


def rotate_half(x):
    first, second = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([-second, first], axis=-1)


def rope(x, cos, sin):
    return x * cos + rotate_half(x) * sin


def make(back):
    rule = jax.custom_vjp(lambda x, cos, sin: rope(x, cos, sin))

    def bwd(res, g):
        cos, sin = res
        return g * cos - back(g, sin), None, None

    rule.defvjp(lambda x, cos, sin: (rope(x, cos, sin), (cos, sin)), bwd)
    return rule


wrong = make(lambda g, sin: rotate_half(g) * sin)
right = make(lambda g, sin: rotate_half(g * sin))


def example():
    x = jnp.array([[0.5, -1.0, 0.3, 2.0], [1.0, 0.2, -0.4, 0.6]])
    angle = jnp.array([[0.1, 0.7, 0.2, 0.9], [0.4, 0.3, 1.1, 0.5]])
    return x, jnp.cos(angle), jnp.sin(angle)
