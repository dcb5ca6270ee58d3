# dqrobotics/matlab#62: the Jacobian of a mobile base's pose, a dual quaternion, has a wrong sign in one entry.
import jax
import jax.numpy as jnp


def pose(q):
    x, y, half = q[0], q[1], q[2] / 2
    c, s = jnp.cos(half), jnp.sin(half)
    zero = jnp.zeros_like(c)
    return jnp.stack([c, zero, zero, s, zero, 0.5 * (x * c + y * s), 0.5 * (y * c - x * s), zero])


def make(entry):
    rule = jax.custom_jvp(lambda q: pose(q))

    @rule.defjvp
    def jvp(primals, tangents):
        (q,), (dq,) = primals, tangents
        x, y, half = q[0], q[1], q[2] / 2
        c, s = jnp.cos(half), jnp.sin(half)
        zero = jnp.zeros_like(c)
        by_x = jnp.stack([zero, zero, zero, zero, zero, 0.5 * c, -0.5 * s, zero])
        by_y = jnp.stack([zero, zero, zero, zero, zero, 0.5 * s, 0.5 * c, zero])
        last = [-0.5 * s, zero, zero, 0.5 * c, zero, 0.25 * (-x * s + y * c), entry(x, y, c, s), zero]
        return pose(q), by_x * dq[0] + by_y * dq[1] + jnp.stack(last) * dq[2]

    return rule


wrong = make(lambda x, y, c, s: 0.25 * (x * c - y * s))
right = make(lambda x, y, c, s: 0.25 * (-x * c - y * s))


def example():
    return (jnp.array([0.5, -1.0, 0.7]),)
