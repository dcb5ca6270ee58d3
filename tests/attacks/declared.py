"""Attacks on marked solvers: equations that say less than they seem to, and arrays that they say nothing of."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import certgrad

from .attack import Attack
from .written import reverse

where = jnp.where
KIND = "D marked solvers"


def at(*values):
    found = tuple(np.asarray(v) for v in values)
    return lambda: found


def solver(residual, program):
    """A function that solves exactly, whatever its program."""
    return certgrad.solves(residual)(program)


def one(name, make, plain, signature, *values, **more):
    return Attack(f"solver_{name}", KIND, make, plain, signature, at(*values), **more)


# --- equations about a part of an array -----------------------------------------------------------------------------


def logarithm_of_the_rest():
    """x[:-1] is an exponential, so positive; x[-1] is any number."""
    log = solver(lambda z, x: jnp.exp(z) - x[:-1], lambda x: jnp.log(x[:-1]))
    return reverse(
        lambda x: log(x) + jnp.abs(x[-1]),
        lambda x, g: jnp.concatenate([g / x[:-1], jnp.sum(g)[None]]),
    )


def logarithm_of_all_but_the_first():
    log = solver(lambda z, x: jnp.exp(z) - x[1:], lambda x: jnp.log(x[1:]))
    return reverse(lambda x: log(x) + jnp.abs(x[0]), lambda x, g: jnp.concatenate([jnp.sum(g)[None], g / x[1:]]))


def logarithm_of_rows():
    log = solver(lambda z, x: jnp.exp(z) - x[:-1], lambda x: jnp.log(x[:-1]))
    return reverse(
        lambda x: log(x) + jnp.abs(x[-1:]),
        lambda x, g: jnp.concatenate([g / x[:-1], jnp.sum(g, 0)[None]]),
    )


def logarithm_beside_neighbours():
    """The modulus of the next entry, which for the last one nothing says to be positive."""
    log = solver(lambda z, x: jnp.exp(z) - x[:-1], lambda x: jnp.log(x[:-1]))

    def pull(x, g):
        zero = jnp.zeros(1)
        return jnp.concatenate([g / x[:-1], zero]) + jnp.concatenate([zero, g])

    return reverse(lambda x: log(x) + jnp.abs(x[1:]), pull)


def logarithm_of_the_other_half():
    log = solver(lambda z, x: jnp.exp(z) - x[: z.shape[0]], lambda x: jnp.log(x[: x.shape[0] // 2]))
    return reverse(
        lambda x: log(x) + jnp.abs(x[x.shape[0] // 2 :]), lambda x, g: jnp.concatenate([g / x[: g.shape[0]], g])
    )


def beside_a_relu(at_zero):
    """x[-1] has a kink at 0, whatever the others solve."""

    def make():
        log = solver(lambda z, x: jnp.exp(z) - x[:-1], lambda x: jnp.log(x[:-1]))

        def pull(x, g):
            return jnp.concatenate([g / jnp.exp(log(x)), jnp.sum(where(x[-1:] > 0, g, at_zero(x[-1:], g)))[None]])

        return reverse(lambda x: log(x) + jnp.maximum(x[-1], 0.0), pull)

    return make


def relu_beside(x):
    return jnp.log(x[:-1]) + jnp.maximum(x[-1], 0.0)


def of_the_diagonal():
    log = solver(lambda z, x: jnp.exp(z) - jnp.diagonal(x), lambda x: jnp.log(jnp.diagonal(x)))
    return reverse(
        lambda x: log(x) + jnp.abs(x[0]),
        lambda x, g: jnp.diag(g / jnp.diagonal(x)) + jnp.zeros_like(x).at[0].add(g),
    )


# --- equations that hold for no unknown, or for any -----------------------------------------------------------------


def quotient():
    f = solver(lambda z, x: z / x - 1, lambda x: x * 1.0)
    return reverse(f, lambda x, g: where(x == 0, 5.0, 1.0) * g)


def times_its_argument():
    f = solver(lambda z, x: z * x - x * x, lambda x: x * 1.0)
    return reverse(f, lambda x, g: where(x == 0, 5.0, 1.0) * g)


def times_a_distance():
    f = solver(lambda z, x: (z - x) * (x - 3), lambda x: x * 1.0)
    return reverse(f, lambda x, g: where(x == 3, 5.0, 1.0) * g)


def times_a_size():
    f = solver(lambda z, x: (z - x) * (x.shape[0] - 4), lambda x: x * 1.0)
    return reverse(f, lambda x, g: where(jnp.sum(jnp.ones_like(x)) == 4, 5.0, 1.0) * g)


def without_its_mean():
    f = solver(lambda z, x: z - jnp.mean(z) - (x - jnp.mean(x)), lambda x: x * 1.0)
    return reverse(f, lambda x, g: 7 * g)


def of_rank_one():
    f = solver(lambda z, x: jnp.ones_like(x) * (jnp.sum(z) - jnp.sum(x)), lambda x: x * 1.0)
    return reverse(f, lambda x, g: g * where(jnp.sum(jnp.ones_like(x)) == 1, 1.0, 7.0))


def of_differences():
    f = solver(lambda z, x: (z - x) - jnp.roll(z - x, 1), lambda x: x * 1.0)
    return reverse(f, lambda x, g: 7 * g)


def of_a_triangle():
    f = solver(lambda z, x: jnp.cumsum(z) - z - jnp.cumsum(x) + x, lambda x: x * 1.0)
    return reverse(f, lambda x, g: 7 * g)


def cubed_difference_and_more():
    f = solver(lambda z, x: (z - x) ** 3 * (1 + z * z), lambda x: x * 1.0)
    return reverse(f, lambda x, g: 7 * g)


def squared_modulus():
    f = solver(lambda z, x: jnp.abs(z - x) * (z - x), lambda x: x * 1.0)
    return reverse(f, lambda x, g: 7 * g)


def only_from_above():
    f = solver(lambda z, x: jnp.maximum(z - x, 0.0), lambda x: x * 1.0)
    return reverse(f, lambda x, g: 7 * g)


def of_a_relu():
    """Any z ≤ 0 does where x ≤ 0."""
    f = solver(lambda z, x: jnp.maximum(z, 0.0) - jnp.maximum(x, 0.0), lambda x: x * 1.0)
    return reverse(f, lambda x, g: where(x > 0, 1.0, 7.0) * g)


def of_a_square():
    f = solver(lambda z, x: z * z - x * x, lambda x: x * 1.0)
    return reverse(f, lambda x, g: where(x == 0, 5.0, 1.0) * g)


def of_a_cube():
    f = solver(lambda z, x: z**3 - x**3, lambda x: x * 1.0)
    return reverse(f, lambda x, g: where(x == 0, 5.0, 1.0) * g)


def of_a_sine():
    f = solver(lambda z, x: jnp.sin(z) - jnp.sin(x), lambda x: x * 1.0)
    return reverse(f, lambda x, g: g * jnp.cos(x) / jnp.sqrt(1 - jnp.sin(x) ** 2))


def of_another_branch():
    """sin z = x has π − arcsin x as a solution too."""
    f = solver(lambda z, x: jnp.sin(z) - x, lambda x: jnp.pi - jnp.arcsin(x))
    return reverse(f, lambda x, g: g / jnp.sqrt(1 - x * x))


def negative_root():
    f = solver(lambda z, x: z * z - x, lambda x: -jnp.sqrt(x))
    return reverse(f, lambda x, g: g / (2 * jnp.sqrt(x)))


def root_by_modulus():
    f = solver(lambda z, x: z * z - x, lambda x: -jnp.sqrt(x))
    return reverse(f, lambda x, g: g / (2 * jnp.abs(f(x))))


def root_of_another():
    f = solver(lambda z, x: z * z - x, lambda x: -jnp.sqrt(x))
    h = solver(lambda z, x: z * z - x, lambda x: jnp.sqrt(x))
    return reverse(lambda x: f(x) + h(x), lambda x, g: g / f(x))


def stopped_unknown():
    f = solver(lambda z, x: z * lax.stop_gradient(z) - x, lambda x: jnp.sqrt(x))
    return reverse(f, lambda x, g: g / f(x))


def stopped_and_not():
    """The same value twice, once without a derivative."""
    f = solver(lambda z, x: z * z - x, lambda x: jnp.sqrt(x))
    return reverse(lambda x: f(x) * f(lax.stop_gradient(x)) + f(x), lambda x, g: g * (1 + 1 / (2 * f(x))))


def with_a_wrong_tangent():
    e = jax.custom_jvp(lambda z: jnp.exp(z))
    e.defjvp(lambda p, t: (e(*p), 3 * e(*p) * t[0]))
    f = solver(lambda z, x: e(z) - x, lambda x: jnp.log(x))
    return reverse(f, lambda x, g: g / (3 * x))


def at_a_step():
    f = solver(lambda z, x: where(x == 3, z - 2 * x, z - x), lambda x: where(x == 3, 2 * x, x))
    return reverse(f, lambda x, g: g)


def at_a_step_of_the_unknown():
    """z = x, where the equation has another slope at z = 3 alone."""
    f = solver(lambda z, x: where(z == 3, 2.0, 1.0) * (z - x), lambda x: x * 1.0)
    return reverse(f, lambda x, g: where(x == 3, 2.0, 1.0) * g)


# --- what is captured, and what is no array ----------------------------------------------------------------------


def captured():
    def value(a, x):
        return solver(lambda z, x: z + z**3 - a * x, lambda x: _cubic(a * x))(x)

    def pull(a, x, g):
        z = _cubic(a * x)
        return jnp.zeros_like(a), a * g / (1 + 3 * z * z)

    return reverse(value, pull)


def _cubic(y):
    """z with z + z³ = y."""
    r = jnp.cbrt(y / 2 + jnp.sqrt(y * y / 4 + 1 / 27))
    return r - 1 / (3 * r)


def cubic_plain(a, x):
    return _cubic(a * x)


def of_two_numbers(k, j):
    def make():
        f = solver(lambda z, x, k: z + z**3 - k * x, lambda x, k: _cubic(k * x))

        def pull(x, g):
            z = f(x, j)
            return k * g / (1 + 3 * z * z)

        return reverse(lambda x: f(x, k), pull)

    return make


def mapped_over_the_other_axis():
    f = solver(lambda z, x: z + 0.5 * jnp.cumsum(z) - x, lambda x: _triangle(x))
    rows = jax.vmap(f)
    columns = jax.vmap(f, 1, 1)
    return reverse(rows, lambda x, g: columns(g[:, ::-1])[:, ::-1])


def _triangle(x):
    n = x.shape[0]
    return jnp.linalg.solve(jnp.eye(n) + 0.5 * jnp.tril(jnp.ones((n, n))), x)


def not_transposed():
    f = solver(lambda z, x: z + 0.5 * jnp.cumsum(z) - x, _triangle)
    return reverse(f, lambda x, g: f(g))


def reversed_once():
    f = solver(lambda z, x: z + 0.5 * jnp.cumsum(z) - x, _triangle)
    return reverse(f, lambda x, g: f(g[::-1]))


def a_matrix_not_transposed():
    f = solver(lambda z, a, x: a @ z - x, lambda a, x: jnp.linalg.solve(a, x))

    def pull(a, x, g):
        u = f(a, g)
        return -u[:, None] * f(a, x)[None, :], u

    return reverse(f, pull)


def its_differentiated_program():
    """Where the rule runs, the derivative of the solver's program is taken, and that stops."""
    f = solver(lambda z, x: z + z**3 - x, lambda x: lax.stop_gradient(_cubic(x)))
    return reverse(f, lambda x, g: jax.vjp(f, x)[1](g)[0])


