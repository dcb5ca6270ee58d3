"""Indices that are not affine: part 2 of the issue."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.pairs.form import Pairs, reals, vjp, vjps

PAIRS = pairs = Pairs()

GROUPS = "reshapes and groups with sizes that divide"


@pairs(GROUPS, "n c -> n c", reals((2, 6)), static={"groups": 2})
def group_norm():
    """Each group of channels is centred and scaled; c = groups·k is listed."""

    def f(x, groups):
        y = x.reshape(x.shape[0], groups, -1)
        m = jnp.mean(y, -1, keepdims=True)
        v = jnp.mean((y - m) ** 2, -1, keepdims=True)
        return ((y - m) / jnp.sqrt(v + 1e-5)).reshape(x.shape)

    def fwd(x, groups):
        return f(x, groups), x

    def back(centres):
        def bwd(groups, x, g):
            y, h = (a.reshape(x.shape[0], groups, -1) for a in (x, g))
            m = jnp.mean(y, -1, keepdims=True)
            r = 1 / jnp.sqrt(jnp.mean((y - m) ** 2, -1, keepdims=True) + 1e-5)
            z = (y - m) * r
            d = h - z * jnp.mean(h * z, -1, keepdims=True)
            if centres:
                d = d - jnp.mean(h, -1, keepdims=True)
            return ((r * d).reshape(x.shape),)

        return bwd

    rules = []
    for bwd in (back(True), back(False)):
        rule = jax.custom_vjp(f, nondiff_argnums=(1,))
        rule.defvjp(fwd, bwd)
        rules.append(rule)
    return tuple(rules)


@pairs(GROUPS, "n c -> n", reals((3, 8)), static={"k": 4})
def maxout():
    """The sum over groups of k neighbours of each group's maximum; the rule repeats, and the wrong one tiles."""

    def f(x, k):
        return jnp.sum(jnp.max(x.reshape(x.shape[0], -1, k), axis=-1), -1)

    def fwd(x, k):
        return f(x, k), x

    def back(spread):
        def bwd(k, x, g):
            m = jnp.max(x.reshape(x.shape[0], -1, k), axis=-1)
            return (jnp.where(x == spread(m, k), g[:, None], 0.0),)

        return bwd

    rules = []
    for bwd in (back(lambda m, k: jnp.repeat(m, k, axis=1)), back(lambda m, k: jnp.tile(m, (1, k)))):
        rule = jax.custom_vjp(f, nondiff_argnums=(1,))
        rule.defvjp(fwd, bwd)
        rules.append(rule)
    return tuple(rules)


