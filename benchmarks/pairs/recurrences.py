"""Recurrences: part 3 of the issue."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.pairs.form import Pairs, reals, vjp, vjps

PAIRS = pairs = Pairs()

CARRIED = "relu, where and maxima on what a scan carries"


@pairs(CARRIED, "t, -> t", reals((6,), ()))
def relu_recurrence():
    """hₜ = relu(a·hₜ₋₁ + xₜ), backwards with the mask of each step."""

    def f(x, a):
        def step(h, xt):
            h = jax.nn.relu(a * h + xt)
            return h, h

        return lax.scan(step, jnp.zeros_like(a), x)[1]

    def fwd(x, a):
        h = f(x, a)
        return h, (h, a)

    def back(own):
        def bwd(saved, g):
            h, a = saved
            before = jnp.concatenate([jnp.zeros_like(h[:1]), h[:-1]])

            def step(lam, at):
                gt, ht, hb = at
                lam = (gt + lam) * ((ht if own else hb) > 0)
                return lam * a, (lam, lam * hb)

            _, (dx, da) = lax.scan(step, jnp.zeros_like(a), (g, h, before), reverse=True)
            return dx, jnp.sum(da)

        return bwd

    return vjps(f, fwd, back(True), back(False))


@pairs(CARRIED, "t -> ", reals((6,)))
def cusum():
    """The one-sided CUSUM statistic: s = max(0, s + x), the last one."""

    def f(x):
        return lax.scan(lambda s, xt: (jnp.maximum(0.0, s + xt), None), jnp.zeros((), x.dtype), x)[0]

    def fwd(x):
        def step(s, xt):
            s = jnp.maximum(0.0, s + xt)
            return s, s

        last, all_ = lax.scan(step, jnp.zeros((), x.dtype), x)
        return last, all_

    def back(each):
        def bwd(s, g):
            def step(lam, st):
                new = jnp.where(st > 0, lam, 0.0)
                return (new, new) if each else (lam, new)

            return (lax.scan(step, g, s, reverse=True)[1],)

        return bwd

    return vjps(f, fwd, back(True), back(False))


@pairs(CARRIED, "t, t:bool -> t", lambda r: (r.normal(size=6), r.random(6) < 0.4))
def cumsum_with_resets():
    """A running sum that starts again where it is told to."""

    def f(x, reset):
        def step(s, at):
            xt, rt = at
            s = jnp.where(rt, xt, s + xt)
            return s, s

        return lax.scan(step, jnp.zeros((), x.dtype), (x, reset))[1]

    def back(after):
        def bwd(reset, g):
            def step(lam, at):
                gt, rt = at
                if after:
                    lam = lam + gt
                    return jnp.where(rt, 0.0, lam), lam
                lam = jnp.where(rt, 0.0, lam) + gt
                return lam, lam

            return lax.scan(step, jnp.zeros((), g.dtype), (g, reset), reverse=True)[1], None

        return bwd

    return vjps(f, lambda x, reset: (f(x, reset), reset), back(True), back(False))


@pairs(CARRIED, "t d -> d", reals((5, 3)))
def running_maximum():
    """The maximum over time, carried; the first of equal entries."""

    def f(x):
        return lax.scan(lambda m, xt: (jnp.where(xt > m, xt, m), None), x[0], x)[0]

    def right(x, g):
        return (jnp.where(jnp.arange(x.shape[0])[:, None] == jnp.argmax(x, axis=0), g, 0.0),)

    def wrong(x, g):
        return (jnp.where(x >= x[0], g, 0.0),)

    return vjps(f, lambda x: (f(x), x), right, wrong)


LINEAR = "linear recurrences with products of coefficients"


def linear(a, b):
    def step(h, at):
        h = at[0] * h + at[1]
        return h, h

    return lax.scan(step, jnp.zeros_like(a[0]), (a, b))[1]


@pairs(LINEAR, "t d, t d -> t d", reals((5, 2), (5, 2)))
def linear_recurrence():
    """hₜ = aₜ·hₜ₋₁ + bₜ; backwards with aₜ₊₁."""

    def fwd(a, b):
        h = linear(a, b)
        return h, (a, h)

    def back(shifted):
        def bwd(saved, g):
            a, h = saved
            after = jnp.concatenate([a[1:], jnp.zeros_like(a[:1])]) if shifted else a
            before = jnp.concatenate([jnp.zeros_like(h[:1]), h[:-1]])
            lam = linear(after[::-1], g[::-1])[::-1]
            return lam * before, lam

        return bwd

    return vjps(linear, fwd, back(True), back(False))


@pairs(LINEAR, "t, t, t -> t", reals((5,), (5,), (5,)))
def generalized_advantages():
    """Aₜ = δₜ + γ·λ·kₜ·Aₜ₊₁ with δₜ = rₜ + γ·kₜ·vₜ₊₁ − vₜ and v = 0 after the end."""

    def f(r, v, keep):
        after = jnp.append(v[1:], 0.0)
        delta = r + 0.99 * keep * after - v

        def step(acc, at):
            acc = at[0] + 0.99 * 0.95 * at[1] * acc
            return acc, acc

        return lax.scan(step, jnp.zeros((), r.dtype), (delta, keep), reverse=True)[1]

    def fwd(r, v, keep):
        adv = f(r, v, keep)
        return adv, (v, keep, adv)

    def back(whole):
        def bwd(saved, g):
            v, keep, adv = saved

            def step(lam, at):
                lam = at[0] + lam
                return 0.99 * 0.95 * at[1] * lam, lam

            lam = lax.scan(step, jnp.zeros((), g.dtype), (g, keep))[1]
            dv = jnp.append(0.0, (0.99 * keep * lam)[:-1]) - lam
            dkeep = 0.99 * lam * (jnp.append(v[1:], 0.0) + (0.95 * jnp.append(adv[1:], 0.0) if whole else 0.0))
            return lam, dv, dkeep

        return bwd

    return vjps(f, fwd, back(True), back(False))


ASSOCIATIVE = "associative_scan"


def combine(one, other):
    return one[0] * other[0], other[0] * one[1] + other[1]


@pairs(ASSOCIATIVE, "t, t -> t", reals((5,), (5,)))
def recurrence_by_associative_scan():
    """The linear recurrence by a scan in the function and by associative_scan in the rule."""

    def right(a, b):
        h = lax.associative_scan(combine, (a, b))[1]
        return h, (a, h)

    def bwd(saved, g):
        a, h = saved
        after = jnp.append(a[1:], 0.0)
        lam = lax.associative_scan(combine, (after, g), reverse=True)[1]
        return lam * jnp.append(0.0, h[:-1]), lam

    def wrong(saved, g):
        a, h = saved
        after = jnp.append(a[1:], 0.0)
        lam = lax.associative_scan(combine, (after, g))[1]
        return lam * jnp.append(0.0, h[:-1]), lam

    return vjps(linear, right, bwd, wrong)


@pairs(ASSOCIATIVE, "t d -> t d", reals((5, 2)))
def cumulative_sum_by_associative_scan():
    """Prefix sums; their cotangents are suffix sums."""

    def f(x):
        return lax.associative_scan(jnp.add, x**2)

    return vjps(
        f,
        lambda x: (jnp.cumsum(x**2, axis=0), x),
        lambda x, g: (2 * x * lax.associative_scan(jnp.add, g, reverse=True),),
        lambda x, g: (2 * x * lax.associative_scan(jnp.add, g),),
    )


ATTENTION = "gated and delta-rule linear attention"


@pairs(ATTENTION, "t k, t k, t v, t -> t v", reals((4, 2), (4, 2), (4, 3), (4,), low=0.2, high=1.2))
def gated_linear_attention():
    """Sₜ = aₜ·Sₜ₋₁ + kₜvₜᵀ, oₜ = qₜᵀSₜ, backwards by one reverse scan."""

    def states(k, v, a):
        def step(s, at):
            kt, vt, at_ = at
            s = at_ * s + jnp.outer(kt, vt)
            return s, s

        return lax.scan(step, jnp.zeros((k.shape[1], v.shape[1]), k.dtype), (k, v, a))[1]

    def f(q, k, v, a):
        return jnp.einsum("tk,tkv->tv", q, states(k, v, a))

    def back(after):
        def bwd(saved, g):
            q, k, v, a = saved
            s = states(k, v, a)
            before = jnp.concatenate([jnp.zeros_like(s[:1]), s[:-1]])

            def step(lam, at):
                qt, gt, at_, sb = at
                lam = lam + jnp.outer(qt, gt)
                return (at_ * lam if after else lam), (lam, jnp.sum(lam * sb))

            _, (lam, da) = lax.scan(step, jnp.zeros_like(s[0]), (q, g, a, before), reverse=True)
            dq = jnp.einsum("tv,tkv->tk", g, s)
            return dq, jnp.einsum("tkv,tv->tk", lam, v), jnp.einsum("tkv,tk->tv", lam, k), da

        return bwd

    return vjps(f, lambda *args: (f(*args), args), back(True), back(False))


@pairs(ATTENTION, "t k, t v, t -> k v", reals((4, 2), (4, 3), (4,), low=-0.8, high=0.8))
def delta_rule_state():
    """S ← S + β·k(v − Sᵀk)ᵀ, the last state; the wrong rule forgets that the error holds k too."""

    def f(k, v, beta):
        def step(s, at):
            kt, vt, bt = at
            return s + bt * jnp.outer(kt, vt - s.T @ kt), None

        return lax.scan(step, jnp.zeros((k.shape[1], v.shape[1]), k.dtype), (k, v, beta))[0]

    def fwd(k, v, beta):
        def step(s, at):
            kt, vt, bt = at
            return s + bt * jnp.outer(kt, vt - s.T @ kt), s

        last, before = lax.scan(step, jnp.zeros((k.shape[1], v.shape[1]), k.dtype), (k, v, beta))
        return last, (k, v, beta, before)

    def back(whole):
        def bwd(saved, g):
            def step(lam, at):
                kt, vt, bt, s = at
                e = vt - s.T @ kt
                de = lam.T @ kt
                dk = bt * (lam @ e) - (bt * (s @ de) if whole else 0.0)
                return lam - bt * jnp.outer(kt, de), (dk, bt * de, jnp.sum(de * e))

            return lax.scan(step, g, saved, reverse=True)[1]

        return bwd

    return vjps(f, fwd, back(True), back(False))


STATE = "state-space layers"


@pairs(STATE, "t d, t d, d n, t n, t n -> t d", reals((3, 2), (3, 2), (2, 2), (3, 2), (3, 2), low=-0.9, high=0.9))
def selective_scan():
    """Mamba's selective scan: h = exp(Δ·A)·h + Δ·B·x, y = C·h."""

    def run(x, dt, a, b, c):
        def step(h, at):
            xt, dtt, bt, ct = at
            new = jnp.exp(dtt[:, None] * a) * h + (dtt * xt)[:, None] * bt
            return new, (new @ ct, h, new)

        return lax.scan(step, jnp.zeros_like(a), (x, dt, b, c))[1]

    def f(x, dt, a, b, c):
        return run(x, dt, a, b, c)[0]

    def fwd(x, dt, a, b, c):
        y, before, after = run(x, dt, a, b, c)
        return y, (x, dt, a, b, c, before, after)

    def back(whole):
        def bwd(saved, g):
            x, dt, a, b, c, before, after = saved

            def step(lam, at):
                xt, dtt, bt, ct, hb, ha, gt = at
                lam = lam + gt[:, None] * ct
                decay = jnp.exp(dtt[:, None] * a)
                through = lam * hb * decay
                into = lam @ bt
                ddt = into * xt + (jnp.sum(through * a, -1) if whole else 0.0)
                out = (into * dtt, ddt, through * dtt[:, None], (dtt * xt) @ lam, gt @ ha)
                return lam * decay, out

            _, (dx, ddt, da, db, dc) = lax.scan(step, jnp.zeros_like(a), (x, dt, b, c, before, after, g), reverse=True)
            return dx, ddt, jnp.sum(da, 0), db, dc

        return bwd

    return vjps(f, fwd, back(True), back(False))


