"""Corners: part 5 of the issue."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero
from jax.scipy.special import logsumexp, ndtri
from jax.scipy.stats import norm

from benchmarks.pairs.form import Pairs, jvp, reals, vjp, vjps

PAIRS = pairs = Pairs()

IGNORED = "a label that is ignored when negative"


def rows(low=-1):
    """Logits and labels, of which some are `low` and below 0."""

    def draw(rng):
        y = rng.integers(0, 4, 6)
        y[:2] = low
        return rng.normal(size=(6, 4)), y

    return draw


@pairs(IGNORED + ", per row", "n c, n:int -> n", rows())
def cross_entropy_per_row():
    """Rows with a negative label cost nothing."""

    def f(logits, y):
        picked = jnp.take_along_axis(logits, jnp.where(y < 0, 0, y)[:, None], axis=1)[:, 0]
        return jnp.where(y >= 0, logsumexp(logits, axis=1) - picked, 0.0)

    def back(masks):
        def bwd(saved, g):
            logits, y = saved
            d = jax.nn.softmax(logits, axis=1) - jax.nn.one_hot(y, logits.shape[1])
            return (jnp.where(y >= 0, g, 0.0) if masks else g)[:, None] * d, None

        return bwd

    return vjps(f, lambda logits, y: (f(logits, y), (logits, y)), back(True), back(False))


@pairs(IGNORED + ", a mean over the rows that count", "n c, n:int -> ", rows())
def cross_entropy_mean_of_counted():
    """The mean over the rows that count, 0 if none does."""

    def f(logits, y):
        keep = y >= 0
        logp = jax.nn.log_softmax(logits, axis=-1)
        nll = -jnp.take_along_axis(logp, jnp.maximum(y, 0)[:, None], axis=-1)[:, 0]
        return jnp.sum(nll * keep) / jnp.maximum(jnp.sum(keep), 1)

    def back(count):
        def bwd(saved, g):
            logits, y = saved
            keep = y >= 0
            d = jax.nn.softmax(logits, axis=-1) - jax.nn.one_hot(jnp.maximum(y, 0), logits.shape[1])
            return g * d * keep[:, None] / count(keep), None

        return bwd

    return vjps(
        f,
        lambda logits, y: (f(logits, y), (logits, y)),
        back(lambda keep: jnp.maximum(jnp.sum(keep), 1)),
        back(lambda keep: keep.shape[0]),
    )


SENTINEL = 'domain="y >= 0 or y == -100"'


@pairs(SENTINEL, "n c, n:int -> n", rows(-100), domain="y >= 0 or y == -100")
def torch_ignore_index():
    """The label −100 is ignored, as PyTorch has it."""

    def f(logits, y):
        onehot = jax.nn.one_hot(y, logits.shape[1])
        return jnp.where(y == -100, 0.0, logsumexp(logits, -1) - jnp.sum(onehot * logits, -1))

    def back(keeps):
        def bwd(saved, g):
            logits, y = saved
            d = jax.nn.softmax(logits, -1) - jax.nn.one_hot(y, logits.shape[1])
            return jnp.where(keeps(y), g, 0.0)[:, None] * d, None

        return bwd

    return vjps(f, lambda logits, y: (f(logits, y), (logits, y)), back(lambda y: y >= 0), back(lambda y: y > 0))


@pairs(
    SENTINEL,
    "n, n:int -> ",
    lambda r: (r.normal(size=6), np.array([-1, 0, 3, 2, -1, 1])),
    domain="t >= 0 or t == -1",
)
def squared_error_with_sentinel():
    """A target −1 means that there is none; the mask in the backward is another one, equal on the domain."""

    def f(x, t):
        return 0.5 * jnp.sum(jnp.where(t != -1, (x - t) ** 2, 0.0))

    def right(saved, g):
        x, t = saved
        return g * jnp.where(t >= 0, x - t, 0.0), None

    def wrong(saved, g):
        x, t = saved
        return g * jnp.where(t > -2, x - t, 0.0), None

    return vjps(f, lambda x, t: (f(x, t), (x, t)), right, wrong)


BRANCHES = "NaN and infinity in branches not taken"


@pairs(BRANCHES + " (log-densities with supports)", "n, -> n", reals((6,), (), low=0.1), domain=["x > 0", "rate > 0"])
def exponential_log_density():
    """−∞ outside of the support, which the domain leaves."""

    def f(x, rate):
        return jnp.where(x < 0, -jnp.inf, jnp.log(rate) - rate * x)

    def right(saved, g):
        x, rate = saved
        return -g * rate, jnp.sum(g * (1 / rate - x))

    def wrong(saved, g):
        x, rate = saved
        return -g, jnp.sum(g * (1 / rate - x))

    return vjps(f, lambda x, rate: (f(x, rate), (x, rate)), right, wrong)


@pairs(BRANCHES + " (log-densities with supports)", "*s -> *s", reals((6,)))
def half_cauchy_with_safe_argument():
    """A log-density with a finite floor outside of its support; the argument of the logarithm is made safe."""

    def f(x):
        safe = jnp.where(x > 0, x, 1.0)
        return jnp.where(x > 0, jnp.log(safe) - jnp.log1p(safe * safe), -50.0)

    def right(x, g):
        safe = jnp.where(x > 0, x, 1.0)
        return (jnp.where(x > 0, g * (1 / safe - 2 * safe / (1 + safe**2)), 0.0),)

    def wrong(x, g):
        safe = jnp.where(x > 0, x, 1.0)
        return (g * (1 / safe - 2 * safe / (1 + safe**2)) * (safe == x) + g * (x <= 0),)

    return vjps(f, lambda x: (f(x), x), right, wrong)


@pairs(BRANCHES + " (ndtri)", "*s -> *s", reals((6,), low=0.01, high=0.99), domain=["p > 0", "p < 1"])
def normal_quantile():
    """The inverse of Φ, whose slope is one over the density there."""

    def fwd(p):
        z = ndtri(p)
        return z, z

    return vjps(
        ndtri,
        fwd,
        lambda z, g: (g / norm.pdf(z),),
        lambda z, g: (g * jnp.exp(z * z / 2),),
    )


@pairs(
    BRANCHES + " (segment_max)",
    "n, n:int -> 3",
    lambda r: (r.normal(size=7), np.array([0, 1, 0, 0, 1, 1, 0])),
    domain=["seg >= 0", "seg < 3"],
)
def segment_maximum_with_empty_segments():
    """The maximum of each of three segments, 0 for an empty one."""

    def f(x, seg):
        m = jax.ops.segment_max(x, seg, num_segments=3)
        return jnp.where(jnp.isfinite(m), m, 0.0)

    def fwd(x, seg):
        m = jax.ops.segment_max(x, seg, num_segments=3)
        return jnp.where(jnp.isneginf(m), 0.0, m), (x, seg, m)

    def right(saved, g):
        x, seg, m = saved
        return jnp.where(x == m[seg], g[seg], 0.0), None

    def wrong(saved, g):
        x, seg, _ = saved
        return jnp.where(x == jnp.max(x), g[seg], 0.0), None

    return vjps(f, fwd, right, wrong)


@pairs(BRANCHES, "n d -> n", lambda r: (np.concatenate([r.normal(size=(3, 4)), np.zeros((1, 4))])[:3],))
def norm_safe_at_zero():
    """The length of each row; the square root never sees 0."""

    def f(x):
        s = jnp.sum(x * x, -1)
        zero = s == 0
        return jnp.where(zero, 0.0, jnp.sqrt(jnp.where(zero, 1.0, s)))

    def fwd(x):
        y = f(x)
        return y, (x, y)

    def right(saved, g):
        x, y = saved
        return (jnp.where(y > 0, g / jnp.where(y > 0, y, 1.0), 0.0)[:, None] * x,)

    def wrong(saved, g):
        x, y = saved
        return (jnp.where(y > 1, g / jnp.where(y > 1, y, 1.0), 0.0)[:, None] * x,)

    return vjps(f, fwd, right, wrong)


STOPPED = "stopped gradients that cancel"


def masked(rng):
    mask = rng.random((3, 5)) < 0.6
    mask[:, 0] = True
    return rng.normal(size=(3, 5)), mask


@pairs(STOPPED + " (softmax(where=))", "n d, n d:bool -> n d", masked)
def softmax_where():
    """JAX's softmax with where=, whose maximum is stopped."""

    def f(x, mask):
        return jax.nn.softmax(x, axis=-1, where=mask)

    def fwd(x, mask):
        p = f(x, mask)
        return p, (p, mask)

    def right(saved, g):
        p, mask = saved
        return jnp.where(mask, p * (g - jnp.sum(jnp.where(mask, p * g, 0.0), -1, keepdims=True)), 0.0), None

    def wrong(saved, g):
        p, mask = saved
        return jnp.where(mask, p * (g - jnp.mean(jnp.where(mask, p * g, 0.0), -1, keepdims=True)), 0.0), None

    return vjps(f, fwd, right, wrong)


