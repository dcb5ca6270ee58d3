"""Fidelities and circuits with the JAX interface."""

import jax
import jax.numpy as jnp
import pennylane as qml
from _driver import each

jax.config.update("jax_enable_x64", True)


def fidelity():
    a = jnp.array([[0.7, 0.1], [0.1, 0.3]], dtype=complex)
    b = jnp.array([[0.5, 0.2], [0.2, 0.5]], dtype=complex)
    jax.grad(lambda t: qml.math.fidelity(a * (1 - t) + b * t, b).real)(0.3)


def circuit(method, jitted):
    device = qml.device("default.qubit", wires=2)

    @qml.qnode(device, interface="jax", diff_method=method)
    def run(x):
        qml.RX(x[0], wires=0)
        qml.RY(x[1], wires=1)
        qml.CNOT(wires=[0, 1])
        return qml.expval(qml.PauliZ(1))

    f = jax.jit(run) if jitted else run
    jax.grad(f)(jnp.array([0.3, 0.4]))


each(
    fidelity,
    lambda: circuit("parameter-shift", False),
    lambda: circuit("parameter-shift", True),
    lambda: circuit("adjoint", False),
    lambda: circuit("adjoint", True),
)
