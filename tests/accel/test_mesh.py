"""On a mesh of eight simulated devices gradients are those of one, up to the order of sums."""

import json
import os
import subprocess
import sys

import pytest

from tests.tutorial import ROOT


@pytest.mark.slow
def test_gradients_on_a_mesh_are_those_of_one_device() -> None:
    pytest.importorskip("orbax.checkpoint")
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
    done = subprocess.run(
        [sys.executable, "-m", "tests.accel.eight_devices"],
        cwd=ROOT,
        env={
            **os.environ,
            "XLA_FLAGS": flags,
            "JAX_PLATFORMS": "cpu",
            "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["devices"] == 8
    for model in ("mlp", "transformer"):
        for axes in ("data", "model"):
            assert found[f"{model}, {axes}"] < 2e-6
        assert found[f"{model}, devices of a gradient"] == 8
    assert found["resumed on the mesh"] == 3
    assert found["training, resumed"] == 0
    assert found["training, one device"] < 1e-4
    assert "relu" in found["guard"]
    assert "is the first that is infinite" in found["not finite"]
    assert found["shard_map"] < 2e-6
    assert "x is on a mesh whose axes are explicit" in found["explicit"]
    assert all(count == 0 for count in found["monitored"].values())
