"""Rules of `shard_map` on four devices: sums forgotten or made twice, axes of the mesh exchanged, turns the wrong way.

Where JAX sees four devices the mesh is made of them; elsewhere it is an abstract one, which does for a proof. So what
shows that these are wrong runs in a process with four devices: `test_devices.py`.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AbstractMesh, AxisType, Mesh
from jax.sharding import PartitionSpec as P

from .attack import Attack
from .makers import saved

KIND = "B devices"
TURN = [(0, 1), (1, 2), (2, 3), (3, 0)]
BACK = [(k, j) for j, k in TURN]
BOTH = ("a", "b")
BLOCKS, TILES = P("i"), P("a", "b")


def mesh(**sizes):
    shape, names = tuple(sizes.values()), tuple(sizes)
    count = int(np.prod(shape))
    if len(jax.devices()) >= count:
        return Mesh(np.array(jax.devices()[:count]).reshape(shape), names)
    return AbstractMesh(shape, names, axis_types=(AxisType.Auto,) * len(shape))


def mapped(body, ins, outs, checked=True, **sizes):
    return jax.shard_map(body, mesh=mesh(**(sizes or {"i": 4})), in_specs=ins, out_specs=outs, check_vma=checked)


def one(
    name, forward, backward, plain, signature, *at, fwd_specs, bwd_specs, checked=True, fwd_mesh=None, bwd_mesh=None
):
    """`forward(*args)` and `backward(*args, g)` run on the devices."""

    def make():
        value = mapped(forward, *fwd_specs, checked, **(fwd_mesh or {}))
        back = mapped(backward, *bwd_specs, checked, **(bwd_mesh or fwd_mesh or {}))

        def bwd(args, g):
            found = back(*(args if isinstance(args, tuple) else (args,)), g)
            return found if isinstance(found, tuple) else (found,)

        return saved(value, bwd)()

    return Attack(f"devices_{name}", KIND, make, plain, signature, lambda: at)


def rows(name, forward, backward, plain, signature="4*n -> 4*n", *at, g=BLOCKS, out=None, **more):
    """One array of which each device has a block."""
    out = P("i") if out is None else out
    return one(
        name,
        forward,
        backward,
        plain,
        signature,
        *(at or (X8,)),
        fwd_specs=(P("i"), out),
        bwd_specs=((P("i"), g), P("i")),
        **more,
    )


def grid(name, forward, backward, plain, signature="2*n 2*m -> 2*n 2*m", *at, spec=TILES, out=TILES, **more):
    return one(
        name,
        forward,
        backward,
        plain,
        signature,
        *(at or (X44,)),
        fwd_specs=(spec, out),
        bwd_specs=((spec, out), spec),
        fwd_mesh={"a": 2, "b": 2},
        **more,
    )


X8 = np.array([1.0, -2.0, 0.5, 3.0, -1.0, 2.0, 1.5, 0.25])
X44 = np.sin(np.arange(16.0)).reshape(4, 4)
index = partial(lax.axis_index, "i")


def blocks(x, k=4):
    return x.reshape(k, -1)


def total_squares(x):
    return jnp.sum(x) ** 2


def loss_by_index(x):
    return x * x * jnp.repeat(jnp.arange(4), x.shape[0] // 4)


def by_place(x, names):
    """Squares, by the number of the device in some order of the axes."""
    return x * x * (1 + lax.axis_index(names))


def in_order(x, order):
    numbers = np.arange(4).reshape(2, 2)
    numbers = numbers if order == BOTH else numbers.T
    return x * x * (1 + jnp.repeat(jnp.repeat(jnp.asarray(numbers), x.shape[0] // 2, 0), x.shape[1] // 2, 1))


def around(x, steps):
    """Each block times the next, in a ring."""

    def step(_, c):
        other, acc = c
        other = lax.ppermute(other, "i", TURN)
        return other, acc + other

    return lax.fori_loop(0, steps, step, (x, x))[1]


def in_a_ring(back_steps):
    def backward(x, g):
        def step(_, c):
            other, acc = c
            other = lax.ppermute(other, "i", BACK)
            return other, acc + other

        return lax.fori_loop(0, back_steps, step, (g, g))[1]

    return backward


def ring_plain(x):
    b = blocks(x)
    return (b + jnp.roll(b, 1, 0) + jnp.roll(b, 2, 0)).reshape(-1)


def halo(x):
    before = lax.ppermute(x[-1:], "i", TURN[:3])
    return x * jnp.concatenate([before, x[:-1]])


def halo_back(x, g, perm=BACK, cyclic=TURN):
    before = lax.ppermute(x[-1:], "i", cyclic)
    other = g * x
    after = lax.ppermute(other[:1], "i", perm)
    return g * jnp.concatenate([before, x[:-1]]) + jnp.concatenate([other[1:], after])


def halo_plain(x):
    return x * jnp.concatenate([jnp.zeros(1), x[:-1]])


def psum(x):
    return lax.psum(x, "i")


ATTACKS_ON_DEVICES = [
    rows(
        "sum_forgotten",
        lambda x: psum(jnp.sum(x)) ** 2,
        lambda x, g: 2 * g * jnp.sum(x) + 0 * x,
        total_squares,
        "4*n -> ",
        out=P(),
        g=P(),
    ),
    rows(
        "sum_of_what_is_summed",
        lambda x: psum(jnp.sum(x)) ** 2,
        lambda x, g: 2 * lax.psum(lax.pcast(g, "i", to="varying"), "i") * psum(jnp.sum(x)) + 0 * x,
        total_squares,
        "4*n -> ",
        out=P(),
        g=P(),
    ),
    rows(
        "mean_for_sum",
        lambda x: psum(jnp.sum(x)) ** 2,
        lambda x, g: 2 * g * lax.pmean(jnp.sum(x), "i") + 0 * x,
        total_squares,
        "4*n -> ",
        out=P(),
        g=P(),
    ),
    rows(
        "mean_of_squares",
        lambda x: lax.pmean(jnp.mean(x * x), "i"),
        lambda x, g: 2 * g * x / x.shape[0],
        lambda x: jnp.mean(x * x),
        "4*n -> ",
        out=P(),
        g=P(),
    ),
    rows(
        "turned_the_same_way",
        lambda x: lax.ppermute(x, "i", TURN) * 2,
        lambda x, g: 2 * lax.ppermute(g, "i", TURN),
        lambda x: 2 * jnp.roll(x, x.shape[0] // 4),
    ),
    rows(
        "turned_without_an_end",
        lambda x: lax.ppermute(x, "i", TURN[:3]),
        lambda x, g: lax.ppermute(g, "i", BACK),
        lambda x: jnp.concatenate([jnp.zeros(x.shape[0] // 4), x[: -(x.shape[0] // 4)]]),
    ),
    rows(
        "turned_with_an_end_left_out",
        lambda x: lax.ppermute(x, "i", TURN),
        lambda x, g: lax.ppermute(g, "i", BACK[:3]),
        lambda x: jnp.roll(x, x.shape[0] // 4),
    ),
    rows(
        "turned_by_three",
        lambda x: lax.ppermute(lax.ppermute(x, "i", TURN), "i", TURN),
        lambda x, g: lax.ppermute(g, "i", BACK),
        lambda x: jnp.roll(x, x.shape[0] // 2),
    ),
    rows(
        "exchanged_neighbours",
        lambda x: lax.ppermute(x, "i", [(0, 1), (1, 0), (2, 3), (3, 2)]),
        lambda x, g: lax.ppermute(g, "i", [(0, 2), (2, 0), (1, 3), (3, 1)]),
        lambda x: blocks(x)[jnp.array([1, 0, 3, 2])].reshape(-1),
    ),
    rows("index_backwards", lambda x: x * x * index(), lambda x, g: 2 * x * g * (3 - index()), loss_by_index),
    rows("index_capped", lambda x: x * x * index(), lambda x, g: 2 * x * g * jnp.minimum(index(), 2), loss_by_index),
    rows(
        "index_that_is_positive",
        lambda x: x * x * index(),
        lambda x, g: 2 * x * g * jnp.where(index() > 1, index(), 1),
        loss_by_index,
    ),
    rows("ring_one_step_less", lambda x: around(x, 2), in_a_ring(1), ring_plain),
    rows("ring_one_step_more", lambda x: around(x, 2), in_a_ring(3), ring_plain),
    rows("halo_around", halo, halo_back, halo_plain),
    rows("halo_without_its_back", halo, partial(halo_back, perm=BACK[1:3] + BACK[:1], cyclic=TURN[:2]), halo_plain),
    rows(
        "largest_of_all_to_each",
        lambda x: lax.pmax(jnp.max(x), "i"),
        lambda x, g: g * (x == jnp.max(x)),
        jnp.max,
        "4*n -> ",
        out=P(),
        g=P(),
    ),
    rows(
        "gathered_and_not_summed",
        lambda x: lax.all_gather(x, "i", tiled=True)[:1] * x,
        lambda x, g: (
            g * lax.all_gather(x, "i", tiled=True)[:1]
            + jnp.where((jnp.arange(x.shape[0]) == 0) & (index() == 0), jnp.sum(g * x), 0)
        ),
        lambda x: x[0] * x,
    ),
    rows(
        "gathered_from_the_first",
        lambda x: lax.all_gather(x, "i", tiled=True)[:1] * x,
        lambda x, g: (
            g * lax.all_gather(x, "i", tiled=True)[:1] + jnp.where(jnp.arange(x.shape[0]) == 0, psum(jnp.sum(g * x)), 0)
        ),
        lambda x: x[0] * x,
    ),
    rows(
        "scattered_in_the_other_order",
        lambda x: lax.psum_scatter(jnp.tile(x, 4) * (1 + index()), "i", tiled=True),
        lambda x, g: (
            (1 + index())
            * jnp.sum(
                blocks(lax.all_gather(g, "i", tiled=True))
                * jnp.arange(4)[:, None] ** 0
                * jnp.where(index() == 3, 2, 1),
                0,
            )
        ),
        lambda x: jnp.tile(jnp.sum(blocks(x) * jnp.arange(1, 5)[:, None], 0), 4),
    ),
    rows(
        "number_of_devices_less_one",
        lambda x: x * x / lax.psum(1, "i"),
        lambda x, g: 2 * x * g / (lax.psum(1, "i") - 1),
        lambda x: x * x / 4,
    ),
    rows(
        "exchanged_and_kept",
        lambda x: lax.all_to_all(x, "i", 0, 0, tiled=True) ** 2,
        lambda x, g: 2 * lax.all_to_all(x, "i", 0, 0, tiled=True) * g,
        lambda x: x.reshape(4, 4, -1).swapaxes(0, 1).reshape(-1) ** 2,
        "16*n -> 16*n",
        np.sin(np.arange(16.0)),
    ),
    rows(
        "another_mesh",
        lambda x: x - lax.pmean(jnp.mean(x), "i"),
        lambda x, g: g - jnp.mean(g),
        lambda x: x - jnp.mean(x),
        bwd_mesh={"i": 2},
    ),
    rows(
        "first_device_for_all",
        lambda x: psum(x * x) * (1 + index()),
        lambda x, g: 2 * x * lax.all_gather(g, "i")[0] * 10,
        lambda x: (jnp.sum(blocks(x) ** 2, 0) * jnp.arange(1, 5)[:, None]).reshape(-1),
    ),
    grid(
        "axes_exchanged",
        lambda x: by_place(x, "a"),
        lambda x, g: 2 * x * g * (1 + lax.axis_index("b")),
        lambda x: x * x * (1 + (jnp.arange(x.shape[0]) >= x.shape[0] // 2))[:, None],
    ),
    grid(
        "axes_in_the_other_order",
        lambda x: by_place(x, BOTH),
        lambda x, g: 2 * x * g * (1 + lax.axis_index(("b", "a"))),
        lambda x: in_order(x, BOTH),
    ),
    grid(
        "summed_over_one_axis",
        lambda x: lax.psum(jnp.sum(x), BOTH) * x,
        lambda x, g: g * lax.psum(jnp.sum(x), BOTH) + lax.psum(jnp.sum(g * x), "a"),
        lambda x: jnp.sum(x) * x,
    ),
    grid(
        "summed_over_the_other_axis",
        lambda x: lax.psum(x, "a"),
        lambda x, g: g * lax.psum(1.0, "b") / 2 * jnp.where(lax.axis_index("a") > 0, 1.0, 2.0),
        lambda x: x[: x.shape[0] // 2] + x[x.shape[0] // 2 :],
        "2*n 2*m -> n 2*m",
        out=P(None, "b"),
    ),
    grid(
        "turned_along_the_other_axis",
        lambda x: lax.ppermute(x, "a", [(0, 1)]),
        lambda x, g: lax.ppermute(g, "b", [(1, 0)]),
        lambda x: jnp.concatenate([0 * x[: x.shape[0] // 2], x[: x.shape[0] // 2]]),
    ),
    one(
        "blocks_in_the_other_order",
        lambda x: x * x * (1 + lax.axis_index("a")),
        lambda x, g: 2 * x * g * (1 + lax.axis_index("a")),
        lambda x: x * x * jnp.repeat(jnp.array([1, 1, 2, 2]), x.shape[0] // 4),
        "4*n -> 4*n",
        X8,
        fwd_specs=(P(BOTH), P(BOTH)),
        bwd_specs=((P(("b", "a")), P(("b", "a"))), P(("b", "a"))),
        fwd_mesh={"a": 2, "b": 2},
    ),
]


if __name__ == "__main__":
    from .wrong import shown_wrong

    assert len(jax.devices()) == 4
    right = [attack.name for attack in ATTACKS_ON_DEVICES if not shown_wrong(attack)]
    print(f"{len(ATTACKS_ON_DEVICES) - len(right)} rules are wrong on four devices; not wrong: {right}")
