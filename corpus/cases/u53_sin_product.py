# jax-ml/jax#3213: the example of a custom rule in the documentation, sin(x) y, had -sin(x) for the derivative by y.
import jax
import jax.numpy as jnp


def make(sign):
    rule = jax.custom_jvp(lambda x, y: jnp.sin(x) * y)

    @rule.defjvp
    def jvp(primals, tangents):
        x, y = primals
        x_dot, y_dot = tangents
        return jnp.sin(x) * y, jnp.cos(x) * x_dot * y + sign * jnp.sin(x) * y_dot

    return rule


wrong = make(-1)
right = make(1)


def example():
    return jnp.array([[0.5, -1.0]]), jnp.array([[2.0, 0.3]])