@pairs(STATE, "t, -> t", lambda r: (r.normal(size=5), r.uniform(0.2, 0.9)), domain="a > 0")
def state_space_as_convolution():
    """A recurrence with one coefficient is a convolution with its powers."""

    def f(x, a):
        def step(h, xt):
            h = a * h + xt
            return h, h

        return lax.scan(step, jnp.zeros_like(a), x)[1]

    def kernel(t, a, less=0):
        lag = jnp.arange(t)[:, None] - jnp.arange(t)
        return jnp.where(lag >= 0, a ** (jnp.maximum(lag, 0) - less), 0.0), jnp.maximum(lag, 0)

    def fwd(x, a):
        return kernel(x.shape[0], a)[0] @ x, (x, a)

    def back(less):
        def bwd(saved, g):
            x, a = saved
            k, lag = kernel(x.shape[0], a)
            low, _ = kernel(x.shape[0], a, less)
            return g @ k, jnp.sum(g * ((lag * low) @ x))

        return bwd

    return vjps(f, fwd, back(1), back(0))


STREAM = "causal attention with a streaming maximum that starts at −∞"


@pairs(STREAM, "t -> ", reals((6,)))
def streaming_logsumexp():
    """logsumexp with a carried maximum and a sum that is scaled again at each step."""

    def value(rescale):
        def f(x):
            def step(carry, xt):
                m, s = carry
                new = jnp.maximum(m, xt)
                return (new, (s * jnp.exp(m - new) if rescale else s) + jnp.exp(xt - new)), None

            m, s = lax.scan(step, (jnp.array(-jnp.inf, x.dtype), jnp.zeros((), x.dtype)), x)[0]
            return m + jnp.log(s)

        return f

    def f(x):
        return jax.scipy.special.logsumexp(x)

    def rule(rescale):
        h = value(rescale)
        return vjp(f, lambda x: (h(x), x), lambda x, g: (g * jax.nn.softmax(x),))

    return rule(True), rule(False)


