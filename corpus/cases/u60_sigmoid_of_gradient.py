# yizt/numpy_neural_network#3: the backward of the logistic function takes it of the gradient, sigmoid(1 - sigmoid(g)).
import jax
import jax.numpy as jnp


def sigmoid(x):
    return jax.nn.sigmoid(x)


wrong = jax.custom_vjp(lambda x: sigmoid(x))
right = jax.custom_vjp(lambda x: sigmoid(x))
wrong.defvjp(lambda x: (sigmoid(x), None), lambda _, g: (sigmoid(1 - sigmoid(g)),))
right.defvjp(lambda x: (sigmoid(x), sigmoid(x)), lambda s, g: (g * s * (1 - s),))


def example():
    return (jnp.array([[0.5, -1.0]]),)
