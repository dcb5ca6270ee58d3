"""One of two processes of `jax.distributed` on this machine; `test_mesh.py` runs both.

`python -m tests.accel.two_processes NUMBER PORT`: process 0 prints, as JSON, what differs from one device.
"""

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import certgrad
from certgrad.accel import GuardError, compile_graph
from certgrad.errors import UsageError
from certgrad.training import ADAM, train, training_step

RANDOM = np.random.default_rng(0)


def draw(*shape):
    return RANDOM.normal(size=shape).astype(np.float32) * 0.3


def mlp(params, x, target):
    return jnp.mean((jax.nn.relu(x @ params["W1"] + params["b1"]) @ params["W2"] - target) ** 2)


def apart(found, wanted):
    """The largest difference of two trees, relative to the largest entry of each array."""
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True)
    return max(float(np.abs(a - b).max() / (np.abs(b).max() + 1e-30)) for a, b in pairs)


def main(number: int, port: str) -> None:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"localhost:{port}", num_processes=2, process_id=number)
    count = jax.device_count()
    mesh = jax.make_mesh((2, count // 2), ("data", "model"), axis_types=(AxisType.Auto, AxisType.Auto))

    def placed(x, *axes):
        """An array of all processes: each puts its own parts on its own devices."""
        whole = np.asarray(x)
        sharding = NamedSharding(mesh, PartitionSpec(*axes))
        return jax.make_array_from_callback(whole.shape, sharding, lambda index: whole[index])

    params = {"W1": draw(6, 16), "b1": draw(16), "W2": draw(16, 4)}
    x, target = draw(8, 6), draw(8, 4)
    graph = certgrad.trace(mlp, params, x, target)
    compiled = compile_graph(graph)
    alone = jax.device_get(compiled.value_and_grad(params, x, target))
    everywhere = {n: placed(p, None, "model") if p.ndim == 2 else placed(p, "model") for n, p in params.items()}
    rows = placed(x, "data"), placed(target, "data")
    value, gradients = compiled.value_and_grad(everywhere, *rows)
    out = {"processes": jax.process_count(), "devices": count, "own devices": jax.local_device_count()}
    out["devices of a gradient"] = len(gradients[0]["W1"].sharding.device_set)
    out["gradients"] = apart(gathered((value, gradients[0])), (alone[0], alone[1][0]))
    step = training_step(graph, ADAM, ["params"], monitor=True)
    batch = dict(zip(("x", "target"), rows, strict=True))
    run = train(step, step.start({"params": everywhere}), [batch], steps=6, progress=False)
    plain = train(step, step.start({"params": params}), [{"x": x, "target": target}], steps=6, progress=False)
    out["training"] = apart(gathered(run.context.parameters), jax.device_get(dict(plain.context.parameters)))
    out["monitored"] = run.log.entries[-1].metrics
    dead = np.arange(16) != 3  # the fourth unit of the first layer is 0 for every row
    broken = {**everywhere, "W1": placed(params["W1"] * dead), "b1": placed(params["b1"] * dead)}
    try:
        compile_graph(graph, checked=True).value_and_grad(broken, *rows)
        out["guard"] = ""
    except GuardError as error:
        out["guard"] = str(error)
    try:
        train(step, step.start({"params": everywhere}), [batch], steps=1, folder="nowhere", progress=False)
    except UsageError as error:
        out["with a folder"] = str(error)
    if number == 0:
        json.dump(out, sys.stdout)
    jax.distributed.shutdown()


def gathered(tree):
    """The whole arrays, in each process."""
    return multihost_utils.process_allgather(tree, tiled=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