@pairs(STREAM, "t d, t d, t v -> t v", reals((4, 2), (4, 2), (4, 3)))
def causal_attention_over_keys():
    """Keys come one at a time; a query sees those up to its own place."""

    def f(q, k, v):
        t = jnp.arange(q.shape[0])

        def step(carry, at):
            m, l, o = carry
            j, kj, vj = at
            s = jnp.where(t >= j, q @ kj, -jnp.inf)
            new = jnp.maximum(m, s)
            p = jnp.where(t >= j, jnp.exp(s - new), 0.0)
            scale = jnp.where(jnp.isneginf(m), 0.0, jnp.exp(m - new))
            return (new, l * scale + p, o * scale[:, None] + p[:, None] * vj), None

        zero = jnp.zeros(q.shape[0], q.dtype)
        (_, l, o), _ = lax.scan(step, (zero - jnp.inf, zero, jnp.zeros_like(v)), (t, k, v))
        return o / l[:, None]

    def plain(q, k, v):
        mask = jnp.tril(jnp.ones((q.shape[0], k.shape[0]), bool))
        p = jax.nn.softmax(jnp.where(mask, q @ k.T, -jnp.inf), axis=-1)
        return p @ v, p

    def fwd(q, k, v):
        o = f(q, k, v)
        return o, (q, k, v, o)

    def back(delta):
        def bwd(saved, g):
            q, k, v, o = saved
            p = plain(q, k, v)[1]
            dp = g @ v.T
            ds = p * (dp - delta(g, o, dp))
            return ds @ k, ds.T @ q, p.T @ g

        return bwd

    right, wrong = vjps(
        f,
        fwd,
        back(lambda g, o, dp: jnp.sum(g * o, -1, keepdims=True)),
        back(lambda g, o, dp: jnp.sum(dp, -1, keepdims=True)),
    )
    return right, wrong, lambda q, k, v: plain(q, k, v)[0]


