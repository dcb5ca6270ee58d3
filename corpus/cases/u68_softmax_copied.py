# pjreddie/darknet#96: the backward of a softmax layer copies the gradient of its output, as if softmax were the
# identity.
import jax
import jax.numpy as jnp


def make(back):
    rule = jax.custom_vjp(lambda x, temperature: jax.nn.softmax(x / temperature))

    def fwd(x, temperature):
        y = jax.nn.softmax(x / temperature)
        return y, (y, temperature)

    rule.defvjp(fwd, lambda res, g: (back(res[0], g) / res[1], None))
    return rule


wrong = make(lambda y, g: g)
right = make(lambda y, g: y * (g - jnp.sum(g * y, axis=-1, keepdims=True)))


def example():
    return (jnp.array([[0.1, -0.4, 1.2], [0.3, 0.8, -1.0]]), jnp.array(0.7))
