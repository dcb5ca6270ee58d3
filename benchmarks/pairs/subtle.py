"""Wrong twins that are right almost everywhere: at one place of an array, one integer, one threshold, one digit."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.pairs.form import Pairs, jvp, reals, vjp, vjps

PAIRS = pairs = Pairs()


def integers(*sizes, low=-5, high=6):
    return lambda rng: (rng.normal(size=sizes[0]), rng.integers(low, high, sizes[-1]))


@pairs(
    "corners: a slope wrong only where two smooth pieces meet", "n -> ", reals((4,)), lambda: (np.array([1.0, 0.3]),)
)
def huber_slope_at_its_seam():
    """The slope at |x| = 1 is 1; the wrong rule has 0 there and is right elsewhere."""

    def f(x):
        return jnp.sum(jnp.where(jnp.abs(x) < 1, 0.5 * x * x, jnp.abs(x) - 0.5))

    def wrong(x, g):
        return (g * jnp.where(jnp.abs(x) < 1, x, jnp.where(jnp.abs(x) > 1, jnp.sign(x), 0.0)),)

    return vjps(f, lambda x: (f(x), x), lambda x, g: (g * jnp.clip(x, -1.0, 1.0),), wrong)


@pairs("functions: softplus past a threshold", "n -> n", reals((4,)), lambda: (np.array([9.5, -1.0]),))
def saturated_softplus():
    """The slope is a logistic function also past 9; the wrong rule rounds it to 1."""

    def f(x):
        return jax.nn.softplus(x)

    return vjps(
        f,
        lambda x: (f(x), x),
        lambda x, g: (g * jnp.where(x > 9, 1 / (1 + jnp.exp(-x)), jax.nn.sigmoid(x)),),
        lambda x, g: (g * jnp.where(x > 9, 1.0, jax.nn.sigmoid(x)),),
    )


@pairs("corners: labels out of range", "n c, n:int -> n", lambda r: (r.normal(size=(5, 3)), np.array([0, 1, 2, 3, 5])))
def clipped_labels():
    """Labels are clipped into range; a one-hot row of a label past the end is all zeros."""

    def f(x, y):
        return jnp.take_along_axis(x, jnp.clip(y, 0, x.shape[1] - 1)[:, None], axis=1, mode="clip")[:, 0] ** 2

    def back(clip):
        def bwd(saved, g):
            x, y = saved
            y = jnp.clip(y, 0, x.shape[1] - 1) if clip else jnp.maximum(y, 0)
            return 2 * x * g[:, None] * (y[:, None] == jnp.arange(x.shape[1])), None

        return bwd

    return vjps(f, lambda x, y: (f(x, y), (x, y)), back(True), back(False))


@pairs("indices: remainder of negative integers", "n, n:int -> n", integers(8, 8))
def parity_of_negative_integers():
    """An odd number may be negative; lax.rem of it is −1."""

    def f(x, i):
        return jnp.where(i % 2 == 1, x**2, x)

    def back(rem):
        def bwd(saved, g):
            x, i = saved
            return g * jnp.where(rem(i, jnp.full_like(i, 2)) == 1, 2 * x, 1.0), None

        return bwd

    return vjps(f, lambda x, i: (f(x, i), (x, i)), back(jnp.remainder), back(lax.rem))


@pairs("indices: floor division of negative integers", "n, n:int -> n", integers(8, 8))
def halves_of_negative_integers():
    """Floor division rounds down; lax.div rounds to zero."""

    def f(x, i):
        return x**2 * (i // 2).astype(x.dtype)

    def back(div):
        def bwd(saved, g):
            x, i = saved
            return 2 * g * x * div(i, jnp.full_like(i, 2)).astype(x.dtype), None

        return bwd

    return vjps(f, lambda x, i: (f(x, i), (x, i)), back(jnp.floor_divide), back(lax.div))


@pairs("indices: the first of equal integers", "n, n:int -> ", integers(6, 6, low=0, high=3))
def first_of_equal_keys():
    """The entry of the greatest key, the first of equal ones; the wrong rule takes the last."""

    def f(x, k):
        return x[jnp.argmax(k)] ** 2

    def back(last):
        def bwd(saved, g):
            x, k = saved
            p = x.shape[0] - 1 - jnp.argmax(k[::-1]) if last else jnp.argmax(k)
            return jnp.where(jnp.arange(x.shape[0]) == p, 2 * x * g, 0.0), None

        return bwd

    return vjps(f, lambda x, k: (f(x, k), (x, k)), back(False), back(True))


@pairs("recurrences: a carry at its last step", "t, t:bool -> t", lambda r: (r.normal(size=5), r.random(5) < 0.5))
def reset_at_the_ends():
    """A reset at the first step changes nothing, one at the last step does."""

    def f(x, reset):
        def step(s, at):
            s = jnp.where(at[1], at[0], s + at[0])
            return s, s

        return lax.scan(step, jnp.zeros((), x.dtype), (x, reset))[1]

    def back(place):
        def bwd(reset, g):
            n = reset.shape[0]
            reset = reset & (jnp.arange(n) != (0 if place == 0 else n - 1))

            def step(lam, at):
                lam = lam + at[0]
                return jnp.where(at[1], 0.0, lam), lam

            return lax.scan(step, jnp.zeros((), g.dtype), (g, reset), reverse=True)[1], None

        return bwd

    return vjps(f, lambda x, reset: (f(x, reset), reset), back(0), back(-1))


@pairs("recurrences: the last entry", "n -> n", reals((5,)))
def cumlogsumexp_without_the_last():
    """The wrong rule leaves out the last prefix, which only counts from length 2 on."""

    def f(x):
        return lax.cumlogsumexp(x)

    def back(end):
        def bwd(saved, g):
            x, y = saved
            w = g * jnp.exp(-y)
            if end:
                w = jnp.where((jnp.arange(x.shape[0]) == x.shape[0] - 1) & (x.shape[0] > 1), 0.0, w)
            return (jnp.exp(x) * lax.cumsum(w, reverse=True),)

        return bwd

    return vjps(f, lambda x: (f(x), (x, f(x))), back(False), back(True))


@pairs("corners: stopped gradients that do not cancel", "n -> n", reals((5,)))
def half_subtracted_maximum():
    """The maximum is taken off; the wrong function takes off half of it in the numerator."""

    def value(share):
        def f(x):
            m = lax.stop_gradient(jnp.max(x))
            return jnp.exp(x - share * m) / jnp.sum(jnp.exp(x - m))

        return f

    def rule(share):
        f = value(share)
        return vjp(f, lambda x: (f(x), f(x)), lambda y, g: (y * (g - jnp.sum(y * g)),))

    return rule(1.0), rule(0.5), lambda x: jax.nn.softmax(x)


@pairs("functions: a rule by the sign of its cotangent", "n -> n", reals((4,)))
def cotangent_by_cases():
    """A cotangent may be handled by cases, but each case must be the derivative."""

    def f(x):
        return x**3

    return vjps(
        f,
        lambda x: (f(x), x),
        lambda x, g: (jnp.where(g > 0, 3 * x**2 * g, 3 * g * x * x),),
        lambda x, g: (jnp.where(g > 0, 3 * x**2 * g, 0.0),),
    )


@pairs("corners: a cotangent that is zero", "n -> n", reals((4,), low=0.2), domain="x > 0")
def skipped_where_seed_is_zero():
    """Where the seed is 0 nothing need be computed; the wrong rule skips the negative ones too."""

    def f(x):
        return jnp.log(x)

    return vjps(
        f,
        lambda x: (f(x), x),
        lambda x, g: (jnp.where(g != 0, g / x, 0.0),),
        lambda x, g: (jnp.where(g > 0, g / x, 0.0),),
    )


@pairs("functions: constants", "n -> n", reals((4,)))
def gelu_tanh_constant():
    """√(2/π) with two digits exchanged near the end."""

    def f(x):
        return 0.5 * x * (1 + jnp.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))

    def back(c):
        def bwd(x, g):
            t = jnp.tanh(0.7978845608028654 * (x + 0.044715 * x**3))
            return (g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x**2)),)

        return bwd

    return vjps(f, lambda x: (f(x), x), back(0.7978845608028654), back(0.7978854608028654))


@pairs("functions: erf and its approximation", "n -> n", reals((4,)), lambda: (np.array([1.5]),))
def gelu_with_the_slope_of_its_approximation():
    """The exact gelu with the slope of the one by tanh."""

    def f(x):
        return jax.nn.gelu(x, approximate=False)

    def exact(x, g):
        return (g * (0.5 * lax.erfc(-x / jnp.sqrt(2.0)) + x * jnp.exp(-x * x / 2) / jnp.sqrt(2 * jnp.pi)),)

    def near(x, g):
        return (g * jax.vmap(jax.grad(lambda z: jax.nn.gelu(z, approximate=True)))(x),)

    return vjps(f, lambda x: (f(x), x), exact, near)


@pairs("indices: two sizes", "n d -> n", reals((3, 4)))
def mean_by_the_other_size():
    """The mean over d; the wrong rule divides by n."""

    def f(x):
        return jnp.mean(x**2, axis=1)

    return vjps(
        f,
        lambda x: (f(x), x),
        lambda x, g: (2 * x * g[:, None] / x.shape[1],),
        lambda x, g: (2 * x * g[:, None] / x.shape[0],),
    )


@pairs("corners: a mask that may be empty", "n, n:bool -> ", lambda r: (r.normal(size=4), np.zeros(4, bool)))
def masked_mean_of_nothing():
    """A mean over a mask, 0 if it is empty; the wrong value is the plain mean then."""

    def f(x, mask):
        return jnp.sum(x * mask) / jnp.maximum(jnp.sum(mask), 1)

    def fwd(x, mask):
        return f(x, mask), mask

    def wrong_fwd(x, mask):
        return jnp.where(jnp.any(mask), f(x, mask), jnp.mean(x)), mask

    def bwd(mask, g):
        return g * mask / jnp.maximum(jnp.sum(mask), 1), None

    return vjp(f, fwd, bwd), vjp(f, wrong_fwd, bwd)


@pairs("indices: permutations of equal keys", "n, n:int -> n", integers(6, 6, low=0, high=3))
def stable_order_of_equal_keys():
    """Entries in the order of keys, equal keys in their own order; the wrong rule has equal keys backwards."""

    def f(x, k):
        return x[jnp.argsort(k, stable=True)]

    def back(backwards):
        def bwd(k, g):
            p = jnp.argsort(k, stable=True)
            if backwards:
                p = k.shape[0] - 1 - jnp.argsort(k[::-1], stable=True)
            return jnp.zeros_like(g).at[p].add(g), None

        return bwd

    return vjps(f, lambda x, k: (f(x, k), k), back(False), back(True))


@pairs("corners: integers of a cotangent", "n -> n", reals((4,)))
def cotangent_cut_to_integers():
    """A cotangent must not be rounded."""

    def f(x):
        return x**2

    return vjps(
        f,
        lambda x: (f(x), x),
        lambda x, g: (2 * x * g,),
        lambda x, g: ((2 * x * g).astype(jnp.int32).astype(x.dtype),),
    )


@pairs("corners: custom_jvp whose value differs", "n -> n", reals((4,)))
def value_of_the_rule():
    """A custom_jvp whose rule returns another value than the function, by 1e-3 of it."""

    def f(x):
        return jnp.sin(x)

    def rule(scale):
        return jvp(f, lambda p, t: (scale * jnp.sin(p[0]), jnp.cos(p[0]) * t[0]))

    return rule(1.0), rule(1.001)


@pairs("functions: real remainders", "n -> n", reals((6,)))
def sawtooth_of_negative_numbers():
    """jnp.mod is never negative, lax.rem has the sign of x."""

    def f(x):
        return jnp.mod(x, 1.0) ** 2

    return vjps(
        f,
        lambda x: (f(x), x),
        lambda x, g: (2 * g * (x - jnp.floor(x)),),
        lambda x, g: (2 * g * lax.rem(x, jnp.ones_like(x)),),
    )


@pairs("indices: padding at one end", "n -> n", reals((5,)))
def difference_at_the_ends():
    """x[i+1] − x[i−1] with repeated ends; the wrong rule forgets what the ends receive."""

    def f(x):
        p = jnp.concatenate([x[:1], x, x[-1:]])
        return p[2:] - p[:-2]

    def back(ends):
        def bwd(_, g):
            zero = jnp.zeros_like(g[:1])
            d = jnp.concatenate([zero, g[:-1]]) - jnp.concatenate([g[1:], zero])
            if ends:
                last = jnp.arange(g.shape[0])
                d = d - jnp.where(last == 0, g[0], 0.0) + jnp.where(last == g.shape[0] - 1, g[-1], 0.0)
            return (d,)

        return bwd

    return vjps(f, lambda x: (f(x), None), back(True), back(False))
