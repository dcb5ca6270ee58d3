"""What only has the name of something known, and conventions of solvers and factors for matrices that are not
symmetric, not triangular, not positive."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import jax.scipy.linalg as sl
import numpy as np
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from .attack import Attack
from .makers import saved

KIND = "B names and conventions"


def primitive(name, function, inline=True):
    """A primitive of the user's that has the name of one of JAX's, and computes something else."""
    made = Primitive(name)
    made.def_abstract_eval(lambda *avals, **_: jax.core.ShapedArray(avals[0].shape, avals[0].dtype))
    if inline:
        made.def_impl(jax.jit(function))
        mlir.register_lowering(made, mlir.lower_fun(function, multiple_results=False))
    else:

        def called(*args):
            shape = jax.ShapeDtypeStruct(args[0].shape, args[0].dtype)
            return jax.pure_callback(lambda *a: np.asarray(function(*a), a[0].dtype), shape, *args)

        made.def_impl(jax.jit(called))
        mlir.register_lowering(made, mlir.lower_fun(called, multiple_results=False))
    batching.primitive_batchers[made] = lambda args, dims, **p: (made.bind(*args, **p), dims[0])
    return made


def named(function, name):
    """A function under `jit` that is called like one of JAX's own."""
    function.__name__ = function.__qualname__ = name
    return jax.jit(function)


def one(name, value, bwd, signature, *at, plain=None, **more):
    return Attack(f"named_{name}", KIND, saved(value, bwd), plain or value, signature, lambda: at, **more)


def by(name, value, twin, signature, *at, **more):
    def bwd(args, g):
        return jax.vjp(twin, *(args if isinstance(args, tuple) else (args,)))[1](g)

    return one(name, value, bwd, signature, *at, **more)


def unary(name, right, wrong, known, inline=True):
    """A function whose derivative is `right`; the rule multiplies by the user's primitive that computes `wrong`."""
    made = primitive(known, wrong, inline)
    return one(name, right[0], lambda x, g: (g * made.bind(x),), "n -> n", np.array([1.25, 2.5]))


def call_of(name, value, slope, known):
    """The same with a function under `jit`."""
    return one(name, value, lambda x, g: (g * named(lambda x: slope(x), known)(x),), "n -> n", X2)


X2 = np.array([1.0, 2.0])
SKEW = np.array([[2.0, 1.0], [-0.5, 3.0]])
POS = np.array([[2.0, 0.5], [0.25, 1.5]])
B2 = np.array([1.0, -1.0])
MV = "n n, n -> n"

exp, sin, square = (jnp.exp, jnp.exp), (jnp.sin, jnp.cos), (jnp.square, lambda x: 2 * x)
times = primitive("mul", lambda x, y: x + y - 2)
keeps = primitive("stop_gradient", lambda x: x * x)
barrier = primitive("optimization_barrier", lambda x: jnp.abs(x) + 1)
dot = primitive("dot_general", lambda x, y: x * y[::-1])
sums = primitive("add_any", lambda x, y: x * y)
select = primitive("select_n", lambda p, x, y: jnp.where(p > 0, x, y))
less = primitive("lt", lambda x, y: (x <= y) * 1.0)


def tridiagonal(dl, d, du, b):
    return lax.linalg.tridiagonal_solve(dl, d, du, b[:, None])[:, 0]


def tridiagonal_back(args, g):
    """The transposed system, and gradients of the entries that nothing reads."""
    dl, d, du, b = args
    x = tridiagonal(dl, d, du, b)
    up, down = jnp.roll(dl, -1), jnp.roll(du, 1)
    w = tridiagonal(down, d, up, g)
    return -w * jnp.roll(x, 1), -w * x, -w * jnp.roll(x, -1), w


def factors(a):
    return sl.lu_factor(a)


