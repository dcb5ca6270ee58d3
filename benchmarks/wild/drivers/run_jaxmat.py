"""Eigenvalues of a symmetric tensor."""

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
from _driver import each  # noqa: E402
from jaxmat.tensors import SymmetricTensor2  # noqa: E402
from jaxmat.tensors.tensor_utils import eigenvalues  # noqa: E402

A = jnp.array([[2.0, 0.5, 0.1], [0.5, 3.0, 0.2], [0.1, 0.2, 4.0]])

each(
    lambda: jax.grad(lambda t: jnp.sum(eigenvalues(SymmetricTensor2(tensor=A * t)) ** 2))(1.5),
    lambda: jax.grad(lambda t: jnp.sum(eigenvalues(A * t) ** 2))(1.5),
)