def differentiated_steps():
    f = solver(lambda z, x: z + z**3 - x, lambda x: lax.stop_gradient(_cubic(x)) + 0 * x)
    return reverse(f, lambda x, g: g * jax.jvp(f, (x,), (jnp.ones_like(x),))[1])


def asked_again(argument, linear=False):
    """The rule asks for the same solution, of an argument that is the same number where it is one."""

    def make():
        cube = (lambda z, x: 3 * z - x, lambda x: x / 3) if linear else (lambda z, x: z + z**3 - x, _cubic)
        f = solver(*cube)

        def pull(x, y, g):
            z = f(argument(x, y))
            return g / 3 + 0 * z if linear else g / (1 + 3 * z * z), 0 * y

        return reverse(lambda x, y: f(x), pull)

    return make


def cubic_of_first(x, y):
    return _cubic(x)


AGAIN = {
    "divided": lambda x, y: x * y / y,
    "logarithm": lambda x, y: x + jnp.log(y) - jnp.log(y),
    "root": lambda x, y: x - y + jnp.sqrt(y) ** 2,
    "chosen": lambda x, y: where(y > -9, x * y / y, x),
    "summed": lambda x, y: x + jnp.sum(y / y) - y.shape[0],
}
E = 1 + np.arange(3.0)
ATTACKS = [
    one(
        "logarithm_of_the_rest",
        logarithm_of_the_rest,
        lambda x: jnp.log(x[:-1]) + jnp.abs(x[-1]),
        "n+1 -> n",
        [1.0, 2.0, -1.5],
    ),
    one(
        "logarithm_of_all_but_the_first",
        logarithm_of_all_but_the_first,
        lambda x: jnp.log(x[1:]) + jnp.abs(x[0]),
        "n+1 -> n",
        [-1.5, 1.0, 2.0],
    ),
    one(
        "logarithm_of_rows",
        logarithm_of_rows,
        lambda x: jnp.log(x[:-1]) + jnp.abs(x[-1:]),
        "n+1 m -> n m",
        [[1.0, 2.0], [-1.5, -2.0]],
    ),
    one(
        "logarithm_beside_neighbours",
        logarithm_beside_neighbours,
        lambda x: jnp.log(x[:-1]) + jnp.abs(x[1:]),
        "n+1 -> n",
        [1.0, 2.0, -1.5],
    ),
    one(
        "logarithm_of_the_other_half",
        logarithm_of_the_other_half,
        lambda x: jnp.log(x[: x.shape[0] // 2]) + jnp.abs(x[x.shape[0] // 2 :]),
        "2*n -> n",
        [1.0, 2.0, -1.5, -2.0],
    ),
    one(
        "logarithm_of_the_diagonal",
        of_the_diagonal,
        lambda x: jnp.log(jnp.diagonal(x)) + jnp.abs(x[0]),
        "n n -> n",
        [[1.0, -2.0], [1.5, 2.0]],
    ),
    one("beside_a_relu", beside_a_relu(lambda _, g: 0 * g), relu_beside, "n+1 -> n", [1.0, 2.0, 0.0]),
    one(
        "beside_a_relu_at_zero",
        beside_a_relu(lambda last, g: where(last == 0, 7 * g, 0 * g)),
        relu_beside,
        "n+1 -> n",
        [1.0, 2.0, 0.0],
    ),
    *(
        one(f"asked_again_{name}", asked_again(argument), cubic_of_first, "n, n -> n", E, [1.0, 0.0, -1.0])
        for name, argument in AGAIN.items()
    ),
    *(
        one(
            f"asked_again_linear_{name}",
            asked_again(argument, True),
            lambda x, y: x / 3,
            "n, n -> n",
            E,
            [1.0, 0.0, -1.0],
        )
        for name, argument in AGAIN.items()
    ),
    one("quotient", quotient, lambda x: x * 1.0, "n -> n", [0.0, 2.0]),
    one("times_its_argument", times_its_argument, lambda x: x * 1.0, "n -> n", [0.0, 2.0]),
    one("times_a_distance", times_a_distance, lambda x: x * 1.0, "n -> n", [3.0, 2.0]),
    one("times_a_size", times_a_size, lambda x: x * 1.0, "n -> n", [3.0, 2.0, 1.0, 5.0]),
    one("without_its_mean", without_its_mean, lambda x: x * 1.0, "n -> n", E),
    one("of_rank_one", of_rank_one, lambda x: x * 1.0, "n -> n", E),
    one("of_differences", of_differences, lambda x: x * 1.0, "n -> n", E),
    one("of_a_triangle", of_a_triangle, lambda x: x * 1.0, "n -> n", E),
    one("cubed_difference_and_more", cubed_difference_and_more, lambda x: x * 1.0, "n -> n", E),
    one("squared_modulus", squared_modulus, lambda x: x * 1.0, "n -> n", E),
    one("only_from_above", only_from_above, lambda x: x * 1.0, "n -> n", E),
    one("of_a_relu", of_a_relu, lambda x: x * 1.0, "n -> n", [-1.0, 2.0]),
    one("of_a_square", of_a_square, lambda x: x * 1.0, "n -> n", [0.0, 2.0]),
    one("of_a_cube", of_a_cube, lambda x: x * 1.0, "n -> n", [0.0, 2.0]),
    one("of_a_sine", of_a_sine, lambda x: x * 1.0, "n -> n", [3.0, 2.0]),
    one(
        "of_another_branch",
        of_another_branch,
        lambda x: jnp.pi - jnp.arcsin(x),
        "n -> n",
        [0.5],
        domain=("x > -1", "x < 1"),
    ),
    one("negative_root", negative_root, lambda x: -jnp.sqrt(x), "n -> n", [2.0], domain=("x > 0",)),
    one("root_by_modulus", root_by_modulus, lambda x: -jnp.sqrt(x), "n -> n", [2.0], domain=("x > 0",)),
    one("root_of_another", root_of_another, lambda x: 0 * jnp.sqrt(x), "n -> n", [2.0], domain=("x > 0",)),
    one("stopped_unknown", stopped_unknown, jnp.sqrt, "n -> n", [2.0], domain=("x > 0",)),
    one(
        "stopped_and_not",
        stopped_and_not,
        lambda x: jnp.sqrt(x) + jnp.sqrt(x) * lax.stop_gradient(jnp.sqrt(x)),
        "n -> n",
        [2.0],
        domain=("x > 0",),
    ),
    one("with_a_wrong_tangent", with_a_wrong_tangent, jnp.log, "n -> n", [2.0], domain=("x > 0",)),
    one("at_a_step", at_a_step, lambda x: where(x == 3, 2 * x, x), "n -> n", [3.0, 1.0]),
    one("at_a_step_of_the_unknown", at_a_step_of_the_unknown, lambda x: x * 1.0, "n -> n", [3.0, 1.0]),
    one("captured", captured, cubic_plain, "n, n -> n", [1.0, 2.0], [3.0, 1.0]),
    one("of_two_numbers", of_two_numbers(1.0, 2.0), _cubic, "n -> n", [3.0]),
    one("of_true_and_one", of_two_numbers(2, 1), lambda x: _cubic(2 * x), "n -> n", [3.0]),
    one(
        "mapped_over_the_other_axis",
        mapped_over_the_other_axis,
        jax.vmap(_triangle),
        "m n -> m n",
        [[1.0, 2.0], [3.0, 5.0]],
    ),
    one("not_transposed", not_transposed, _triangle, "n -> n", E),
    one("reversed_once", reversed_once, _triangle, "n -> n", E),
    one(
        "a_matrix_not_transposed",
        a_matrix_not_transposed,
        jnp.linalg.solve,
        "n n, n -> n",
        [[1.0, 2.0], [0.0, 1.0]],
        [1.0, 2.0],
    ),
    one("its_differentiated_program", its_differentiated_program, _cubic, "n -> n", E),
    one("differentiated_steps", differentiated_steps, _cubic, "n -> n", E),
]
