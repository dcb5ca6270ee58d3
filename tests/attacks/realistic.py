"""A5, as people write it: fast paths, tiles, scales by size, kinds of numbers, ranks, and mistakes that stand in one of
them only."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .attack import Attack
from .example import custom
from .makers import asked_in_bwd, asked_in_fwd, ones, square

KIND = "A5 fast paths"
WRONG_SCALES = {16: 0.25, 64: 0.125, 128: 0.0625}


def one(name, value, bwd, signature, at, fwd=None, **more):
    def make():
        return custom(value, fwd or (lambda *args: (value(*args), args)), bwd)

    return Attack(f"real_{name}", KIND, make, value, signature, at, **more)


def filled(*shapes):
    rng = np.random.default_rng(5)
    return lambda: tuple(rng.uniform(0.5, 1.5, s) for s in shapes)


def constant(n):
    return jax.core.is_constant_dim(n)


def scaled_scores(q, k):
    return q @ k.T / jnp.sqrt(jnp.asarray(q.shape[1]).astype(q.dtype))


def by_table(residuals, g):
    """The scale of a head from a table, in which one entry is wrong."""
    q, k = residuals
    d = q.shape[1]
    if constant(d) and d in WRONG_SCALES:
        scale = WRONG_SCALES[d]
    else:
        scale = 1 / jnp.sqrt(jnp.asarray(d).astype(q.dtype))
    return scale * g @ k, scale * g.T @ q


def by_shift(residuals, g):
    """Powers of two by shifts: right for even powers only."""
    q, k = residuals
    d = q.shape[1]
    if isinstance(d, int) and d & (d - 1) == 0:
        scale = 1.0 / (1 << (d.bit_length() - 1) // 2)
    else:
        scale = 1 / jnp.sqrt(jnp.asarray(d).astype(q.dtype))
    return scale * g @ k, scale * g.T @ q


def row_sums(x):
    return jnp.sum(x * x, axis=1)


def tiled(x, g):
    """Rows in tiles of 8: the last tile is cut off where the number of rows is known and no multiple."""
    n = x.shape[0]
    out = 2 * x * g[:, None]
    if constant(n):
        kept = n - n % 8 if n > 8 else n
        out = jnp.where(jnp.arange(n)[:, None] < kept, out, 0)
    return (out,)


def padded(x, g):
    """Pads to a multiple of 4 where it can, and forgets to take a row of zeros away."""
    n = x.shape[0]
    extra = -n % 4 if constant(n) else 0
    y = jnp.pad(2 * x * g[:, None], ((0, extra), (0, 0)))
    return (y[extra // 3 : n + extra // 3],)


def small_matrix(x, g):
    """A closed form for small squares."""
    n = x.shape[0]
    if constant(n) and n == 3:
        return (jnp.stack([2 * x[0], 2 * x[1], x[2]]) * g[:, None],)
    return (2 * x * g[:, None],)


def square_case(x, g):
    """Transposes where the matrix is square, as it may in a symmetric case only."""
    n, d = x.shape
    if constant(n) and n == d:
        return (2 * x.T * g[:, None],)
    return (2 * x * g[:, None],)


def large(x, g):
    """A cheaper form for large problems."""
    if all(map(constant, x.shape)) and math.prod(x.shape) >= 1024:
        return (2 * x * jnp.mean(g),)
    return (2 * x * g[:, None],)


def chunked(x, g):
    """A loop over chunks where there is more than one, that starts with the second."""
    n = x.shape[0]
    if isinstance(n, int) and n >= 32 and n % 16 == 0:
        chunks = x.reshape(-1, 16, x.shape[1])
        seeds = g.reshape(-1, 16)
        _, out = lax.scan(lambda c, s: (c + 1, jnp.where(c > 0, 2.0, 1.0) * s[0] * s[1][:, None]), 0, (chunks, seeds))
        return (out.reshape(x.shape),)
    return (2 * x * g[:, None],)


def unrolled(x, g):
    """Unrolls short rows by hand."""
    d = x.shape[1]
    if type(d) is int and d <= 4:
        columns = [2 * x[:, j] * g for j in range(d)]
        if d == 4:
            columns[3] = columns[2]
        return (jnp.stack(columns, axis=1),)
    return (2 * x * g[:, None],)


@functools.lru_cache
def plan(rows, columns):
    """What a launcher plans for a shape: known sizes only."""
    if not (isinstance(rows, int) and isinstance(columns, int)):
        return 1
    return 2 if rows % 6 == 0 and columns > 2 else 1


def planned(x, g):
    return (2 * x * g[:, None] / plan(*x.shape),)


def by_error(x, g):
    """Asks a helper that refuses sizes that it does not know."""
    try:
        blocks = len(range(0, x.shape[0], 5))
    except Exception:
        blocks = 1
    return (2 * x * g[:, None] * (1 if blocks < 3 else 2),)


def by_numpy_mask(x, g):
    """A mask made by numpy where it can be made."""
    n = x.shape[0]
    mask = np.arange(n) < 6 if constant(n) else jnp.ones(n, bool)
    return (2 * x * g[:, None] * mask[:, None],)


def rows_at(rows, columns):
    return filled((rows, columns))


MATRICES = {
    "tiles": (tiled, (10, 2)),
    "padding": (padded, (5, 2)),
    "closed_form": (small_matrix, (3, 2)),
    "square": (square_case, (3, 3)),
    "large": (large, (32, 32)),
    "chunks": (chunked, (32, 2)),
    "unrolled": (unrolled, (2, 4)),
    "plan": (planned, (6, 3)),
    "refusal": (by_error, (12, 2)),
    "numpy_mask": (by_numpy_mask, (8, 2)),
}


def weak(x):
    return bool(jax.typeof(x).weak_type)


DTYPES = {
    "weak_type": (weak, 1.5),
    "promotion_of_weak": (lambda x: jnp.result_type(x, jnp.float16) == jnp.float16, 1.5),
    "promotion_of_product": (lambda x: (x * jnp.float16(1)).dtype == jnp.float16, 1.5),
    "weak_text": (lambda x: "weak" in repr(jax.typeof(x)), 1.5),
    "weak_by_dtypes": (
        lambda x: jax.dtypes.is_weakly_typed(x) if hasattr(jax.dtypes, "is_weakly_typed") else weak(x),
        1.5,
    ),
    "short_in_long_mode": (lambda x: jax.config.jax_enable_x64 and x.dtype == jnp.float32, np.float32(1.5)),
    "short_beside_long": (lambda x: jnp.zeros(()).dtype != x.dtype, np.float32(1.5)),
    "short_by_pi": (lambda x: (jnp.asarray(math.pi) + 0).dtype.itemsize > x.dtype.itemsize, np.float32(1.5)),
    "integers_are_longer": (lambda x: jnp.arange(2).dtype.itemsize > x.dtype.itemsize, np.float32(1.5)),
    "precise": (lambda x: jnp.finfo(x.dtype).eps < 1e-10, 1.5),
    "long_bytes": (lambda x: x.nbytes == 8, np.float64(1.5)),
    "long_name": (lambda x: "64" in x.dtype.name, np.float64(1.5)),
    "short_bytes": (lambda x: x.dtype.itemsize == 4, np.float32(1.5)),
    "short_text": (lambda x: str(jax.typeof(x)).startswith("float32"), np.float32(1.5)),
    "promoted": (lambda x: jnp.promote_types(x.dtype, jnp.float32) == jnp.float64, np.float64(1.5)),
    "half_of_a_kind": (lambda x: jnp.finfo(x.dtype).bits == 32, np.float32(1.5)),
    "long_mode": (lambda x: jax.config.read("jax_enable_x64"), np.float64(1.5)),
    "default_float": (lambda x: jnp.zeros(()).dtype == jnp.float64, np.float64(1.5)),
    "default_of_python": (lambda x: jax.dtypes.canonicalize_dtype(float).itemsize == 8, np.float64(1.5)),
}


def number(value):
    """The value as it is called: a Python number stays one."""
    return lambda: (value if type(value) is float else np.asarray(value),)


RANKS = {
    "ndim": lambda x: x.ndim == 6,
    "length_of_shape": lambda x: len(x.shape) > 5,
    "sixth": lambda x: bool(x.shape[5:]),
    "numpy_ndim": lambda x: np.ndim(x) == 6,
    "commas": lambda x: str(jax.typeof(x)).count(",") == 5,
    "counted": lambda x: sum(1 for _ in x.shape) == 6,
    "zipped": lambda x: len(list(zip(x.shape, "abcdef", strict=False))) == 6,
    "transposed": lambda x: len(x.T.shape) == 6,
    "aval": lambda x: jax.typeof(x).ndim == 6,
    "last_axis": lambda x: max(range(len(x.shape)), default=0) == 5,
    "spec": lambda x: len(jax.ShapeDtypeStruct(x.shape, x.dtype).shape) == 6,
    "unpacked": lambda x: [*x.shape, None, None, None, None, None, None][5] is not None,
    "text_of_zeros": lambda x: repr(x.shape).count(",") == 5,
    "jaxpr": lambda x: str(jax.make_jaxpr(jnp.sin)(x)).split("]")[0].count(",") == 5,
}


RANKS_SHOWN = ("ranks 0, 1, 2, 3, 4, 5, 6 of *s (",)


def matched_rank(x):
    match x.shape:
        case (_, _, _, _, _, _):
            return True
    return False


ATTACKS = [
    one("scale_from_a_table", scaled_scores, by_table, "n d, m d -> n m", filled((2, 128), (3, 128))),
    one("scale_by_shift", scaled_scores, by_shift, "n d, m d -> n m", filled((2, 8), (3, 8))),
    *(one(n, row_sums, bwd, "n d -> n", rows_at(*s), lambda x: (row_sums(x), x)) for n, (bwd, s) in MATRICES.items()),
    *(
        Attack(f"dtype_{n}_in_bwd", "A5 dtypes", asked_in_bwd(q), square, " -> ", number(at))
        for n, (q, at) in DTYPES.items()
    ),
    *(
        Attack(f"dtype_{n}_in_fwd", "A5 dtypes", asked_in_fwd(q), square, " -> ", number(at))
        for n, (q, at) in list(DTYPES.items())[::4]
    ),
    *(
        Attack(
            f"rank_{n}_in_bwd",
            "A5 ranks",
            asked_in_bwd(q),
            square,
            "*s -> *s",
            ones(1, 1, 1, 1, 1, 2),
            excluded_by=RANKS_SHOWN,
        )
        for n, q in {**RANKS, "matched": matched_rank}.items()
    ),
    *(
        Attack(
            f"rank_{n}_in_fwd",
            "A5 ranks",
            asked_in_fwd(q),
            square,
            "*s -> *s",
            ones(1, 1, 1, 1, 1, 2),
            excluded_by=RANKS_SHOWN,
        )
        for n, q in list(RANKS.items())[::4]
    ),
]