CHUNKS = "chunked forms with a symbolic number of chunks"


@pairs(CHUNKS, "k c -> k c", reals((4, 3)))
def chunked_cumsum():
    """Prefix sums of what is laid in chunks, the sum so far carried."""

    def f(x):
        def step(s, chunk):
            return s + jnp.sum(chunk), s + jnp.cumsum(chunk)

        return lax.scan(step, jnp.zeros((), x.dtype), x)[1]

    def right(_, g):
        def step(s, chunk):
            return s + jnp.sum(chunk), s + jnp.cumsum(chunk[::-1])[::-1]

        return (lax.scan(step, jnp.zeros((), g.dtype), g, reverse=True)[1],)

    def wrong(_, g):
        return (jnp.cumsum(g[:, ::-1], axis=1)[:, ::-1],)

    return vjps(f, lambda x: (jnp.cumsum(x.ravel()).reshape(x.shape), None), right, wrong)


@pairs(CHUNKS, "n c d, n c d, n c v -> n c v", reals((3, 2, 2), (3, 2, 2), (3, 2, 2)))
def chunked_linear_attention():
    """Causal linear attention: a state between chunks, a masked product within; the rule masks everything at once."""

    def f(q, k, v):
        within = jnp.tril(jnp.ones((q.shape[1], q.shape[1])))

        def step(s, at):
            qc, kc, vc = at
            return s + kc.T @ vc, qc @ s + (within * (qc @ kc.T)) @ vc

        return lax.scan(step, jnp.zeros((q.shape[2], v.shape[2]), q.dtype), (q, k, v))[1]

    def back(strict):
        def bwd(saved, g):
            q, k, v = (a.reshape(-1, a.shape[2]) for a in saved)
            h = g.reshape(-1, g.shape[2])
            mask = jnp.tril(jnp.ones((q.shape[0], q.shape[0])), -1 if strict else 0)
            dp = mask * (h @ v.T)
            out = dp @ k, dp.T @ q, (mask * (q @ k.T)).T @ h
            return tuple(d.reshape(a.shape) for d, a in zip(out, saved, strict=True))

        return bwd

    return vjps(f, lambda q, k, v: (f(q, k, v), (q, k, v)), back(False), back(True))


