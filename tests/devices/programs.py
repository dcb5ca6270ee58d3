"""Programs for four devices, each with its arguments; run as a script, every n-th is compared with what is read of it.

It needs four devices, which JAX makes of a processor as it starts: `test_meaning.py` starts it.
"""

import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src.core import jaxpr_as_fun
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

from certgrad.jaxpr.lowerings import lowered, why_not

LINE, SQUARE = {"i": 4}, {"a": 2, "b": 2}
BOTH = ("a", "b")
PROGRAMS = {}


def program(sizes, ins, outs, *shapes, **options):
    def add(f):
        PROGRAMS[f.__name__] = f, sizes, ins, outs, shapes, options
        return f

    return add


@program(LINE, P("i"), (P(), P(), P(), P()), (8, 3))
def reductions(x):
    return lax.psum(x, "i"), lax.pmean(x, "i"), lax.pmax(x, "i"), lax.pmin(x, "i")


@program(LINE, (P(), P("i")), P("i"), (3,), (4,), check_vma=False)
def sum_of_what_all_hold(x, y):
    return lax.psum(x, "i").sum() * y


@program(SQUARE, P("a", "b"), (P(None, "b"), P("a"), P()), (4, 6))
def sums_over_one_axis_and_both(x):
    return lax.psum(x, "a"), lax.psum(x, "b"), lax.psum(x, BOTH)


@program(LINE, P(None, "i"), (P("i"), P(None, "i"), P("i")), (3, 8))
def gathers(x):
    stacked = lax.all_gather(x, "i")
    return stacked[:2], lax.all_gather(x, "i", axis=1), lax.all_gather(x, "i", axis=1, tiled=True)


@program(LINE, (P("i"), P()), (P("i"), P("i"), P(), P("i")), (8, 3), (5,))
def types_that_hide_a_sum(x, y):
    parts = lax.pcast(x * x, "i", to="unreduced")
    gathered = lax.pcast(lax.all_gather(x, "i", axis=1, tiled=True, to="reduced"), "i", to="varying")
    shared = lax.pcast(lax.pcast(y, "i", to="reduced"), "i", to="varying")
    every = lax.all_gather(x, "i", tiled=True, to="invarying")
    return gathered, shared * (1 + lax.axis_index("i")), lax.psum(parts, "i"), every[:2] * x


@program(LINE, P("i"), P("i"), (32, 3))
def parts_summed_where_they_go(x):
    return lax.psum_scatter(lax.pcast(x * x, "i", to="unreduced"), "i", tiled=True)


@program(SQUARE, P(("b", "a")), P(BOTH), (8, 3))
def gather_along_both(x):
    return lax.all_gather(x, BOTH, axis=1) * (1 + lax.axis_index(BOTH)) + lax.all_gather(x, ("b", "a"), axis=1)


@program(LINE, P("i"), (P("i"), P("i")), (16, 4))
def scatters(x):
    return lax.psum_scatter(x, "i"), lax.psum_scatter(x * x, "i", scatter_dimension=1, tiled=True)


@program(SQUARE, P(BOTH), P(("b", "a")), (32, 3))
def scatter_along_both(x):
    return lax.psum_scatter(x, ("b", "a"), scatter_dimension=0, tiled=True)


@program(LINE, P("i"), (P("i"), P("i"), P("i"), P("i")), (16, 8))
def exchanges(x):
    exchange = partial(lax.all_to_all, x, "i")
    return exchange(0, 1), exchange(0, 0), exchange(1, 0, tiled=True), exchange(0, 1, tiled=True)


@program(SQUARE, P("a", "b"), P("b", "a"), (16, 8))
def exchange_along_both(x):
    return lax.all_to_all(x, ("b", "a"), 0, 1, tiled=True)


@program(LINE, P("i"), (P("i"), P("i"), P("i")), (8, 3))
def permutations(x):
    turn = partial(lax.ppermute, x, "i")
    return turn([(j, (j + 1) % 4) for j in range(4)]), turn([(0, 2), (3, 1)]), turn([(2, 1), (3, 2)])


@program(SQUARE, P("a", "b"), P("a", "b"), (4, 6))
def permutation_along_both(x):
    return lax.ppermute(x, BOTH, [(0, 1), (1, 3), (3, 0)])


@program(SQUARE, (P("a"), P("b")), P("a", "b"), (2,), (2,))
def places(x, y):
    return (x * lax.axis_index("b"))[:, None] + y * lax.axis_index("a") + lax.axis_size(BOTH)


@program(LINE, (P("i"), P()), (P("i"), P(), P(None, "i")), (4, 3), (5,))
def a_loop_with_a_turn(x, steps):
    def step(carry, s):
        x, total = carry
        x = lax.ppermute(x, "i", [(j, (j + 1) % 4) for j in range(4)]) * s
        return (x, total + lax.psum(x[0], "i")), x[0]

    (x, total), rows = lax.scan(step, (x, jnp.zeros(3)), steps, reverse=True)
    return x, total, rows


@program(LINE, P("i"), P(), (4, 3))
def a_loop_until_all_are_small(x):
    def test(x):
        return lax.pmax(jnp.max(jnp.abs(x)), "i") > 0.1

    return lax.psum(lax.while_loop(test, lambda x: x / (1 + lax.axis_index("i") + 1), x), "i")


@program(LINE, P("i"), (P("i"), P("i")), (4, 3))
def branches(x):
    every = lax.psum(jnp.sum(x), "i") > 0
    shared = lax.cond(every, lambda x: x - lax.pmean(x, "i"), lambda x: lax.ppermute(x, "i", [(0, 1)]), x)
    return shared, lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x)


@program(SQUARE, P("a"), P("a"), (4, 6), axis_names={"a"})
def a_map_in_a_map(x):
    @partial(jax.shard_map, in_specs=P(None, "b"), out_specs=P(None, "b"), axis_names={"b"})
    def inner(x):
        return x - lax.psum(x, "b") * lax.axis_index("b")

    return inner(x) * (1 + lax.axis_index("a"))


@program(LINE, P("i"), P("i"), (4, 3), check_vma=False)
def a_batch_inside(x):
    def each(row):
        return row - lax.pmean(row, ("i", "rows"))

    return jax.vmap(each, axis_name="rows")(x.T).T


def compared(name):
    f, sizes, ins, outs, shapes, options = PROGRAMS[name]
    mesh = jax.make_mesh(tuple(sizes.values()), tuple(sizes), axis_types=(AxisType.Auto,) * len(sizes))
    mapped = jax.shard_map(f, mesh=mesh, in_specs=ins, out_specs=outs, **options)
    keys = jax.random.split(jax.random.key(0), len(shapes))
    operands = [jax.random.normal(key, shape) for key, shape in zip(keys, shapes, strict=True)]
    (eqn,) = jax.make_jaxpr(mapped)(*operands).eqns
    read = lowered(eqn)
    assert read is not None, why_not(eqn)
    expected = jax.tree.leaves(jax.jit(mapped)(*operands))
    for found, value in zip(jax.jit(jaxpr_as_fun(read))(*operands), expected, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-5, atol=1e-6, err_msg=name)
        assert found.dtype == value.dtype


if __name__ == "__main__":
    names = [*PROGRAMS][:: int(sys.argv[1])]
    for name in names:
        compared(name)
    print(len(names), "programs are read as they run")
