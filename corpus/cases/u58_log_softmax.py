# mlpack/mlpack#2360: the backward of log-softmax adds the softmax to the gradient; what is reported is 1 + softmax(x)
# for a gradient of ones.
import jax
import jax.numpy as jnp


def log_softmax(x):
    shifted = x - jnp.max(x, axis=-1, keepdims=True)
    return shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis=-1, keepdims=True))


wrong = jax.custom_vjp(lambda x: log_softmax(x))
right = jax.custom_vjp(lambda x: log_softmax(x))


def fwd(x):
    y = log_softmax(x)
    return y, y


wrong.defvjp(fwd, lambda y, g: (g + jnp.exp(y),))
right.defvjp(fwd, lambda y, g: (g - jnp.exp(y) * jnp.sum(g, axis=-1, keepdims=True),))


def example():
    return (jnp.array([[0.1, -0.4, 1.2], [0.3, 0.8, -1.0]]),)
