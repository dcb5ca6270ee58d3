"""Functions beside each other: part 4 of the issue."""

import jax
import jax.numpy as jnp
from jax.scipy.special import betaln, digamma, erf, erfc, gammaln, log_ndtr, ndtr, polygamma
from jax.scipy.stats import norm

from benchmarks.pairs.form import Pairs, jvps, reals, vjps

PAIRS = pairs = Pairs()

CAP = "tanh and logistic beside their exponentials"


@pairs(CAP, "*s -> *s", reals((3, 4)))
def soft_cap_by_logistic():
    """30·tanh(x/30), whose backward has the logistic function."""

    def f(x):
        return 30.0 * jnp.tanh(x / 30.0)

    def right(x, g):
        s = jax.nn.sigmoid(2 * x / 30.0)
        return (g * 4 * s * (1 - s),)

    def wrong(x, g):
        s = jax.nn.sigmoid(x / 30.0)
        return (g * 4 * s * (1 - s),)

    return vjps(f, lambda x: (f(x), x), right, wrong)


@pairs(CAP, "n d, m d -> n m", reals((3, 4), (2, 4)))
def capped_attention_by_exponentials():
    """The softmax of capped scores; the cap's derivative by exponentials."""

    def f(q, k):
        return jax.nn.softmax(5.0 * jnp.tanh(q @ k.T / 5.0), axis=-1)

    def fwd(q, k):
        p = f(q, k)
        return p, (q, k, p)

    def back(power):
        def bwd(saved, g):
            q, k, p = saved
            e = jnp.exp(-2 * (q @ k.T) / 5.0)
            ds = p * (g - jnp.sum(g * p, -1, keepdims=True)) * 4 * e / (1 + e) ** power
            return ds @ k, ds.T @ q

        return bwd

    return vjps(f, fwd, back(2), back(1))


@pairs(CAP, "*s -> *s", reals((5,)))
def tanh_from_output_and_exponential():
    """tanh written by exponentials, the rule from its value."""

    def f(x):
        return (jnp.exp(2 * x) - 1) / (jnp.exp(2 * x) + 1)

    def fwd(x):
        y = jnp.tanh(x)
        return y, y

    return vjps(f, fwd, lambda y, g: (g * (1 - y * y),), lambda y, g: (g * (1 - y),))


ANGLES = "sin 2x beside 2·sin x·cos x and other multiple angles"


@pairs(ANGLES, "*s -> *s", reals((5,)))
def snake():
    """x + sin² x, as audio networks have it: its slope by the double angle."""

    def f(x):
        return x + jnp.sin(x) ** 2

    return vjps(
        f, lambda x: (f(x), x), lambda x, g: (g * (1 + jnp.sin(2 * x)),), lambda x, g: (g * (1 + 2 * jnp.sin(2 * x)),)
    )


@pairs(ANGLES, "*s -> *s", reals((5,)))
def triple_angle():
    """cos 3x by Chebyshev's polynomial."""

    def f(x):
        c = jnp.cos(x)
        return 4 * c**3 - 3 * c

    return vjps(f, lambda x: (f(x), x), lambda x, g: (-3 * g * jnp.sin(3 * x),), lambda x, g: (3 * g * jnp.sin(3 * x),))


@pairs(ANGLES, "n, n -> n", reals((4,), (4,)))
def angle_sum():
    """sin a · cos b by sums of angles."""

    def f(a, b):
        return jnp.sin(a) * jnp.cos(b)

    def right(saved, g):
        a, b = saved
        return g * (jnp.cos(a + b) + jnp.cos(a - b)) / 2, g * (jnp.cos(a + b) - jnp.cos(a - b)) / 2

    def wrong(saved, g):
        a, b = saved
        return g * (jnp.cos(a + b) + jnp.cos(a - b)) / 2, g * (jnp.cos(a - b) - jnp.cos(a + b)) / 2

    return vjps(f, lambda a, b: (f(a, b), (a, b)), right, wrong)


