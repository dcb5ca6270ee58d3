# fangwei123456/spikingjelly#412: the slope of the middle piece of a piecewise leaky ReLU, which is 1 / (2 w), is
# written 1 / w.
import jax
import jax.numpy as jnp


from functools import partial

LEAK = 0.01


def primitive(x, w):
    return jnp.where(x < -w, LEAK * (x + w), jnp.where(x > w, LEAK * (x - w) + 1, x / (2 * w) + 0.5))


def make(factor):
    rule = partial(jax.custom_vjp, nondiff_argnums=(1,))(lambda x, w=0.5: primitive(x, w))
    rule.defvjp(
        lambda x, w: (primitive(x, w), x),
        lambda w, x, g: (g * jnp.where(jnp.abs(x) > w, LEAK, 1 / (factor * w)),),
    )
    return rule


wrong = make(1)
right = make(2)


def example():
    return (jnp.array([[0.3, -1.0, 0.1]]), 0.5)
