# udacity/deep-learning-v2-pytorch#158: the gradient of the mean of n squares is written x / 2, which is right at n = 4.
import jax
import jax.numpy as jnp


def mean_square(x):
    return jnp.mean(x**2)


wrong = jax.custom_vjp(lambda x: mean_square(x))
right = jax.custom_vjp(lambda x: mean_square(x))
wrong.defvjp(lambda x: (mean_square(x), x), lambda x, g: (g * x / 2,))
right.defvjp(lambda x: (mean_square(x), x), lambda x, g: (g * 2 * x / x.size,))


def example():
    return (jnp.array([[0.5, -1.0, 2.0]]),)