CLIP = "clipped ratios"


@pairs(CLIP, "n, n, n -> ", reals((6,), (6,), (6,), low=-0.5, high=0.5))
def ppo():
    """−mean of min(r·A, clip(r)·A): the gradient passes where the first is the smaller."""

    def f(new, old, adv):
        r = jnp.exp(new - old)
        return -jnp.mean(jnp.minimum(r * adv, jnp.clip(r, 0.8, 1.2) * adv))

    def fwd(new, old, adv):
        return f(new, old, adv), (new, old, adv)

    def back(passes):
        def bwd(saved, g):
            new, old, adv = saved
            r = jnp.exp(new - old)
            open_ = passes(r, adv)
            d = jnp.where(open_, -g * adv * r / new.shape[0], 0.0)
            return d, -d, -g * jnp.where(open_, r, jnp.clip(r, 0.8, 1.2)) / new.shape[0]

        return bwd

    return vjps(
        f,
        fwd,
        back(lambda r, a: ((a > 0) & (r < 1.2)) | ((a < 0) & (r > 0.8))),
        back(lambda r, a: (r > 0.8) & (r < 1.2)),
    )


@pairs(CLIP, "n, n -> n", reals((6,), (6,)), static={"lo": 0.7, "hi": 1.4})
def clipped_importance():
    """r·min(1, c/r) is min(r, c), for a reweighted advantage."""

    def f(logr, a, lo, hi):
        r = jnp.exp(logr)
        return jnp.clip(r, lo, hi) * a

    def fwd(logr, a, lo, hi):
        return f(logr, a, lo, hi), (logr, a)

    def right(lo, hi, saved, g):
        logr, a = saved
        r = jnp.exp(logr)
        return jnp.where((logr > jnp.log(lo)) & (logr < jnp.log(hi)), r * a * g, 0.0), jnp.clip(r, lo, hi) * g

    def wrong(lo, hi, saved, g):
        logr, a = saved
        r = jnp.exp(logr)
        return jnp.where((logr > jnp.log(lo)) & (logr < jnp.log(hi)), a * g, 0.0), jnp.clip(r, lo, hi) * g

    rules = []
    for bwd in (right, wrong):
        rule = jax.custom_vjp(f, nondiff_argnums=(2, 3))
        rule.defvjp(fwd, bwd)
        rules.append(rule)
    return tuple(rules)


POWERS = "powers with symbolic exponents"


@pairs(POWERS, "*s, *s -> *s", reals((4,), (4,), low=0.2, high=2.0), domain="x > 0")
def power_of_two_arrays():
    """xʸ with both derivatives from the value."""

    def f(x, y):
        return x**y

    def fwd(x, y):
        z = f(x, y)
        return z, (x, y, z)

    def right(saved, g):
        x, y, z = saved
        return g * y * z / x, g * z * jnp.log(x)

    def wrong(saved, g):
        x, y, z = saved
        return g * y * z / x, g * z * jnp.log(y)

    return vjps(f, fwd, right, wrong)


@pairs(POWERS, "n, -> ", lambda r: (r.uniform(0.2, 2, 5), r.uniform(1.2, 3)), domain=["x > 0", "p > 1"])
def generalized_mean():
    """(mean xᵖ)^(1/p), differentiated in x and p."""

    def f(x, p):
        return jnp.mean(x**p) ** (1 / p)

    def fwd(x, p):
        y = f(x, p)
        return y, (x, p, y)

    def back(forgotten):
        def bwd(saved, g):
            x, p, y = saved
            m = jnp.mean(x**p)
            dx = g * y ** (1 - p) * x ** (p - 1) / x.shape[0]
            dp = jnp.mean(x**p * jnp.log(x)) / (p * m) - (0 if forgotten else jnp.log(m) / p**2)
            return dx, g * y * dp

        return bwd

    return vjps(f, fwd, back(False), back(True))


