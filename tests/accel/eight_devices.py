"""What differs from one device on eight simulated ones, as JSON: `test_mesh.py` runs it in a process of its own."""

import json
import sys
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import certgrad
from certgrad.accel import GuardError, compile_graph
from certgrad.errors import UsageError
from certgrad.training import ADAM, train, training_step
from examples.models.transformers import gpt, gpt_parameters

RANDOM = np.random.default_rng(0)
MESH = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto, AxisType.Auto))
EXPLICIT = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Explicit, AxisType.Explicit))


def draw(*shape):
    return jnp.asarray(RANDOM.normal(size=shape) * 0.3, jnp.float32)


def mlp(params, x, target):
    return jnp.mean((jax.nn.relu(x @ params["W1"] + params["b1"]) @ params["W2"] - target) ** 2)


def on_mesh(body, inputs, output):
    return jax.shard_map(body, mesh=MESH, in_specs=inputs, out_specs=output)


def sharded(params, x, target):
    """The perceptron with what each device does written out: products over the model's axis, sums over the data's."""
    rows, columns, whole = PartitionSpec("data"), PartitionSpec(None, "model"), PartitionSpec()
    hidden = on_mesh(lambda x, w: jnp.tanh(x @ w), (rows, whole), rows)(x, params["W1"])
    product = on_mesh(lambda h, w: jax.lax.psum(h @ w, "model"), (columns, PartitionSpec("model")), whole)
    squares = (product(hidden, params["W2"]) - target) ** 2
    return on_mesh(lambda y: jax.lax.psum(jnp.sum(y), "data"), (rows,), whole)(squares) / target.size


def transformer(params, rows):
    return jnp.mean(jax.vmap(lambda row: gpt(params, row, 2))(rows))


def placed(tree, spec):
    """Each array on the mesh: by rows or columns over the model's axis where it has the size for it."""
    return jax.tree.map(lambda x: jax.device_put(x, NamedSharding(MESH, spec(x))), tree)


def over_model(x):
    if x.ndim == 2 and x.shape[1] % 2 == 0:
        return PartitionSpec(None, "model")
    return PartitionSpec("model") if x.ndim == 1 and x.shape[0] % 2 == 0 else PartitionSpec()


def over_data(x):
    return PartitionSpec("data")


def apart(found, wanted):
    """The largest difference of two trees, relative to the largest entry of each array."""
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True)
    return max(float(jnp.abs(a - b).max() / (jnp.abs(b).max() + 1e-30)) for a, b in pairs)


def main():
    models = {
        "mlp": (
            mlp,
            {"W1": draw(6, 16), "b1": draw(16), "W2": draw(16, 4)},
            (draw(8, 6), draw(8, 4)),
        ),
        "transformer": (
            transformer,
            gpt_parameters(draw, 10, 6, 8, 1),
            (jnp.asarray(RANDOM.integers(0, 10, (8, 7)), jnp.int32),),
        ),
    }
    out = {"devices": jax.device_count()}
    for name, (loss, params, data) in models.items():
        compiled = compile_graph(certgrad.trace(loss, params, *data))
        one = jax.devices()[0]
        alone = compiled.value_and_grad(*jax.device_put((params, *data), one))
        for axes, spec in (("data", lambda x: PartitionSpec()), ("model", over_model)):
            given = placed(params, spec), *placed(data, over_data)
            value, gradients = compiled.value_and_grad(*given)
            found = jax.device_get((value, gradients[0])), jax.device_get((alone[0], alone[1][0]))
            out[f"{name}, {axes}"] = apart(*found)
        leaf = jax.tree.leaves(gradients[0])[0]
        out[f"{name}, devices of a gradient"] = len(leaf.sharding.device_set)
    loss, params, (x, target) = models["mlp"]
    step = training_step(certgrad.trace(loss, params, x, target), ADAM, ["params"], monitor=True)
    start = step.start({"params": placed(params, over_model)})
    batches = [placed({"x": x, "target": target}, over_data)]
    with tempfile.TemporaryDirectory() as folder:
        train(step, start, batches, steps=3, folder=folder, log_every=1, save_every=1, progress=False)
        run = train(step, start, batches, steps=6, folder=folder, log_every=1, save_every=1, progress=False)
    whole = train(step, start, batches, steps=6, log_every=1, progress=False)
    plain = train(step, step.start({"params": params}), [{"x": x, "target": target}], steps=6, progress=False)
    out["resumed on the mesh"] = run.resumed
    out["training, resumed"] = apart(*jax.device_get((run.context.parameters, whole.context.parameters)))
    out["training, one device"] = apart(*jax.device_get((run.context.parameters, plain.context.parameters)))
    out["monitored"] = whole.log.entries[-1].metrics
    checked = compile_graph(certgrad.trace(loss, params, x, target), checked=True)
    broken = dict(params, W1=params["W1"].at[:, 3].set(0), b1=params["b1"].at[3].set(0))
    try:
        checked.value_and_grad(placed(broken, over_model), *placed((x, target), over_data))
        out["guard"] = ""
    except GuardError as error:
        out["guard"] = str(error)
    try:
        huge = dict(params, W2=params["W2"] * 1e30)
        checked.value_and_grad(placed(huge, over_model), *placed((x, target), over_data))
        out["not finite"] = ""
    except GuardError as error:
        out["not finite"] = str(error)
    in_parts = compile_graph(certgrad.trace(sharded, params, x, target))
    found, wanted = in_parts.value_and_grad(params, x, target), jax.value_and_grad(sharded)(params, x, target)
    out["shard_map"] = apart(jax.device_get((found[0], found[1][0])), jax.device_get(wanted))
    try:
        rows = jax.device_put(x, NamedSharding(EXPLICIT, PartitionSpec("data")))
        checked.forward(params, rows, target)
        out["explicit"] = ""
    except UsageError as error:
        out["explicit"] = str(error)
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
