"""Examples of maps over devices. They run where there are devices: `tests/devices/programs.py` compares them there."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AbstractMesh, AxisType
from jax.sharding import PartitionSpec as P

from tests.obligations.meaning.semantics.example import Example, example, real

ON, ALL = P("i"), P()
ROWS = real("a", "4 n")
MANY = real("a", "16 n")


def mapped(ins, outs, body, **options):
    mesh = AbstractMesh((4,), ("i",), axis_types=(AxisType.Auto,))
    return jax.shard_map(body, mesh=mesh, in_specs=ins, out_specs=outs, **options)


def cast(x, to):
    return lax.pcast(x, "i", to=to)


def reduced(x):
    return cast(cast(x * x, "reduced"), "varying")


def gathered(x, to):
    return lax.all_gather(x * x, "i", tiled=True, to=to)


SUM = mapped(ON, ALL, lambda x: lax.psum(jnp.sum(x * x, 0), "i"))
UNCHECKED = mapped(ON, ALL, lambda x: lax.psum(jnp.sum(x * x, 0), "i"), check_vma=False)
PARTS = mapped(ON, ALL, lambda x: lax.psum(cast(x * x, "unreduced"), "i"))

FROM_0_12 = jax.__version_info__ >= (0, 12)
"""Whether casts have the names without a `_p`."""

DEVICES: list[Example] = [
    example("shard_map", SUM, ROWS),
    example("psum", UNCHECKED, ROWS),
    example("psum_invariant", SUM, ROWS),
    example("pvary", mapped(ALL, ON, lambda x: cast(x * x, "varying")), ROWS),
    example("all_gather", mapped(ON, ON, lambda x: jnp.sum(lax.all_gather(x, "i"), 0)), ROWS),
    example("all_gather_invariant", mapped(ON, ALL, lambda x: gathered(x, "invarying")), ROWS),
    example("all_gather_reduced", mapped(ON, ON, lambda x: cast(gathered(x, "reduced"), "varying")), ROWS),
    example("preduced", mapped(ALL, ON, reduced), ROWS),
    example("reduced_vary_cast" if FROM_0_12 else "reduced_vary_cast_p", mapped(ALL, ON, reduced), ROWS),
    example("unreduced_psum", PARTS, ROWS),
    example("vary_unreduced_cast" if FROM_0_12 else "vary_unreduced_cast_p", PARTS, ROWS),
    example(
        "unreduced_reduce_scatter",
        mapped(ON, ON, lambda x: lax.psum_scatter(cast(x * x, "unreduced"), "i", tiled=True)),
        MANY,
    ),
    example("reduce_scatter", mapped(ON, ON, lambda x: lax.psum_scatter(x, "i", tiled=True)), MANY),
    example("all_to_all", mapped(ON, ON, lambda x: lax.all_to_all(x, "i", 0, 0, tiled=True)), MANY),
    example("ppermute", mapped(ON, ON, lambda x: lax.ppermute(x, "i", [(0, 1), (2, 0)])), ROWS),
    example("pbroadcast", mapped(ON, ON, lambda x: lax.pbroadcast(x, "i", 1)), ROWS),
]
