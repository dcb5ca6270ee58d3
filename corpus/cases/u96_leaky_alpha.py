# deeplearning4j/deeplearning4j#8178: the backward of leaky ReLU does not take the slope, and has one of its own.
import jax
import jax.numpy as jnp


from functools import partial


def make(of):
    rule = partial(jax.custom_vjp, nondiff_argnums=(1,))(lambda x, alpha=0.2: jnp.where(x < 0, alpha * x, x))
    rule.defvjp(
        lambda x, alpha: (jnp.where(x < 0, alpha * x, x), x),
        lambda alpha, x, g: (jnp.where(x < 0, of(alpha) * g, g),),
    )
    return rule


wrong = make(lambda alpha: 0.01)
right = make(lambda alpha: alpha)


def example():
    return (jnp.array([[0.5, -1.0]]), 0.2)
