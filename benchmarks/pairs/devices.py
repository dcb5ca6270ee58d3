"""Many devices: part 8 of the issue. Needs four devices: XLA_FLAGS=--xla_force_host_platform_device_count=4."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

from benchmarks.pairs.form import Pairs, reals, vjp, vjps

PAIRS = pairs = Pairs()
DEVICES = 4


def sharded(ins, outs, axes=("i",), shape=(DEVICES,), **options):
    """`jax.shard_map` over named axes, under jit."""
    mesh = jax.make_mesh(shape, axes, axis_types=(AxisType.Auto,) * len(axes))
    return lambda f: jax.jit(jax.shard_map(f, mesh=mesh, in_specs=ins, out_specs=outs, **options))


REDUCED = "psum and pmean"


@pairs(REDUCED, "4 n -> ", reals((4, 3)))
def global_squared_norm():
    """A sum of squares over all devices."""

    @sharded(P("i"), P())
    def f(x):
        return lax.psum(jnp.sum(x * x), "i")

    return vjps(f, lambda x: (f(x), x), lambda x, g: (2 * g * x,), lambda x, g: (2 * g * x / DEVICES,))


@pairs(REDUCED, "4 n -> ", reals((4, 3)))
def mean_over_devices():
    """A mean over devices of local means; the backward runs on the devices too."""

    @sharded(P("i"), P())
    def f(x):
        return lax.pmean(jnp.mean(jnp.sin(x)), "i")

    def back(whole):
        @sharded((P("i"), P()), P("i"))
        def bwd(x, g):
            return g * jnp.cos(x) / (x.shape[1] * (DEVICES if whole else 1))

        return lambda x, g: (bwd(x, g),)

    return vjps(f, lambda x: (f(x), x), back(True), back(False))


@pairs(REDUCED, "4 n d -> 4 n d", reals((4, 3, 2)))
def synchronised_batch_norm():
    """Batch normalisation with statistics of all devices; the wrong backward has local means."""

    def stats(x, axis="i"):
        m = lax.pmean(jnp.mean(x, (0, 1)), axis)
        return m, lax.pmean(jnp.mean((x - m) ** 2, (0, 1)), axis)

    @sharded(P("i"), P("i"))
    def f(x):
        m, v = stats(x)
        return (x - m) / jnp.sqrt(v + 1e-5)

    def back(everywhere):
        @sharded((P("i"), P("i")), P("i"))
        def bwd(x, g):
            m, v = stats(x)
            r = 1 / jnp.sqrt(v + 1e-5)
            z = (x - m) * r

            def mean(a):
                a = jnp.mean(a, (0, 1))
                return lax.pmean(a, "i") if everywhere else a

            return r * (g - mean(g) - z * mean(g * z))

        return lambda x, g: (bwd(x, g),)

    return vjps(f, lambda x: (f(x), x), back(True), back(False))


@pairs(REDUCED, "2 2 n -> 2", reals((2, 2, 3)))
def sum_over_one_of_two_axes():
    """A sum over one named axis of two."""

    over = sharded(P("a", "b"), P("a"), axes=("a", "b"), shape=(2, 2))

    @over
    def f(x):
        return lax.psum(jnp.sum(x**3, axis=(1, 2)), "b")

    return vjps(
        f,
        lambda x: (f(x), x),
        lambda x, g: (3 * x * x * g[:, None, None],),
        lambda x, g: (3 * x * x * g[None, :, None],),
    )


GATHERED = "all_gather"


@pairs(GATHERED, "4 n -> 4 n", reals((4, 3)))
def product_with_everyones_sum():
    """Each device's row times the sum of all; the wrong backward forgets what others made of it."""

    @sharded(P("i"), P("i"))
    def f(x):
        return x * jnp.sum(lax.all_gather(x[0], "i"), axis=0)

    def back(others):
        @sharded((P("i"), P("i")), P("i"))
        def bwd(x, g):
            total = jnp.sum(lax.all_gather(x[0], "i"), axis=0)
            return g * total + (lax.psum(g * x, "i") if others else g * x)

        return lambda x, g: (bwd(x, g),)

    return vjps(f, lambda x: (f(x), x), back(True), back(False))


@pairs(GATHERED, "n k, 4 k m -> 4 n m", reals((2, 3), (4, 3, 2)))
def column_parallel_dense():
    """The columns of a weight on several devices; the input's cotangent is summed over them."""

    @sharded((P(), P("i")), P("i"))
    def f(x, w):
        return jnp.tanh(x @ w[0])[None]

    def back(summed):
        @sharded((P(), P("i"), P("i"), P("i")), (P(), P("i")), check_vma=False)
        def bwd(x, w, y, g):
            d = (g * (1 - y * y))[0]
            dx = d @ w[0].T
            return lax.psum(dx, "i") if summed else lax.pmean(dx, "i"), (x.T @ d)[None]

        return lambda saved, g: bwd(*saved, g)

    def fwd(x, w):
        y = f(x, w)
        return y, (x, w, y)

    return vjps(f, fwd, back(True), back(False))


PERMUTED = "ppermute and axis_index"


@pairs(PERMUTED, "4 n -> 4 n", reals((4, 3)))
def neighbour_differences():
    """x minus the row of the device before, squared; back in the other direction."""

    def turn(x, by):
        return lax.ppermute(x, "i", [(j, (j + by) % DEVICES) for j in range(DEVICES)])

    @sharded(P("i"), P("i"))
    def f(x):
        return (x - turn(x, 1)) ** 2

    def back(by):
        @sharded((P("i"), P("i")), P("i"))
        def bwd(x, g):
            d = 2 * g * (x - turn(x, 1))
            return d - turn(d, by)

        return lambda x, g: (bwd(x, g),)

    return vjps(f, lambda x: (f(x), x), back(-1), back(1))


