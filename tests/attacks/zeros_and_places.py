"""Zeros with a sign, places that jump, integers that a narrow type does not hold, and what symbols remember."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import sympy
from jax import lax
from sympy.core import random as drawn_by_sympy

from .attack import Attack
from .makers import LATE, asked_in_bwd, square
from .written import pulled, reverse

ZEROS, PLACES, WIDTHS = "E signed zeros", "E places that jump", "E large integers"
SYMBOLS, LATER = "E symbols", "E state of symbols, late"
X3 = np.array([1.0, 2.0, 1.5])


def i32(*v):
    return np.array(v, dtype=np.int32)


# --- the angle of (−1, 0) is π, and that of (−1, −0) is −π


def turned(name, zero, at=(-1.0, 2.0), angle=jnp.arctan2, **more):
    """x², whose rule multiplies by the angle of −1 + i·zero(x), in halves of a turn."""

    def factor(x):
        return angle(zero(x), -jnp.ones_like(x)) / jnp.arctan2(0.0, -1.0)

    return pulled(f"zeros_{name}", ZEROS, square, lambda x, g: 2 * x * g * factor(x), "n -> n", at, **more)


def by_logarithm(y, x):
    return jnp.log(lax.complex(x, y)).imag


def by_angle(y, x):
    return jnp.angle(lax.complex(x, y))


# --- a term in two pieces, each of which a place among integers chooses


def curve(x, y):
    return x**2 + x * y**2 - 2 * y**2


def slopes(x, y):
    return 2 * x + y**2, 2 * x * y - 4 * y


def positive(u):
    return (u > 0).astype(int)


def jumping(name, side):
    """u(x, y), which is 0 at (1, 1), as u·side(u) + u·side(−u)."""

    def pieces(x, y):
        u = curve(x, y)
        return side(u) + side(-u)

    def make():
        return reverse(
            lambda x, y: curve(x, y) * pieces(x, y), lambda x, y, g: tuple(g * pieces(x, y) * d for d in slopes(x, y))
        )

    at = np.array([1.0, 1.0, -2.0]), np.array([1.0, 2.0, 3.0])
    return Attack(f"jumping_{name}", PLACES, make, curve, "n, n -> n", lambda: at)


def two(u):
    return jnp.stack([0 * positive(u), positive(u)])


def each(function):
    return lambda u: jax.vmap(function)(u)


def counted(u):
    return lax.while_loop(lambda s: s < jnp.argmax(jnp.stack([0 * positive(u), positive(u)])), lambda s: s + 1, 0)


# --- integers


def wide(name, factor, at):
    """x², whose rule multiplies by what is 1 for integers that fit."""
    return pulled(
        f"wide_{name}",
        WIDTHS,
        lambda x, k: x * x,
        lambda x, k, g: (2 * x * g * factor(k, x), None),
        "n, n:int -> n",
        [1.0, 2.0],
        at,
        excluded_by=("and below 2^",),
    )


def through(dtype):
    return lambda k, x: 1 + k - k.astype(dtype).astype(jnp.int32)


# --- symbols


def of_symbols(name, question, kind=SYMBOLS, excluded_by=()):
    return Attack(
        f"symbols_{name}", kind, asked_in_bwd(question), square, "n -> n", lambda: (X3,), excluded_by=excluded_by
    )


def remembered(name, make_question):
    return Attack(f"symbols_{name}", LATER, lambda: asked_in_bwd(make_question())(), square, "n -> n", lambda: (X3,))


def numbered_dummies():
    first = sympy.Dummy("u").dummy_index
    return lambda x: sympy.Dummy("u").dummy_index - first > LATE


def draws():
    drawn_by_sympy.seed(3)
    first = [drawn_by_sympy.random() for _ in range(LATE + 1)][-1]
    drawn_by_sympy.seed(3)
    return lambda x: drawn_by_sympy.random() == first


def digits():
    mpmath.mp.dps = 15

    def question(x):
        mpmath.mp.dps += 1
        return mpmath.mp.dps > LATE + 15

    return question


def digits_of_a_context():
    context = mpmath.MPContext()

    def question(x):
        context.prec += 1
        return context.prec > LATE + 53

    return question


def attribute_of_a_class():
    function = sympy.Function("counted")
    function.calls = 0

    def question(x):
        function.calls += 1
        return function.calls > LATE

    return question


def numbered_symbols():
    symbols = sympy.numbered_symbols("u")
    return lambda x: int(next(symbols).name[1:]) > LATE


def refused(x):
    try:
        sympy.sympify(x, strict=True)
    except Exception as error:
        return "Tracer" not in str(error) and not isinstance(x, jax.core.Tracer)
    return True


def as_a_matrix(x):
    try:
        return sympy.Matrix(x).shape[0] == 3
    except Exception:
        return False


ATTACKS = [
    turned("product", lambda x: 0 * x),
    turned("product_of_arrays", lambda x: x * jnp.zeros_like(x)),
    turned("cut_off", lambda x: -jnp.maximum(x, 0) * 0),
    turned("nothing_is_left", lambda x: -(x - x)),
    turned("logarithm", lambda x: 0 * x, angle=by_logarithm),
    turned("angle", lambda x: 0 * x, angle=by_angle),
    turned("clipped", lambda x: jnp.clip(x, 0, 0) * x),
    turned("rounded", lambda x: jnp.round(x / 16)),
    turned("truncated", lambda x: jnp.trunc(x / 16), domain=("x > -2", "x < 3")),
    turned("ceiled", jnp.ceil, at=(-0.5, -0.25), domain=("x > -0.9", "x < -0.1")),
    turned("remainder", lambda x: lax.rem(jnp.round(x), jnp.ones_like(x))),
    turned("root", lambda x: jnp.sqrt(0 * x)),
    turned("sum", lambda x: 0 * x + (-0.0)),
    turned("negated", lambda x: -jnp.zeros_like(x)),
    # ---------------------------------------------------------------------------------------------
    jumping("greatest", lambda u: lax.top_k(two(u).T, 1)[1][:, 0]),
    jumping("greatest_of_three", lambda u: lax.top_k(jnp.concatenate([two(u), 0 * two(u)[:1]]).T, 1)[1][:, 0]),
    jumping("last_in_order", lambda u: 1 - jnp.argsort(jnp.stack([0 * u, positive(u)]).astype(int)[::-1], axis=0)[1]),
    jumping("first_of_two", lambda u: jnp.argmax(two(u), axis=0)),
    jumping("steps", each(counted)),
    jumping("branch", each(lambda u: lax.switch(jnp.argmax(two(u)), [lambda: 0, lambda: 1]))),
    jumping("half_of_twice", lambda u: (2 * positive(u)) // 2),
    jumping("rounded_step", lambda u: jnp.floor(0.5 + jnp.where(u > 0, 1.0, 0.0)).astype(int)),
    jumping("entry", lambda u: jnp.arange(2)[positive(u)]),
    # ---------------------------------------------------------------------------------------------
    wide("float32", through(jnp.float32), i32(2**24 + 1, 1)),
    wide("float16", through(jnp.float16), i32(2049, 1)),
    wide("bfloat16", through(jnp.bfloat16), i32(257, 1)),
    wide("int8", through(jnp.int8), i32(200, 1)),
    wide("parity", lambda k, x: 1 + ((k.astype(jnp.float32) % 2).astype(jnp.int32) - k % 2), i32(2**24 + 1, 1)),
    wide("half", lambda k, x: 1 + (k // 2 - jnp.floor(k.astype(jnp.float32) / 2).astype(jnp.int32)), i32(2**24 + 3, 1)),
    wide("uint32", lambda k, x: 1 + k.astype(jnp.uint32).astype(x.dtype) - k, i32(-1, 1)),
    wide("uint8", lambda k, x: jnp.where(k.astype(jnp.uint8) == k, 1.0, 2.0), i32(-1, 1)),
    wide("mean", lambda k, x: 1 + jnp.mean(k - k.astype(jnp.float32).astype(jnp.int32)), i32(2**24 + 1, 1)),
    wide("sum", lambda k, x: 1 + (jnp.sum(k) - jnp.sum(k.astype(jnp.float32)).astype(jnp.int32)), i32(2**24 + 1, 2)),
    # ---------------------------------------------------------------------------------------------
    remembered("dummies", numbered_dummies),
    remembered("draws", draws),
    remembered("digits", digits),
    remembered("digits_of_a_context", digits_of_a_context),
    remembered("attribute_of_a_class", attribute_of_a_class),
    remembered("numbered", numbered_symbols),
    of_symbols(
        "prime_size",
        lambda x: isinstance(x.shape[0], int) and x.shape[0] >= 3 and bool(sympy.isprime(x.shape[0])),
    ),
    of_symbols("size_as_text", lambda x: sympy.sympify(str(x.shape[0])) == 3),
    of_symbols("size_as_digits", lambda x: str(x.shape[0]).isdigit() and sympy.Integer(x.shape[0]) == 3),
    of_symbols("lambdified", lambda x: sympy.lambdify("n", "n == 3")(x.shape[0])),
    of_symbols(
        "of_a_value",
        lambda x: not isinstance(x, jax.core.Tracer) and bool(sympy.sympify(float(x[0])) > 0),
    ),
    of_symbols("refused", refused),
    of_symbols("matrix", as_a_matrix),
]
