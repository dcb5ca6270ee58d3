# ByteDance-Seed/Triton-distributed#185: the backward of SwiGLU writes the gradients of all rows into the first one.
import jax
import jax.numpy as jnp


def swiglu(gate, up):
    return gate * jax.nn.sigmoid(gate) * up


def make(stored):
    rule = jax.custom_vjp(lambda gate, up: swiglu(gate, up))

    def bwd(res, g):
        gate, up = res
        s = jax.nn.sigmoid(gate)
        dgate = g * up * s * (1 + gate * (1 - s))
        dup = g * gate * s
        return stored(dgate), stored(dup)

    rule.defvjp(lambda gate, up: (swiglu(gate, up), (gate, up)), bwd)
    return rule


wrong = make(lambda d: jnp.zeros_like(d).at[0].set(d[-1]))
right = make(lambda d: d)


def example():
    return jnp.array([[0.5, -1.0], [1.0, 0.2]]), jnp.array([[2.0, 0.3], [0.1, -0.7]])
