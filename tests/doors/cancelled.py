"""A rule that is wrong, and functions in which what is wrong has no part, or has one."""

import jax


@jax.custom_jvp
def bad(x):
    return x * x


bad.defjvp(lambda p, t: (p[0] * p[0], 3 * p[0] * t[0]))


@jax.custom_vjp
def bad_vjp(x):
    return x * x


bad_vjp.defvjp(lambda x: (x * x, x), lambda x, g: (3 * x * g,))


@jax.custom_vjp
def bad_forward(x):
    return x * x


bad_forward.defvjp(lambda x: (2 * x * x, x), lambda x, g: (2 * x * g,))