PRODUCTS = "cumprod, cummax, cumlogsumexp, prod"


@pairs(PRODUCTS, "n -> n", reals((5,), low=0.3, high=2.0), domain="x != 0")
def cumulative_product():
    """Prefix products; a suffix sum over x."""

    def f(x):
        return jnp.cumprod(x)

    def fwd(x):
        y = jnp.cumprod(x)
        return y, (x, y)

    return vjps(
        f,
        fwd,
        lambda saved, g: (jnp.cumsum((g * saved[1])[::-1])[::-1] / saved[0],),
        lambda saved, g: (jnp.cumsum(g * saved[1]) / saved[0],),
    )


@pairs(PRODUCTS, "n -> n", reals((6,)))
def cumulative_maximum():
    """Prefix maxima; each sends its cotangent to where it stands."""

    def f(x):
        return lax.cummax(x)

    def back(causal):
        def bwd(saved, g):
            x, y = saved
            hit = x[None, :] == y[:, None]
            if causal:
                hit = hit & jnp.tril(jnp.ones(hit.shape, bool))
            return (jnp.sum(jnp.where(hit, g[:, None], 0.0), 0 if causal else 1),)

        return bwd

    return vjps(f, lambda x: (f(x), (x, f(x))), back(True), back(False))


@pairs(PRODUCTS, "n d -> n d", reals((5, 2)))
def cumulative_logsumexp():
    """Prefix logsumexps along time."""

    def f(x):
        return lax.cumlogsumexp(x, axis=0)

    def fwd(x):
        y = f(x)
        return y, (x, y)

    def right(saved, g):
        x, y = saved
        return (jnp.exp(x) * lax.cumsum(g * jnp.exp(-y), axis=0, reverse=True),)

    def wrong(saved, g):
        x, y = saved
        return (lax.cumsum(g * jnp.exp(x - y), axis=0, reverse=True),)

    return vjps(f, fwd, right, wrong)


@pairs(PRODUCTS, "n d -> n", reals((3, 4)))
def product_by_exclusive_products():
    """prod without a division: the products before times those after."""

    def f(x):
        return jnp.prod(x, axis=-1)

    def back(shift):
        def bwd(x, g):
            one = jnp.ones_like(x[:, :1])
            before = jnp.cumprod(jnp.concatenate([one, x[:, :-1]], 1), 1)
            after = lax.cumprod(jnp.concatenate([x[:, 1:], one], 1) if shift else x, axis=1, reverse=True)
            return (g[:, None] * before * after,)

        return bwd

    return vjps(f, lambda x: (f(x), x), back(True), back(False))


@pairs(PRODUCTS, "n d -> n", reals((3, 4), low=0.3, high=2.0), domain="x != 0")
def product_over_entries():
    """prod, its cotangent by division."""

    def f(x):
        return jnp.prod(x, axis=-1)

    def fwd(x):
        y = f(x)
        return y, (x, y)

    return vjps(
        f,
        fwd,
        lambda saved, g: ((g * saved[1])[:, None] / saved[0],),
        lambda saved, g: ((g * saved[1])[:, None] / saved[0] ** 2,),
    )


