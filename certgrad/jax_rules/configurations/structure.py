"""Primitives that move, copy or mark entries and change none."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax._src.lax import lax as internal
from jax.ad_checkpoint import checkpoint_name
from jax.experimental.layout import Layout, with_layout_constraint
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from .._configuration import Configuration, configurations


def _one_device() -> jax.sharding.Sharding:
    return jax.sharding.SingleDeviceSharding(jax.devices()[0])


def _three_devices() -> jax.sharding.Sharding:
    return NamedSharding(AbstractMesh((3,), ("i",), axis_types=(AxisType.Explicit,)), P("i"))


MOVES: list[Configuration] = [
    *configurations(
        "broadcast_in_dim", lambda x: lax.broadcast_in_dim(x, (3, x.shape[0]), (1,)), "n", form="a new axis"
    ),
    *configurations(
        "broadcast_in_dim",
        lambda x, y: lax.broadcast_in_dim(x, (x.shape[0], y.shape[0]), (0, 1)),
        "n 1, m",
        form="an axis of size 1",
        differentiable=["x"],
    ),
    *configurations("concatenate", lambda x, y, axis: lax.concatenate([x, y], axis), "n m, n m", axis=[0, 1]),
    *configurations(
        "concatenate",
        lambda x, y, z: lax.concatenate([x, y, z, x], 0),
        "n d, m d, k d",
        form="other sizes, an operand twice",
    ),
    *configurations("reshape", lambda x: lax.reshape(x, (x.shape[0] * x.shape[1],)), "n m", form="merged"),
    *configurations("reshape", lambda x: lax.reshape(x, (x.shape[0] // 3, 3)), "3*n", form="split"),
    *configurations(
        "reshape",
        lambda x: lax.reshape(x, (x.shape[0] * x.shape[1],), dimensions=(1, 0)),
        "n m",
        form="dimensions=(1, 0)",
    ),
    *configurations("rev", lambda x, axes: lax.rev(x, axes), "n m", axes=[(0,), (1,), (0, 1)]),
    *configurations("squeeze", lambda x: lax.squeeze(x, (1,)), "n 1 m"),
    *configurations(
        "transpose", lambda x, order: lax.transpose(x, order), "n m k", order=[(0, 2, 1), (1, 2, 0), (2, 1, 0)]
    ),
    *configurations("slice", lambda x: lax.slice(x, (1, 0), x.shape), "n+1 m", form="from the second row"),
    *configurations("slice", lambda x, stride: lax.slice(x, (1,), (x.shape[0],), (stride,)), "n+3", stride=[2, 3]),
    *configurations(
        "pad",
        lambda x, y, low, high, inner: lax.pad(x, y, [(low, high, inner), (0, 0, 0)]),
        "n+2 m, ",
        low=[0, 1, -1],
        high=[0, 2, -1],
        inner=[0, 1],
    ),
    *configurations("split", lambda x: tuple(lax.split(x, (2, x.shape[0] - 2), 0)), "n+2 m"),
    *configurations("stack", lambda x, y, axis: jnp.stack([x, y], axis), "n m, n m", axis=[0, 1, 2]),
    *configurations("unstack", lambda x, axis: tuple(jnp.unstack(x, axis=axis)), "2 n", axis=[0]),
    *configurations("unstack", lambda x, axis: tuple(jnp.unstack(x, axis=axis)), "n 2", axis=[1]),
    *configurations("tile", lambda x, reps: lax.tile(x, reps), "n m", reps=[(2, 1), (1, 3), (2, 3)]),
]

MARKS: list[Configuration] = [
    *configurations("add_any", lambda x: x * jnp.sin(x), "*s", form="two cotangents of one value"),
    *configurations("copy", jnp.copy, "*s"),
    *configurations("tie", lambda x, y: internal.tie_p.bind(x, y), "*s, *s"),
    *configurations("optimization_barrier", lambda x, y: tuple(lax.optimization_barrier((x, y))), "*s, *s"),
    *configurations("name", lambda x: checkpoint_name(x, "x"), "*s"),
    *configurations("device_put", lambda x: jax.device_put(x, jax.devices()[0]), "*s"),
    *configurations("sharding_constraint", lambda x: lax.with_sharding_constraint(x, _one_device()), "*s"),
    *configurations("reshard", lambda x: jax.sharding.reshard(x * x, _three_devices()), "3*n"),
    *configurations("layout_constraint", lambda x: with_layout_constraint(x, Layout((0,))), "n"),
]

STRUCTURE: list[Configuration] = [*MOVES, *MARKS]
