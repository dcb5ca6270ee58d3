# deeplearning4j/libnd4j#440: the derivative of softmax is taken to be its diagonal, y (1 - y).
import jax
import jax.numpy as jnp


def softmax(x):
    shifted = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    return shifted / jnp.sum(shifted, axis=-1, keepdims=True)


wrong = jax.custom_vjp(lambda x: softmax(x))
right = jax.custom_vjp(lambda x: softmax(x))


def fwd(x):
    y = softmax(x)
    return y, y


wrong.defvjp(fwd, lambda y, g: (g * y * (1 - y),))
right.defvjp(fwd, lambda y, g: (y * (g - jnp.sum(g * y, axis=-1, keepdims=True)),))


def example():
    return (jnp.array([[0.1, -0.4, 1.2], [0.3, 0.8, -1.0]]),)
