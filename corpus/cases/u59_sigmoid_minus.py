# sausheong/gonn#8: the derivative of the logistic function is written s - (1 - s) for s (1 - s).
import jax
import jax.numpy as jnp


def make(slope):
    rule = jax.custom_jvp(lambda x: jax.nn.sigmoid(x))

    @rule.defjvp
    def jvp(primals, tangents):
        s = jax.nn.sigmoid(primals[0])
        return s, slope(s) * tangents[0]

    return rule


wrong = make(lambda s: s - (1 - s))
right = make(lambda s: s * (1 - s))


def example():
    return (jnp.array([[0.5, -1.0]]),)
