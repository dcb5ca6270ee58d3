"""A loop that counts its iterations."""

import jax
import jax.numpy as jnp
from _driver import each
from torax._src.orchestration.whilei_loop import whilei_loop


def doubled():
    f = lambda x: whilei_loop(lambda s: s < 10.0, lambda i, s: s * 2.0, x)[1]  # noqa: E731
    jax.jvp(f, (jnp.array(1.0),), (jnp.array(1.0),))


each(doubled)
