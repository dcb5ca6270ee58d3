# qixianbiao/RNN#2: in the backward of a recurrent layer the gradient of a hidden state is not passed on to the step
# before.
import jax
import jax.numpy as jnp


def states(x, w, h0):
    def step(h, row):
        new = jnp.tanh(w @ h + row)
        return new, (h, new)

    return jax.lax.scan(step, h0, x)[1]


def make(passed):
    rule = jax.custom_vjp(lambda x, w, h0: states(x, w, h0)[1])

    def fwd(x, w, h0):
        before, after = states(x, w, h0)
        return after, (w, before, after)

    def bwd(res, g):
        w, before, after = res

        def step(later, row):
            h, new, gt = row
            d = (gt + later) * (1 - new * new)
            return passed(w.T @ d), (d, jnp.outer(d, h))

        dh0, (dx, dw) = jax.lax.scan(step, jnp.zeros_like(before[0]), (before, after, g), reverse=True)
        return dx, dw.sum(0), dh0

    rule.defvjp(fwd, bwd)
    return rule


wrong = make(jnp.zeros_like)
right = make(lambda later: later)


def example():
    return jnp.array([[0.5, -1.0], [1.0, 0.2], [0.3, 0.9]]), jnp.array([[0.4, -0.8], [0.1, 0.3]]), jnp.array([0.2, 0.1])