@pairs(STOPPED + " (contrastive losses)", "n d, n d -> ", reals((4, 3), (4, 3)))
def info_nce():
    """The contrastive loss of pairs of rows, with a stopped maximum in its logarithm of a sum."""

    def f(a, b):
        s = a @ b.T
        m = jax.lax.stop_gradient(jnp.max(s, axis=1, keepdims=True))
        lse = jnp.log(jnp.sum(jnp.exp(s - m), axis=1)) + m[:, 0]
        return jnp.mean(lse - jnp.sum(a * b, axis=1))

    def back(axis):
        def bwd(saved, g):
            a, b = saved
            d = g * (jax.nn.softmax(a @ b.T, axis=axis) - jnp.eye(a.shape[0])) / a.shape[0]
            return d @ b, d.T @ a

        return bwd

    return vjps(f, lambda a, b: (f(a, b), (a, b)), back(1), back(0))


@pairs(STOPPED + " (contrastive losses)", "n m -> n m", reals((3, 4)))
def log_softmax_without_itself():
    """The logarithm of a softmax by hand; the stopped maximum cancels."""

    def f(s):
        c = s - jax.lax.stop_gradient(jnp.max(s, axis=-1, keepdims=True))
        return c - jnp.log(jnp.sum(jnp.exp(c), axis=-1, keepdims=True))

    def fwd(s):
        y = f(s)
        return y, y

    def right(y, g):
        return (g - jnp.exp(y) * jnp.sum(g, axis=-1, keepdims=True),)

    def wrong(y, g):
        return (g - jnp.exp(y) * g,)

    return vjps(f, fwd, right, wrong)


