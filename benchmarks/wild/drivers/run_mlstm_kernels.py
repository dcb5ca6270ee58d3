"""The mLSTM's parallel forms, with the backward passes of their own."""

import jax
import jax.numpy as jnp
from _driver import each
from mlstm_kernels.jax.parallel import registry

Q, K, V = (jax.random.normal(k, (1, 2, 3, 4)) for k in jax.random.split(jax.random.PRNGKey(0), 3))
I, F = jnp.ones((1, 2, 3)), jnp.zeros((1, 2, 3))


def grad(form):
    f = lambda q, k, v, i, f: jnp.sum(registry[form](q, k, v, i, f, autocast_kernel_dtype=jnp.float32))  # noqa: E731
    jax.grad(f, (0, 1, 2, 3, 4))(Q, K, V, I, F)


each(*(lambda form=form: grad(form) for form in registry if form.endswith("custbw")))