LOGS = "expm1, log1p, logaddexp and softplus in each other's terms"


@pairs(LOGS, "*s, *s -> *s", reals((4,), (4,)))
def logaddexp_by_softplus():
    """The logarithm of a sum of two exponentials as softplus of a difference."""

    def f(a, b):
        return jnp.logaddexp(a, b)

    def fwd(a, b):
        return b + jax.nn.softplus(a - b), (a, b)

    def right(saved, g):
        a, b = saved
        s = jax.nn.sigmoid(a - b)
        return g * s, g * (1 - s)

    def wrong(saved, g):
        a, b = saved
        s = jax.nn.sigmoid(b - a)
        return g * s, g * (1 - s)

    return vjps(f, fwd, right, wrong)


@pairs(LOGS, "*s -> *s", reals((6,), low=-3.0, high=-0.05), domain="x < 0")
def log1mexp():
    """log(1 − eˣ) in the two ways of Mächler's note."""

    def f(x):
        return jnp.where(x > -0.6931471805599453, jnp.log(-jnp.expm1(x)), jnp.log1p(-jnp.exp(x)))

    return vjps(f, lambda x: (f(x), x), lambda x, g: (-g / jnp.expm1(-x),), lambda x, g: (g / jnp.expm1(-x),))


@pairs(LOGS, "*s, *s:bool -> *s", lambda r: (r.normal(size=6), r.random(6) < 0.5))
def logistic_loss_with_labels():
    """Binary cross-entropy by softplus, its slope by log_sigmoid."""

    def f(x, y):
        return jax.nn.softplus(jnp.where(y, -x, x))

    def fwd(x, y):
        return jnp.log1p(jnp.exp(jnp.where(y, -x, x))), (x, y)

    def right(saved, g):
        x, y = saved
        return g * (jnp.exp(jax.nn.log_sigmoid(x)) - y), None

    def wrong(saved, g):
        x, y = saved
        return g * (jnp.exp(jax.nn.log_sigmoid(-x)) - y), None

    return vjps(f, fwd, right, wrong)


@pairs(LOGS, "*s -> *s", reals((6,), low=0.1, high=3.0), domain="y > 0")
def inverse_softplus():
    """log(eʸ − 1) = y + log(1 − e⁻ʸ)."""

    def f(y):
        return jnp.log(jnp.expm1(y))

    def fwd(y):
        return y + jnp.log(-jnp.expm1(-y)), y

    return vjps(f, fwd, lambda y, g: (-g / jnp.expm1(-y),), lambda y, g: (g / jnp.expm1(y),))


INVERSES = "hyperbolic and inverse functions"


@pairs(INVERSES, "*s -> *s", reals((6,)))
def asinh_by_log():
    """arsinh as a logarithm."""

    def f(x):
        return jnp.log(x + jnp.sqrt(x * x + 1))

    def fwd(x):
        return jnp.arcsinh(x), x

    return vjps(f, fwd, lambda x, g: (g / jnp.sqrt(x * x + 1),), lambda x, g: (g / (x * x + 1),))


@pairs(INVERSES, "*s -> *s", reals((6,), low=-0.9, high=0.9), domain=["x > -1", "x < 1"])
def fisher_z():
    """artanh, whose rule goes through half a logarithm."""

    def f(x):
        return jnp.arctanh(x)

    def fwd(x):
        z = 0.5 * (jnp.log1p(x) - jnp.log1p(-x))
        return z, z

    return vjps(f, fwd, lambda z, g: (g * jnp.cosh(z) ** 2,), lambda z, g: (g / jnp.cosh(z) ** 2,))


