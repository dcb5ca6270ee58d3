"""A map over devices is read as what it computes on them."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.sharding import AbstractMesh, AxisType
from jax.sharding import PartitionSpec as P

from certgrad.jaxpr.lowerings import idealised, lowered, why_not


@pytest.mark.parametrize(("every", "count"), [(8, 3), pytest.param(1, 19, marks=pytest.mark.slow)])
def test_programs_for_four_devices_are_read_as_they_run(every: int, count: int):
    devices = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "tests.devices.programs", str(every)]
    run = subprocess.run(command, env={**os.environ, **devices}, capture_output=True, text=True, timeout=300)
    assert f"{count} programs are read as they run" in run.stdout, run.stderr


def equation(f, x):
    mesh = AbstractMesh((4,), ("i",), axis_types=(AxisType.Auto,))
    mapped = jax.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=P("i"), check_vma=False)
    (eqn,) = jax.make_jaxpr(mapped)(x).eqns
    return eqn


@pytest.mark.parametrize(
    ("f", "reason"),
    [
        (lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1], [2, 3]]), "psum within groups of devices"),
        (
            lambda x: lax.cond(lax.axis_index("i") > 0, lambda x: lax.psum(x, "i"), lambda x: x, x),
            "a branch with a collective that some devices may not take",
        ),
        (
            lambda x: lax.while_loop(lambda x: jnp.sum(x) > 0, lambda x: x - lax.pmax(x, "i"), x),
            "a loop with a collective that some devices may leave before others",
        ),
    ],
)
def test_what_is_not_read_says_why(f, reason):
    eqn = equation(f, jnp.ones((4, 2)))
    assert lowered(eqn) is None
    assert why_not(eqn) == reason


def test_the_number_of_devices_is_said():
    assert idealised(equation(lambda x: x, jnp.ones((4, 2)))) == (
        "devices: 4 along i; another number of them is another program",
    )
