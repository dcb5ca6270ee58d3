"""Parts of libraries, certified one by one: layers, losses, optimisers and log-probabilities, as they stand.

They are entries of the corpus: `python -m benchmarks.corpus libraries` certifies them, and `reports/libraries.md` is
made of its records. Each library is a module with two things: `public()`, the names of its parts as the library itself
lists them, and `PARTS`, how each is called and at which shapes. A public name that has no entry is a row, "not tried".
"""

import importlib
from typing import Any

LIBRARIES = {
    "flax.linen": "flax_linen",
    "flax.nnx": "flax_nnx",
    "equinox.nn": "equinox_nn",
    "haiku": "haiku_modules",
    "optax losses": "optax_losses",
    "optax optimisers": "optax_optimisers",
    "jax.scipy.stats": "jax_stats",
    "distrax": "distrax_log_probs",
    "numpyro": "numpyro_log_probs",
}
"""The module of each."""
REFUSED = "JAX itself does not differentiate it"
NO_ENTRY = "no entry"
"""Why a part is not certified, and why it is not tried."""


def library(name: str) -> Any:
    """The module of a library: `public()` and `PARTS`."""
    return importlib.import_module(f"benchmarks.libraries.{LIBRARIES[name]}")