@pairs(PERMUTED, "4 n -> 4 n", reals((4, 3)))
def open_chain_shift():
    """A shift with an end: the first device receives zeros."""

    @sharded(P("i"), P("i"))
    def f(x):
        return jnp.exp(lax.ppermute(x, "i", [(j, j + 1) for j in range(DEVICES - 1)]))

    def back(closed):
        pairs_ = [(j + 1, j) for j in range(DEVICES - 1)] + ([(0, DEVICES - 1)] if closed else [])

        @sharded((P("i"), P("i")), P("i"))
        def bwd(y, g):
            return lax.ppermute(g * y, "i", pairs_)

        return lambda y, g: (bwd(y, g),)

    def fwd(x):
        y = f(x)
        return y, y

    return vjps(f, fwd, back(False), back(True))


@pairs(PERMUTED, "4 n -> 4 n", reals((4, 3)))
def scaled_by_place():
    """Each device scales by its place, counted from one."""

    @sharded(P("i"), P("i"))
    def f(x):
        return x**2 * (lax.axis_index("i") + 1)

    def back(start):
        def bwd(x, g):
            return (2 * x * g * (jnp.arange(DEVICES)[:, None] + start),)

        return bwd

    return vjps(f, lambda x: (f(x), x), back(1), back(0))


LINEAR = "rules inside of shard_map"


@pairs(LINEAR, "n k, 4 k m, 4 m p -> n p", reals((2, 3), (4, 3, 2), (4, 2, 3)))
def megatron_block():
    """The pair of operators of tensor parallelism inside of a block: identity with psum backwards, and psum."""

    def block(right):
        enter = vjp(lambda x: x, lambda x: (x, None), lambda _, g: (lax.psum(g, "i") if right else g,))
        leave = vjp(lambda x: lax.psum(x, "i"), lambda x: (lax.psum(x, "i"), None), lambda _, g: (g,))
        return lambda x, w, v: leave(jnp.tanh(enter(x) @ w[0]) @ v[0])

    shards = (P(), P("i"), P("i"))

    def f(x, w, v):
        return sharded(shards, P(), check_vma=False)(block(True))(x, w, v)

    def rule(right):
        @sharded((*shards, P()), shards, check_vma=False)
        def back(x, w, v, g):
            return jax.vjp(block(right), x, w, v)[1](g)

        return vjp(f, lambda *args: (f(*args), args), lambda saved, g: back(*saved, g))

    def reference(x, w, v):
        return jnp.einsum("dnm,dmp->np", jnp.tanh(jnp.einsum("nk,dkm->dnm", x, w)), v)

    return rule(True), rule(False), reference


RING = "ring attention"


@pairs(RING, "4 t d, 4 t d, 4 t v -> 4 t v", reals((4, 2, 2), (4, 2, 2), (4, 2, 3)))
def ring_attention():
    """Keys and values go round; sums and a maximum are carried. The backward is that of plain attention."""

    def turn(x):
        return lax.ppermute(x, "i", [(j, (j + 1) % DEVICES) for j in range(DEVICES)])

    @sharded((P("i"), P("i"), P("i")), P("i"), check_vma=False)
    def f(q, k, v):
        m = l = o = None
        for _ in range(DEVICES):
            s = q[0] @ k[0].T
            new = jnp.max(s, -1) if m is None else jnp.maximum(m, jnp.max(s, -1))
            p = jnp.exp(s - new[:, None])
            scale = None if m is None else jnp.exp(m - new)
            l = jnp.sum(p, -1) if scale is None else l * scale + jnp.sum(p, -1)
            o = p @ v[0] if scale is None else o * scale[:, None] + p @ v[0]
            m, k, v = new, turn(k), turn(v)
        return (o / l[:, None])[None]

    def plain(q, k, v):
        q, k, v = (a.reshape(-1, a.shape[2]) for a in (q, k, v))
        p = jax.nn.softmax(q @ k.T, axis=-1)
        return q, k, v, p

    def back(centred):
        def bwd(saved, g):
            q, k, v, p = plain(*saved)
            h = g.reshape(-1, g.shape[2])
            dp = h @ v.T
            ds = p * (dp - jnp.sum(p * dp, -1, keepdims=True)) if centred else p * dp
            out = ds @ k, ds.T @ q, p.T @ h
            return tuple(d.reshape(a.shape) for d, a in zip(out, saved, strict=True))

        return bwd

    right, wrong = vjps(f, lambda *args: (f(*args), args), back(True), back(False))

    def reference(q, k, v):
        *_, flat, p = plain(q, k, v)
        return (p @ flat).reshape(v.shape)

    return right, wrong, reference


@pairs(RING, "4 t d, 4 t d -> 4 t d", reals((4, 2, 2), (4, 2, 2)))
def ring_linear_attention():
    """Unnormalised attention without a softmax around a ring, by a loop; backwards by a sum over all devices."""

    def turn(x):
        return lax.ppermute(x, "i", [(j, (j + 1) % DEVICES) for j in range(DEVICES)])

    @sharded((P("i"), P("i")), P("i"), check_vma=False)
    def f(q, k):
        def step(_, carry):
            k, o = carry
            return turn(k), o + (q[0] @ k[0].T) @ k[0]

        return lax.fori_loop(0, DEVICES, step, (k, jnp.zeros_like(q[0])))[1][None]

    def fwd(q, k):
        return f(q, k), (q, k)

    def back(both):
        def bwd(saved, g):
            q, k = saved
            s = jnp.einsum("jtd,jte->de", k, k)
            ds = jnp.einsum("itd,ite->de", q, g)
            return g @ s, k @ (ds + ds.T if both else ds)

        return bwd

    return vjps(f, fwd, back(True), back(False))