@pairs(GROUPS, "b t h, b t g -> b t h", reals((2, 3, 4), (2, 3, 2)))
def grouped_query_scale():
    """Each of g heads serves h/g of the h query heads."""

    def f(q, k):
        return q * jnp.repeat(k, q.shape[2] // k.shape[2], axis=2)

    def right(saved, g):
        q, k = saved
        b, t, h = q.shape
        rep = h // k.shape[2]
        return g * jnp.repeat(k, rep, axis=2), jnp.sum((g * q).reshape(b, t, k.shape[2], rep), -1)

    def wrong(saved, g):
        q, k = saved
        b, t, h = q.shape
        rep = h // k.shape[2]
        return g * jnp.repeat(k, rep, axis=2), jnp.sum((g * q).reshape(b, t, rep, k.shape[2]), -2)

    return vjps(f, lambda q, k: (f(q, k), (q, k)), right, wrong)


@pairs(GROUPS, "b h w c", reals((1, 4, 6, 2)))
def space_to_depth():
    """Blocks of 2×2 pixels become channels, squared; the wrong rule forgets a transposition."""

    def f(x):
        b, h, w, c = x.shape
        y = x.reshape(b, h // 2, 2, w // 2, 2, c).transpose(0, 1, 3, 2, 4, 5)
        return (y**2).reshape(b, h // 2, w // 2, 4 * c)

    def back(order):
        def bwd(x, g):
            b, h, w, c = x.shape
            d = g.reshape(b, h // 2, w // 2, 2, 2, c).transpose(*order).reshape(x.shape)
            return (2 * x * d,)

        return bwd

    return vjps(f, lambda x: (f(x), x), back((0, 1, 3, 2, 4, 5)), back((0, 1, 4, 2, 3, 5)))


DIVISION = "floor division and remainder of indices"


@pairs(DIVISION, "m, k", lambda r: (r.normal(size=3), r.normal(size=4)))
def outer_flat_by_division():
    """The outer product laid flat by i // k and i % k."""

    def f(a, b):
        i = jnp.arange(a.shape[0] * b.shape[0])
        return a[i // b.shape[0]] * b[i % b.shape[0]]

    def right(saved, g):
        a, b = saved
        g = g.reshape(a.shape[0], b.shape[0])
        return g @ b, a @ g

    def wrong(saved, g):
        a, b = saved
        g = g.reshape(b.shape[0], a.shape[0])
        return b @ g, g @ a

    return vjps(f, lambda a, b: (f(a, b), (a, b)), right, wrong)


@pairs(DIVISION, "n -> n", reals((7,)))
def even_odd_signs():
    """Signs by the remainder of the place."""

    def f(x):
        i = jnp.arange(x.shape[0])
        return jnp.where(i % 2 == 0, x, -x) ** 3

    def right(x, g):
        i = jnp.arange(x.shape[0])
        return (3 * x**2 * g * (1 - 2 * (i % 2)),)

    def wrong(x, g):
        i = jnp.arange(x.shape[0])
        return (3 * x**2 * g * (1 - 2 * (i // 2 % 2)),)

    return vjps(f, lambda x: (f(x), x), right, wrong)


@pairs(DIVISION, "n 6 -> n 6", reals((3, 6)))
def rotary_by_remainder():
    """Rotary embedding, neighbours paired by their place's remainder."""

    def angles(x):
        t = jnp.arange(x.shape[0])[:, None]
        return t * jnp.exp(-(jnp.arange(x.shape[1]) // 2) / 7.0)

    def turned(x):
        even = jnp.arange(x.shape[1]) % 2 == 0
        return jnp.where(even, -jnp.roll(x, -1, 1), jnp.roll(x, 1, 1))

    def f(x):
        a = angles(x)
        return x * jnp.cos(a) + turned(x) * jnp.sin(a)

    def right(x, g):
        a = angles(x)
        return (g * jnp.cos(a) - turned(g) * jnp.sin(a),)

    def wrong(x, g):
        a = angles(x)
        return (g * jnp.cos(a) + turned(g) * jnp.sin(a),)

    right_, wrong_ = vjps(f, lambda x: (f(x), x), right, wrong)
    return right_, wrong_


SORTED = "a gather at a gathered or sorted place"


@pairs(SORTED + " (permutations undone)", "n -> n", reals((6,)))
def sort_by_argsort():
    """The sorted array; the cotangent goes back by the inverse permutation, or wrongly by the permutation."""

    def f(x):
        return jnp.sort(x)

    def fwd(x):
        p = jnp.argsort(x)
        return x[p], p

    return vjps(f, fwd, lambda p, g: (g[jnp.argsort(p)],), lambda p, g: (g[p],))


@pairs(SORTED + " (permutations undone)", "n d, n:int -> n d", lambda r: (r.normal(size=(5, 3)), r.permutation(5)))
def shuffled_and_back():
    """Rows put in the order of keys, squashed, and put back: elementwise in all."""

    def f(x, keys):
        p = jnp.argsort(keys)
        return jnp.tanh(x[p])[jnp.argsort(p)]

    def fwd(x, keys):
        y = jnp.tanh(x)
        return y, (y, keys)

    def right(saved, g):
        y, _ = saved
        return g * (1 - y * y), None

    def wrong(saved, g):
        y, keys = saved
        return g * (1 - y * y)[jnp.argsort(keys)], None

    return vjps(f, fwd, right, wrong)


@pairs(SORTED + " (permutations undone)", "n -> n", reals((6,)))
def ranks_weighted_sum():
    """L-statistics: the sorted entries times their place."""

    def f(x):
        return jnp.sort(x) * (jnp.arange(x.shape[0]) + 1.0)

    def fwd(x):
        p = jnp.argsort(x)
        return f(x), p

    def right(p, g):
        w = g * (jnp.arange(p.shape[0]) + 1.0)
        return (jnp.zeros_like(g).at[p].set(w),)

    def wrong(p, g):
        w = g * (jnp.arange(p.shape[0]) + 1.0)
        return (w[p],)

    return vjps(f, fwd, right, wrong)


def simplex(x):
    u = jnp.sort(x)[::-1]
    css = jnp.cumsum(u) - 1
    i = jnp.arange(1, x.shape[0] + 1)
    rho = jnp.sum(u - css / i > 0)
    return jnp.maximum(x - css[rho - 1] / rho, 0)


@pairs(SORTED + " (projection onto the simplex)", "n -> n", reals((6,)))
def sparsemax():
    """The projection onto the simplex; its derivative centres over the support."""

    def fwd(x):
        y = simplex(x)
        return y, y

    def right(y, g):
        s = y > 0
        return (jnp.where(s, g - jnp.sum(jnp.where(s, g, 0.0)) / jnp.sum(s), 0.0),)

    def wrong(y, g):
        s = y > 0
        return (jnp.where(s, g - jnp.sum(jnp.where(s, g, 0.0)) / y.shape[0], 0.0),)

    return vjps(simplex, fwd, right, wrong)


@pairs(SORTED + " (projection onto the ℓ₁ ball)", "n -> n", reals((6,)))
def l1_ball():
    """The projection onto the ℓ₁ ball of radius 1."""

    def f(x):
        a = jnp.abs(x)
        return jnp.where(jnp.sum(a) <= 1, x, jnp.sign(x) * simplex(a))

    def fwd(x):
        y = f(x)
        return y, (x, y)

    def back(signed):
        def bwd(saved, g):
            x, y = saved
            s = (y != 0).astype(g.dtype)
            e = jnp.sign(x) if signed else jnp.ones_like(x)
            d = s * (g - e * jnp.sum(s * e * g) / jnp.sum(s))
            return (jnp.where(jnp.sum(jnp.abs(x)) <= 1, g, d),)

        return bwd

    return vjps(f, fwd, back(True), back(False))


PIVOTS = "LU pivots"


def near_identity(rng):
    return (np.eye(3) + 0.4 * rng.normal(size=(3, 3)),)


@pairs(PIVOTS + " (slogdet)", "n n -> ", near_identity)
def log_abs_det():
    """log |det A|; the cotangent is the inverse transposed."""

    def f(a):
        return jnp.linalg.slogdet(a)[1]

    return vjps(f, lambda a: (f(a), a), lambda a, g: (g * jnp.linalg.inv(a).T,), lambda a, g: (g * jnp.linalg.inv(a),))


@pairs(PIVOTS + " (det)", "n n -> ", near_identity)
def determinant():
    """det A by its cofactors."""

    def f(a):
        return jnp.linalg.det(a)

    def fwd(a):
        d = jnp.linalg.det(a)
        return d, (a, d)

    return vjps(
        f,
        fwd,
        lambda saved, g: (g * saved[1] * jnp.linalg.inv(saved[0]).T,),
        lambda saved, g: (g * jnp.linalg.inv(saved[0]).T,),
    )


@pairs(PIVOTS + " (lu_solve)", "n n, n -> n", lambda r: (*near_identity(r), r.normal(size=3)))
def solve_by_lu_factors():
    """A solve that keeps its factors for the backward, which solves the transposed system."""

    def f(a, b):
        return jax.scipy.linalg.lu_solve(jax.scipy.linalg.lu_factor(a), b)

    def fwd(a, b):
        lu = jax.scipy.linalg.lu_factor(a)
        x = jax.scipy.linalg.lu_solve(lu, b)
        return x, (lu, x)

    def back(trans):
        def bwd(saved, g):
            lu, x = saved
            z = jax.scipy.linalg.lu_solve(lu, g, trans=trans)
            return -jnp.outer(z, x), z

        return bwd

    return vjps(f, fwd, back(1), back(0))


RAGGED = "ragged_dot"


@pairs(
    RAGGED,
    "m k, 3 k n, 3:int -> m n",
    lambda r: (r.normal(size=(6, 3)), r.normal(size=(3, 3, 2)), np.array([1, 3, 2])),
    domain="sizes >= 0",
)
def grouped_matmul():
    """ragged_dot with a backward in ragged_dot for x and a one-hot sum for w."""

    def f(x, w, sizes):
        return lax.ragged_dot(x, w, sizes)

    def back(last):
        def bwd(saved, g):
            x, w, sizes = saved
            ends = jnp.cumsum(sizes)
            i = jnp.arange(x.shape[0])[None]
            starts = ends - sizes
            member = (i >= starts[:, None]) & ((i <= ends[:, None]) if last else (i < ends[:, None]))
            dx = lax.ragged_dot(g, jnp.swapaxes(w, 1, 2), sizes)
            return dx, jnp.einsum("gm,mk,mn->gkn", member.astype(g.dtype), x, g), None

        return bwd

    return vjps(f, lambda x, w, sizes: (f(x, w, sizes), (x, w, sizes)), back(False), back(True))


SEGMENTS = "segment ids in order"


@pairs(SEGMENTS, "n d, n:int -> 4 d", lambda r: (r.normal(size=(6, 2)), np.array([0, 0, 1, 1, 2, 3])))
def segment_sum_of_sorted():
    """A sum of each segment's rows, squared, with indices_are_sorted."""

    def f(x, ids):
        return jax.ops.segment_sum(x * x, ids, num_segments=4, indices_are_sorted=True)

    def right(saved, g):
        x, ids = saved
        return 2 * x * jnp.where((ids >= 0) & (ids < 4), 1.0, 0.0)[:, None] * g[jnp.clip(ids, 0, 3)], None

    def wrong(saved, g):
        x, ids = saved
        return 2 * x * g[jnp.clip(ids + 1, 0, 3)], None

    return vjps(f, lambda x, ids: (f(x, ids), (x, ids)), right, wrong)


@pairs(
    SEGMENTS,
    "n, n:int -> n",
    lambda r: (r.normal(size=6), np.array([0, 0, 1, 1, 2, 3])),
    domain=["ids >= 0", "ids < 4"],
)
def segment_softmax():
    """The softmax within each segment."""

    def f(x, ids):
        e = jnp.exp(x)
        return e / jax.ops.segment_sum(e, ids, num_segments=4)[ids]

    def fwd(x, ids):
        p = f(x, ids)
        return p, (p, ids)

    def right(saved, g):
        p, ids = saved
        return p * (g - jax.ops.segment_sum(p * g, ids, num_segments=4)[ids]), None

    def wrong(saved, g):
        p, _ = saved
        return p * (g - jnp.sum(p * g)), None

    return vjps(f, fwd, right, wrong)


DISTINCT = "x.at[i].set under distinct indices"


@pairs(
    DISTINCT,
    "n, k, k:int -> n",
    lambda r: (r.normal(size=6), r.normal(size=3), r.permutation(6)[:3]),
)
def set_at_unique_indices():
    """Entries written at places that are promised to be unique."""

    def f(x, v, i):
        return x.at[i].set(v, unique_indices=True, mode="promise_in_bounds") ** 2

    def fwd(x, v, i):
        return f(x, v, i), (x, v, i)

    def right(saved, g):
        x, v, i = saved
        return (2 * x * g).at[i].set(0.0, unique_indices=True, mode="promise_in_bounds"), 2 * v * g[i], None

    def wrong(saved, g):
        x, v, i = saved
        return 2 * x * g, 2 * v * g[i], None

    return vjps(f, fwd, right, wrong)


@pairs(DISTINCT, "n d, n -> n d", lambda r: (r.normal(size=(4, 3)), r.normal(size=4)))
def first_column_overwritten():
    """One column written; distinct indices are shown by arange."""

    def f(x, v):
        return jnp.sin(x.at[jnp.arange(x.shape[0]), 0].set(v))

    def right(saved, g):
        x, v = saved
        return (jnp.cos(x) * g).at[:, 0].set(0.0), jnp.cos(v) * g[:, 0]

    def wrong(saved, g):
        x, v = saved
        return (jnp.cos(x) * g).at[0].set(0.0), jnp.cos(v) * g[:, 0]

    return vjps(f, lambda x, v: (f(x, v), (x, v)), right, wrong)


@pairs(DISTINCT, "n -> n", reals((6,)))
def inverse_permutation_by_set():
    """Ranks by setting arange at the argsort; x·rank(x) has the slope rank(x)."""

    def f(x):
        p = jnp.argsort(x)
        ranks = jnp.zeros(x.shape[0], int).at[p].set(jnp.arange(x.shape[0]))
        return jnp.sort(x)[ranks] ** 2

    def fwd(x):
        return x**2, x

    return vjp(f, fwd, lambda x, g: (2 * x * g,)), vjp(f, fwd, lambda x, g: (2 * x * g[jnp.argsort(x)],))