ATTACKS = [
    unary("exponential", exp, jnp.cos, "exp"),
    unary("cosine", sin, jnp.exp, "cos"),
    unary("exponential_of_the_host", exp, lambda x: np.exp(x) + 1e-3, "exp", inline=False),
    unary("hyperbolic", (jnp.sinh, jnp.cosh), jnp.sinh, "cosh"),
    unary("square", (lambda x: x**3 / 3, jnp.square), lambda x: x**2 + x - 1, "square"),
    unary("integer_power", (lambda x: x**3 / 3, jnp.square), lambda x: 2 * x, "integer_pow"),
    unary("sign", (jnp.abs, jnp.sign), lambda x: x, "sign"),
    unary("copy", (lambda x: x * x / 2, lambda x: x), lambda x: x * x, "copy"),
    unary("convert", (lambda x: x * x / 2, lambda x: x), lambda x: x * x, "convert_element_type"),
    unary("reduce_precision", (lambda x: x * x / 2, lambda x: x), lambda x: jnp.round(x + 0.4), "reduce_precision"),
    one("product", jnp.square, lambda x, g: (times.bind(2 * x, g),), "n -> n", X2),
    one("stop", lambda x: x * x / 2, lambda x, g: (g * keeps.bind(x),), "n -> n", X2),
    one("barrier", lambda x: x * x / 2, lambda x, g: (g * barrier.bind(x),), "n -> n", X2),
    one("sum", jnp.square, lambda x, g: (sums.bind(x * g, x * g),), "n -> n", X2),
    one("dot", lambda x, y: x * y, lambda s, g: (dot.bind(g, s[1]), g * s[0]), "n, n -> n", X2, X2 + 1),
    one(
        "selection",
        lambda x: jnp.where(x > 1.5, x * x, x),
        lambda x, g: (g * select.bind(1.5 - x, jnp.ones_like(x), 2 * x + (x > 1.9)),),
        "n -> n",
        np.array([0.5, 2.0]),
    ),
    one("less", lambda x: x * x, lambda x, g: (2 * x * g * (1 + less.bind(x, jnp.ones_like(x))),), "n -> n", X2),
    call_of("call_of_softplus", jax.nn.softplus, jnp.tanh, "sigmoid"),
    call_of("call_of_normal", lambda x: x * x, lambda x: 2 * x + 1, "_normal"),
    call_of("call_of_uniform", lambda x: x * x, lambda x: 2 * jnp.abs(x - 1), "_uniform"),
    call_of("call_of_logsumexp", jnp.exp, lambda x: jnp.exp(x) * (x < 1.5), "exp"),
    call_of("call_of_log_ndtr", lambda x: jax.scipy.special.log_ndtr(x), lambda x: 1 / (1 + x * x), "log_ndtr"),
    by(
        "call_of_where",
        lambda x: jnp.where(x > 1.5, x * x, x),
        lambda x: named(lambda c, a, b: lax.select(c, b, a), "_where")(x > 1.5, x * x, x),
        "n -> n",
        X2,
    ),
    by(
        "call_of_clip",
        lambda x: jnp.clip(x, 0, 1.5),
        lambda x: named(lambda x, a, b: jnp.minimum(x, b + 1), "clip")(x, 0.0, 1.5),
        "n -> n",
        X2,
    ),
    by(
        "call_of_cumsum",
        lambda x: jnp.cumsum(x) ** 2,
        lambda x: named(lambda x: jnp.cumsum(x[::-1]) ** 2, "cumsum")(x),
        "n -> n",
        X2,
    ),
    # ---------------------------------------------------------------------------------- solvers and factors
    by("solve_as_positive", lambda a, b: sl.solve(a, b, assume_a="pos"), lambda a, b: sl.solve(a, b), MV, POS, B2),
    by(
        "solve_as_positive_from_below",
        lambda a, b: sl.solve(a, b, assume_a="pos", lower=True),
        lambda a, b: sl.solve(a, b, assume_a="pos", lower=False),
        MV,
        POS,
        B2,
    ),
    by("solve_for_positive", lambda a, b: sl.solve(a, b), lambda a, b: sl.solve(a, b, assume_a="pos"), MV, POS, B2),
    by(
        "triangle_of_a_full_matrix",
        lambda a, b: sl.solve_triangular(a, b, lower=True),
        lambda a, b: jnp.linalg.solve(a, b),
        MV,
        SKEW,
        B2,
    ),
    by(
        "triangle_transposed",
        lambda a, b: sl.solve_triangular(a, b, lower=True, trans=1),
        lambda a, b: sl.solve_triangular(a.T, b, lower=True),
        MV,
        SKEW,
        B2,
    ),
    by(
        "triangle_from_above",
        lambda a, b: sl.solve_triangular(a, b),
        lambda a, b: sl.solve_triangular(a.T, b, lower=True),
        MV,
        SKEW,
        B2,
    ),
    by(
        "factors_of_another",
        lambda a, b: sl.lu_solve(factors(a), b),
        lambda a, b: sl.lu_solve(factors(a.T), b),
        MV,
        SKEW,
        B2,
    ),
    by(
        "factors_without_pivots",
        lambda a, b: sl.lu_solve(factors(a), b),
        lambda a, b: sl.lu_solve((factors(a)[0], jnp.arange(a.shape[0], dtype=jnp.int32)), b),
        MV,
        SKEW[::-1].copy() * np.array([[1, 1], [4, 1]]),
        B2,
    ),
    by(
        "factors_transposed",
        lambda a, b: sl.lu_solve(factors(a), b, trans=1),
        lambda a, b: sl.lu_solve(factors(a), b),
        MV,
        SKEW,
        B2,
    ),
    by(
        "cholesky_solve_of_the_other_triangle",
        lambda a, b: sl.cho_solve((jnp.linalg.cholesky(a), True), b),
        lambda a, b: sl.cho_solve((jnp.linalg.cholesky(a), False), b),
        MV,
        POS,
        B2,
    ),
    by(
        "cholesky_from_above",
        lambda a: sl.cholesky(a, lower=False),
        lambda a: sl.cholesky(a, lower=True),
        "n n -> n n",
        POS,
    ),
    by(
        "cholesky_factor_with_the_rest",
        lambda a, b: sl.cho_solve(sl.cho_factor(a, lower=True), b),
        lambda a, b: jnp.linalg.solve(a, b),
        MV,
        POS,
        B2,
    ),
    by(
        "eigenvalues_from_above",
        lambda a: jnp.linalg.eigvalsh(a, UPLO="U"),
        lambda a: 2 * jnp.linalg.eigvalsh(a) - jnp.linalg.eigvalsh(jnp.tril(a) + jnp.tril(a, -1).T),
        "n n -> n",
        POS,
    ),
    one(
        "tridiagonal_corners",
        tridiagonal,
        tridiagonal_back,
        "n+1, n+1, n+1, n+1 -> n+1",
        np.array([0.5, 1.0, 1]),
        np.array([4.0, 5.0, 6.0]),
        np.array([1.0, 0.5, 0.25]),
        np.array([1.0, 2.0, 3.0]),
    ),
    by(
        "tridiagonal_exchanged",
        tridiagonal,
        lambda dl, d, du, b: tridiagonal(jnp.roll(du, 1), d, jnp.roll(dl, -1), b),
        "n+1, n+1, n+1, n+1 -> n+1",
        np.array([0.0, 1.0, 1]),
        np.array([4.0, 5.0, 6.0]),
        np.array([1.0, 0.5, 0.0]),
        np.array([1.0, 2.0, 3.0]),
    ),
    by(
        "linear_solve_of_the_transposed",
        lambda a, b: lax.custom_linear_solve(
            lambda v: a @ v, b, lambda mv, r: jnp.linalg.solve(a, r), lambda mv, r: jnp.linalg.solve(a.T, r)
        ),
        lambda a, b: lax.custom_linear_solve(
            lambda v: a.T @ v, b, lambda mv, r: jnp.linalg.solve(a, r), lambda mv, r: jnp.linalg.solve(a.T, r)
        ),
        MV,
        SKEW,
        B2,
    ),
    by(
        "linear_solve_that_does_not_solve",
        lambda a, b: jnp.linalg.solve(a, b),
        lambda a, b: lax.custom_linear_solve(
            lambda v: a @ v, b, lambda mv, r: r / jnp.diag(a), lambda mv, r: r / jnp.diag(a)
        ),
        MV,
        SKEW,
        B2,
    ),
    by(
        "block_of_a_solution",
        lambda a, b: jnp.linalg.solve(a, b)[:-1],
        lambda a, b: jnp.linalg.solve(a[:-1, :-1], b[:-1]),
        "n+1 n+1, n+1 -> n",
        SKEW,
        B2,
    ),
    by("exponential_of_a_sum", lambda a: sl.expm(a + a.T), lambda a: sl.expm(a) @ sl.expm(a.T), "n n -> n n", SKEW / 4),
    by(
        "clamped_the_wrong_way",
        lambda x, lo, hi: lax.clamp(lo, x, hi),
        lambda x, lo, hi: jnp.maximum(lo, jnp.minimum(x, hi)),
        "n, n, n -> n",
        X2,
        np.array([3.0, 3.0]),
        np.array([0.5, 0.25]),
    ),
]
for made in (times, keeps, barrier, dot, sums, select, less):
    ad.primitive_jvps[made] = partial(lambda made, primals, tangents: (made.bind(*primals), jnp.nan * primals[0]), made)
