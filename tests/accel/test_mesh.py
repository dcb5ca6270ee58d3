"""On a mesh, of one process or of two, gradients are those of one device, up to the order of sums."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tutorial import ROOT


def simulating(devices: int) -> dict[str, str]:
    """The environment of a process with so many devices on the CPU."""
    return {
        **os.environ,
        "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}",
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    }


@pytest.mark.slow
def test_gradients_on_a_mesh_are_those_of_one_device() -> None:
    pytest.importorskip("orbax.checkpoint")
    done = subprocess.run(
        [sys.executable, "-m", "tests.accel.eight_devices"],
        cwd=ROOT,
        env=simulating(8),
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


@pytest.mark.slow
def test_gradients_on_a_mesh_over_two_processes_are_those_of_one_device(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    running = []
    for number in (0, 1):
        command = [sys.executable, "-m", "tests.accel.two_processes", str(number), port]
        with (tmp_path / f"{number}.out").open("w") as out, (tmp_path / f"{number}.err").open("w") as err:
            running.append(subprocess.Popen(command, cwd=ROOT, env=simulating(2), stdout=out, stderr=err))
    try:
        codes = [process.wait(timeout=240) for process in running]
    finally:
        for process in running:
            process.kill()
    assert codes == [0, 0], (tmp_path / "0.err").read_text()[-3000:]
    found = json.loads((tmp_path / "0.out").read_text().splitlines()[-1])  # gloo's own lines come before
    assert (found["processes"], found["devices"], found["own devices"]) == (2, 4, 2)
    assert found["devices of a gradient"] == 4
    assert found["gradients"] < 2e-6
    assert found["training"] < 1e-4
    assert all(count == 0 for count in found["monitored"].values())
    assert "relu" in found["guard"]
    assert "fails at 8 of 128 places" in found["guard"]
    assert "trained by 2 processes" in found["with a folder"]