LOOPS = "loops in loops of special functions"


@pairs(LOOPS, "*s -> *s", reals((4,)))
def rising_factorials():
    """x + x(x+1) + x(x+1)(x+2), a loop in a loop."""

    def f(x):
        def term(n, acc):
            return acc + lax.fori_loop(0, n + 1, lambda j, p: p * (x + j), jnp.ones_like(x))

        return lax.fori_loop(0, 3, term, jnp.zeros_like(x))

    right, wrong = vjps(
        f,
        lambda x: (f(x), x),
        lambda x, g: (g * (1 + (2 * x + 1) + (3 * x * x + 6 * x + 2)),),
        lambda x, g: (g * (1 + (2 * x + 1) + (3 * x * x + 3 * x + 2)),),
    )
    return right, wrong, lambda x: x + x * (x + 1) + x * (x + 1) * (x + 2)


@pairs(LOOPS, "n, -> ", reals((5,), (), low=-0.9, high=0.9))
def chebyshev_series():
    """Clenshaw's recurrence; the slope in the coefficients are the polynomials themselves."""

    def f(c, x):
        def step(carry, ck):
            b1, b2 = carry
            return (ck + 2 * x * b1 - b2, b1), None

        zero = jnp.zeros_like(x)
        b1, b2 = lax.scan(step, (zero, zero), c, reverse=True)[0]
        return b1 - x * b2

    def back(second):
        def bwd(saved, g):
            c, x = saved
            one = jnp.ones_like(x)

            def step(carry, ck):
                t, after, dt, dafter = carry
                new = 2 * x * after - t
                dnew = 2 * after + 2 * x * dafter - dt
                return (after, new, dafter, dnew), (t, ck * dt)

            first = (one, second(x), jnp.zeros_like(x), one * (second(one)))
            t, d = lax.scan(step, first, c)[1]
            return g * t, g * jnp.sum(d)

        return bwd

    return vjps(f, lambda c, x: (f(c, x), (c, x)), back(lambda x: x), back(lambda x: 2 * x))


CHECKPOINTED = "checkpointed_while_loop"


@pairs(CHECKPOINTED, ", -> ", reals((), (), low=0.2, high=0.9))
def checkpointed_power():
    """Eight steps z ← a·z + sin z in Equinox's checkpointed loop; the rule by a scan."""

    def f(z, a):
        def body(carry):
            i, z = carry
            return i + 1, a * z + jnp.sin(z)

        return eqx.internal.while_loop(
            lambda carry: carry[0] < 4, body, (0, z), max_steps=8, kind="checkpointed", checkpoints=4
        )[1]

    def fwd(z, a):
        def step(z, _):
            return a * z + jnp.sin(z), z

        last, path = lax.scan(step, z, None, length=4)
        return last, (path, a)

    def back(before):
        def bwd(saved, g):
            path, a = saved

            def step(carry, z):
                lam, da = carry
                new = lam * (a + jnp.cos(z))
                return (new, da + (lam if before else new) * z), None

            return lax.scan(step, (g, jnp.zeros_like(g)), path, reverse=True)[0]

        return bwd

    return vjps(f, fwd, back(True), back(False))


@pairs(CHECKPOINTED, "n -> n", reals((3,), low=0.2, high=0.9), static={"steps": 3})
def checkpointed_squaring():
    """Repeated x ← x²: x to the power 2^steps."""

    def f(x, steps):
        return eqx.internal.while_loop(
            lambda carry: carry[0] < steps,
            lambda carry: (carry[0] + 1, carry[1] ** 2),
            (0, x),
            max_steps=steps,
            kind="checkpointed",
        )[1]

    rules = []
    for power in (lambda s: 2**s - 1, lambda s: 2**s):
        rule = jax.custom_vjp(f, nondiff_argnums=(1,))
        rule.defvjp(
            lambda x, steps: (f(x, steps), x),
            lambda steps, x, g, power=power: (2**steps * x ** power(steps) * g,),
        )
        rules.append(rule)
    return tuple(rules)