@pairs(INVERSES, "*s, *s -> *s", reals((6,), (6,), low=0.1), domain=["x > 0", "y > 0"])
def polar_angle():
    """atan2 in the first quadrant as an arc sine."""

    def f(y, x):
        return jnp.arcsin(y / jnp.sqrt(x * x + y * y))

    def fwd(y, x):
        return jnp.arctan2(y, x), (y, x)

    def right(saved, g):
        y, x = saved
        return g * x / (x * x + y * y), -g * y / (x * x + y * y)

    def wrong(saved, g):
        y, x = saved
        return g * x / (x * x + y * y), g * y / (x * x + y * y)

    return vjps(f, fwd, right, wrong)


@pairs(INVERSES, "*s -> *s", reals((6,)))
def gudermannian():
    """2·arctan(tanh(x/2)), whose slope is sech x."""

    def f(x):
        return 2 * jnp.arctan(jnp.tanh(x / 2))

    return jvps(
        f,
        lambda p, t: (f(p[0]), t[0] / jnp.cosh(p[0])),
        lambda p, t: (f(p[0]), t[0] / jnp.cosh(p[0]) ** 2),
    )


NORMAL = "erf and the normal distribution"


@pairs(NORMAL, "*s -> *s", reals((6,)))
def gelu_by_normal():
    """x·Φ(x): written by erf, differentiated by Φ and the density."""

    def f(x):
        return 0.5 * x * (1 + erf(x / jnp.sqrt(2.0)))

    def fwd(x):
        return x * norm.cdf(x), x

    def right(x, g):
        return (g * (norm.cdf(x) + x * norm.pdf(x)),)

    def wrong(x, g):
        return (g * (norm.cdf(x) + norm.pdf(x)),)

    return vjps(f, fwd, right, wrong)


@pairs(NORMAL, "*s, *s -> *s", reals((6,), (6,)))
def expected_improvement():
    """σ·(z·Φ(z) + φ(z)) with z = μ/σ, σ = e^s."""

    def f(mu, s):
        z = mu * jnp.exp(-s)
        return jnp.exp(s) * (z * 0.5 * erfc(-z / jnp.sqrt(2.0)) + jnp.exp(-z * z / 2) / jnp.sqrt(2 * jnp.pi))

    def fwd(mu, s):
        return f(mu, s), (mu, s)

    def right(saved, g):
        mu, s = saved
        z = mu * jnp.exp(-s)
        return g * ndtr(z), g * jnp.exp(s) * norm.pdf(z)

    def wrong(saved, g):
        mu, s = saved
        z = mu * jnp.exp(-s)
        return g * ndtr(z), g * norm.pdf(z)

    return vjps(f, fwd, right, wrong)


@pairs(NORMAL, "*s -> *s", reals((6,)))
def inverse_mills():
    """The logarithm of Φ; its slope is the density over Φ."""

    def f(x):
        return log_ndtr(x)

    def right(x, g):
        return (g * jnp.exp(norm.logpdf(x) - log_ndtr(x)),)

    def wrong(x, g):
        return (g * jnp.exp(norm.logpdf(x) - log_ndtr(-x)),)

    return vjps(f, lambda x: (f(x), x), right, wrong)


GAMMA = "gamma, digamma and beta by their recurrences"


@pairs(GAMMA, "*s -> *s", reals((6,), low=0.2, high=3.0), domain="x > 0")
def lgamma_shifted():
    """log Γ(x) = log Γ(x + 1) − log x, differentiated without the shift."""

    def f(x):
        return gammaln(x + 1) - jnp.log(x)

    return vjps(f, lambda x: (gammaln(x), x), lambda x, g: (g * digamma(x),), lambda x, g: (g * (digamma(x) - 1 / x),))