@pairs(STOPPED + " (piecewise)", "*s -> *s", reals((8,)))
def smoothstep_piecewise():
    """0, 3x² − 2x³ and 1, by jnp.piecewise."""

    def f(x):
        return jnp.piecewise(x, [x <= 0, x >= 1], [0.0, 1.0, lambda x: x * x * (3 - 2 * x)])

    def right(x, g):
        return (jnp.where((x > 0) & (x < 1), 6 * g * x * (1 - x), 0.0),)

    def wrong(x, g):
        return (jnp.where(x > 0, 6 * g * x * (1 - x), 0.0),)

    return vjps(f, lambda x: (f(x), x), right, wrong)


SEAM = "a value wrong only where two smooth pieces meet"


@pairs(SEAM, "*s, *s -> *s", reals((5,), (5,)), lambda: (np.array([0.7]), np.array([0.7])))
def logaddexp_at_equal_arguments():
    """Two cases by which of the two is the greater; the wrong one forgets that they may be equal."""

    def f(a, b):
        return jnp.logaddexp(a, b)

    def value(greater):
        def fwd(a, b):
            one = a + jnp.log1p(jnp.exp(b - a))
            other = b + jnp.log1p(jnp.exp(a - b))
            return jnp.where(greater(a, b), one, jnp.where(b > a, other, 0.0)), (a, b)

        return fwd

    def bwd(saved, g):
        a, b = saved
        s = jax.nn.sigmoid(a - b)
        return g * s, g * (1 - s)

    return vjp(f, value(lambda a, b: a >= b), bwd), vjp(f, value(lambda a, b: a > b), bwd)


@pairs(SEAM, "*s -> *s", reals((9,), low=-3.0, high=3.0), lambda: (np.array([1.0]),))
def huber_at_its_seam():
    """x²/2 and |x| − 1/2, which meet smoothly at 1; the wrong twin misses the point itself."""

    def f(x):
        a = jnp.abs(x)
        return jnp.where(a <= 1, 0.5 * x * x, a - 0.5)

    def value(small):
        return lambda x: (jnp.where(small(x), 0.5 * x * x, jnp.where(jnp.abs(x) > 1, jnp.abs(x) - 0.5, 0.0)), x)

    def bwd(x, g):
        return (g * jnp.clip(x, -1.0, 1.0),)

    return vjp(f, value(lambda x: jnp.abs(x) <= 1), bwd), vjp(f, value(lambda x: jnp.abs(x) < 1), bwd)


ZEROS = "custom_jvp with symbolic zeros"


@pairs(ZEROS, "n, n -> n", reals((4,), (4,)))
def product_that_skips_zeros():
    """x·sin y; tangents that are symbolic zeros are left out."""

    def f(x, y):
        return x * jnp.sin(y)

    def rule(right):
        def f_jvp(primals, tangents):
            x, y = primals
            dx, dy = tangents
            out = jnp.zeros_like(x)
            if not isinstance(dx, SymbolicZero):
                out = out + dx * jnp.sin(y)
            if not isinstance(dy, SymbolicZero) and (right or not isinstance(dx, SymbolicZero)):
                out = out + x * dy * jnp.cos(y)
            return f(x, y), out

        made = jax.custom_jvp(f)
        made.defjvp(f_jvp, symbolic_zeros=True)
        return made

    right, wrong = rule(True), rule(False)
    return right, wrong


