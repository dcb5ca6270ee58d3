# maziarraissi/backprop#1: the gradient of a layer's weights is made with what goes into its activation function,
# not with what comes out.
import jax
import jax.numpy as jnp


def layer(h, weights):
    return jnp.tanh(h) @ weights


def make(left):
    rule = jax.custom_vjp(lambda h, weights: layer(h, weights))

    def bwd(res, g):
        h, weights = res
        return (g @ weights.T) * (1 - jnp.tanh(h) ** 2), left(h).T @ g

    rule.defvjp(lambda h, weights: (layer(h, weights), (h, weights)), bwd)
    return rule


wrong = make(lambda h: h)
right = make(jnp.tanh)


def example():
    return (jnp.array([[0.5, -1.0], [1.0, 0.2]]), jnp.array([[0.3, 0.1, 0.7], [1.0, -0.2, 0.4]]))