@pairs(GAMMA, "n, n -> n", reals((5,), (5,), low=0.3, high=3.0), domain=["a > 0", "b > 0"])
def beta_entropy_term():
    """log B(a + 1, b), by betaln and its recurrence."""

    def f(a, b):
        return betaln(a + 1, b)

    def fwd(a, b):
        return betaln(a, b) + jnp.log(a) - jnp.log(a + b), (a, b)

    def right(saved, g):
        a, b = saved
        both = digamma(a + b) + 1 / (a + b)
        return g * (digamma(a) + 1 / a - both), g * (digamma(b) - both)

    def wrong(saved, g):
        a, b = saved
        both = digamma(a + b)
        return g * (digamma(a) + 1 / a - both), g * (digamma(b) - both)

    return vjps(f, fwd, right, wrong)


@pairs(GAMMA, "n k -> n", reals((3, 4), low=0.5, high=3.0), domain="a > 0")
def dirichlet_multinomial_constant():
    """log of ∏ a_k / Σa under the shift of one count, in the terms of lgamma."""

    def f(a):
        t = jnp.sum(a, -1)
        return jnp.sum(gammaln(a + 2) - gammaln(a), -1) - (gammaln(t + 2) - gammaln(t))

    def right(a, g):
        t = jnp.sum(a, -1, keepdims=True)
        return (g[:, None] * (1 / a + 1 / (a + 1) - 1 / t - 1 / (t + 1)),)

    def wrong(a, g):
        t = jnp.sum(a, -1, keepdims=True)
        return (g[:, None] * (1 / a + 1 / (a + 1) - 1 / t),)

    return vjps(f, lambda a: (f(a), a), right, wrong)


@pairs(GAMMA, "*s -> *s", reals((6,), low=0.3, high=3.0), domain="x > 0")
def trigamma_recurrence():
    """ψ(x + 1), whose slope is ψ′(x) − 1/x²."""

    def f(x):
        return digamma(x + 1)

    return vjps(
        f,
        lambda x: (digamma(x) + 1 / x, x),
        lambda x, g: (g * (polygamma(1, x) - 1 / x**2),),
        lambda x, g: (g * (polygamma(1, x) + 1 / x**2),),
    )


LAYERS = "activations of a matrix product"


@pairs(LAYERS, "n k, k m, m -> n m", reals((3, 4), (4, 2), (2,)))
def linear_relu_from_output():
    """max(x·w + b, 0), whose mask is where the output is above 0. Wrong: the mask of the batch in reverse."""

    def f(x, w, b):
        return jnp.maximum(x @ w + b, 0)

    def fwd(x, w, b):
        y = f(x, w, b)
        return y, (x, w, y)

    def back(mask):
        def bwd(saved, g):
            x, w, y = saved
            g = g * mask(y)
            return g @ w.T, x.T @ g, g.sum(0)

        return bwd

    return vjps(f, fwd, back(lambda y: y > 0), back(lambda y: y[::-1] > 0))


@pairs(LAYERS, "n k, k m -> n m", reals((3, 4), (4, 2)))
def linear_leaky_relu():
    """A leaky relu of a product; the backward computes the product anew. Wrong: another slope."""

    def f(x, w):
        s = x @ w
        return jnp.where(s > 0, s, s / 8)

    def back(slope):
        def bwd(saved, g):
            x, w = saved
            g = g * jnp.where(x @ w > 0, 1, slope)
            return g @ w.T, x.T @ g

        return bwd

    return vjps(f, lambda x, w: (f(x, w), (x, w)), back(1 / 8), back(1 / 4))


@pairs(LAYERS, "n d, m d -> n m", reals((3, 4), (2, 4)))
def hinge_of_scores():
    """max(1 − q·k, 0)². Wrong: the mask keeps the scores that are above 1."""

    def f(q, k):
        return jnp.maximum(1 - q @ k.T, 0) ** 2

    def back(kept):
        def bwd(saved, g):
            q, k = saved
            s = q @ k.T
            g = jnp.where(kept(s), -2 * (1 - s) * g, 0)
            return g @ k, g.T @ q

        return bwd

    return vjps(f, lambda q, k: (f(q, k), (q, k)), back(lambda s: s < 1), back(lambda s: s > 1))