@pairs(ZEROS, "n d, d m -> n m", reals((3, 4), (4, 2)))
def dense_that_skips_the_frozen_weight():
    """A custom_vjp with symbolic zeros: the weight's cotangent only if the weight is differentiated."""

    def f(x, w):
        return jnp.tanh(x @ w)

    def fwd(x, w):
        y = f(x.value, w.value)
        return y, (x.value, w.value, y, w.perturbed)

    def back(missing):
        def bwd(saved, g):
            x, w, y, perturbed = saved
            if isinstance(g, SymbolicZero):
                return jnp.zeros_like(x), jnp.zeros_like(w)
            d = g * (1 - y * y)
            return d @ w.T, x.T @ (g if missing else d) if perturbed else jnp.zeros_like(w)

        return bwd

    rules = []
    for bwd in (back(False), back(True)):
        rule = jax.custom_vjp(f)
        rule.defvjp(fwd, bwd, symbolic_zeros=True)
        rules.append(rule)
    return tuple(rules)


EFFECTS = "effects that return nothing to the derivative"


@pairs(EFFECTS, "n d -> n", reals((3, 4)))
def energy_that_prints():
    """debug.print in the function and in the backward."""

    def f(x):
        y = jnp.sum(x**3, -1)
        jax.debug.print("energy {}", jnp.mean(y))
        return y

    def back(factor):
        def bwd(x, g):
            d = factor * x * x * g[:, None]
            jax.debug.print("gradient {}", jnp.max(jnp.abs(d)))
            return (d,)

        return bwd

    return vjps(f, lambda x: (jnp.sum(x**3, -1), x), back(3), back(2))


@pairs(EFFECTS, "n -> n", reals((5,)))
def watched_softplus():
    """debug.callback looks at a tangent."""

    def f(x):
        return jax.nn.softplus(x)

    def rule(slope):
        def f_jvp(primals, tangents):
            (x,), (dx,) = primals, tangents
            jax.debug.callback(lambda t: None, dx)
            return f(x), slope(x) * dx

        return jvp(f, f_jvp)

    return rule(jax.nn.sigmoid), rule(jnp.tanh)


QUANTISED = "quantised integers within their range"


@pairs(
    QUANTISED,
    "n d:int, d -> n d",
    lambda r: (r.integers(-128, 128, (3, 4)), r.normal(size=4)),
    domain=["q >= -128", "q <= 127"],
)
def dequantise_int8():
    """Integers of 8 bits times a scale of each column; in their range a cast to int8 changes nothing."""

    def f(q, scale):
        return q.astype(scale.dtype) * scale

    def back(dtype):
        def bwd(saved, g):
            q, scale = saved
            return None, jnp.sum(g * q.astype(dtype).astype(scale.dtype), 0)

        return bwd

    return vjps(f, lambda q, scale: (f(q, scale), (q, scale)), back(jnp.int8), back(jnp.uint8))


@pairs(
    QUANTISED,
    "n:int, -> n",
    lambda r: (r.integers(0, 256, 6), r.normal()),
    domain=["q >= 0", "q <= 255"],
)
def unpack_nibbles():
    """Two numbers of 4 bits in a byte: by shift and mask in the function, by division in the rule."""

    def f(q, scale):
        return scale * ((q >> 4) * (q & 15)).astype(scale.dtype)

    def back(size):
        def bwd(saved, g):
            (q,) = saved
            return None, jnp.sum(g * ((q // size) * (q % size)).astype(g.dtype))

        return bwd

    return vjps(f, lambda q, scale: (f(q, scale), (q,)), back(16), back(8))


@pairs(QUANTISED, "n m, n -> n m", reals((3, 4), (3,), low=0.3, high=1.5), domain=["s > 0"])
def fake_quantised_scale():
    """s·round(x/s) between −127 and 127: no slope in x, and round(x/s) in s."""

    def f(x, s):
        return s[:, None] * jnp.clip(jnp.round(x / s[:, None]), -127, 127)

    def right(saved, g):
        x, s = saved
        q = jnp.clip(jnp.round(x / s[:, None]), -127, 127)
        return jnp.zeros_like(x), jnp.sum(g * q, 1)

    def wrong(saved, g):
        x, s = saved
        q = jnp.clip(x / s[:, None], -127, 127)
        return jnp.zeros_like(x), jnp.sum(g * q, 1)

    return vjps(f, lambda x, s: (f(x, s), (x, s)), right, wrong)
