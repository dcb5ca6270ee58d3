"""Options of a certified program: device, dtype, precision, memory. No proof depends on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from certgrad.errors import UsageError
from certgrad.obligations.tracing.jax_internals import kind_of

DTYPES = ("float64", "float32", "bfloat16", "float16")
PRECISIONS = {
    "default": jax.lax.Precision.DEFAULT,
    "high": jax.lax.Precision.HIGH,
    "highest": jax.lax.Precision.HIGHEST,
}


@dataclass(frozen=True)
class Options:
    """Options of a run. What a certificate says is about the program over the reals, which they leave as it is.

    `str(compiled)` and `str(step)` say what is in force.
    """

    device: Any = None
    """`"cpu"`, `"gpu"`, `"cpu:1"`, or a device of JAX, where arguments are put; where they are, if None."""
    dtype: str | None = None
    """Of all real numbers on the way, among `DTYPES`; that of the arguments, if None. A training step keeps parameters,
    gradients and state in the dtype of the parameters: `"bfloat16"` with parameters in float32, say."""
    matmul_precision: Literal["default", "high", "highest"] | None = None
    """Of products of matrices and convolutions that state none themselves; what the device takes, if None."""
    deterministic: bool = False
    """The same numbers in each run: on a GPU the operations whose order of sums is not fixed are left out."""
    remat: bool = False
    """The sweep computes values anew, in about as many parts as the square root of the number of nodes, and steps of
    loops, in place of keeping them: less memory, more time. (On a CPU XLA keeps values outside loops all the same, as
    it does those of `jax.checkpoint`.)"""
    donate: bool = False
    """Arguments (in a training step: parameters and state) give their memory to the results, and are gone."""

    def __post_init__(self) -> None:
        for what, given, known in (
            ("dtype", self.dtype, DTYPES),
            ("matmul_precision", self.matmul_precision, tuple(PRECISIONS)),
        ):
            if given is not None and given not in known:
                raise UsageError(f"The option {what} is {given!r}; there are {', '.join(known)}.")
        if self.dtype == "float64" and not jax.config.read("jax_enable_x64"):
            raise UsageError("float64 needs 64 bits: jax.config.update('jax_enable_x64', True) before anything runs.")
        _ = self.chosen  # an unknown device is an error here

    @property
    def chosen(self) -> Any:
        """The device of JAX, or None."""
        if not isinstance(self.device, str):
            return self.device
        kind, _, number = self.device.partition(":")
        try:
            found = jax.devices(kind)
            return found[int(number or 0)]
        except (RuntimeError, ValueError, IndexError):
            known = ", ".join(f"{d.platform}:{d.id}" for d in jax.devices())
            raise UsageError(f"There is no device '{self.device}' here; there are {known}.") from None

    @property
    def precision(self) -> Any:
        """The precision as JAX takes it."""
        return None if self.matmul_precision is None else PRECISIONS[self.matmul_precision]

    def placed(self, tree: Any) -> Any:
        """Return arrays on the device that was chosen."""
        return tree if self.device is None else jax.device_put(tree, self.chosen)

    def jit(self, function: Any, donated: Sequence[int] = ()) -> Any:
        """Return the function compiled as the options say; `donated` are the arguments that may be given up."""
        options = {"xla_gpu_deterministic_ops": True} if self.deterministic and self._platform == "gpu" else None
        return jax.jit(function, donate_argnums=tuple(donated) if self.donate else (), compiler_options=options)

    @property
    def _platform(self) -> str:
        return str((self.chosen or jax.devices()[0]).platform)

    def in_force(self, given: Sequence[Any] = (), kept: Sequence[Any] = ()) -> str:
        """Return the options in force as text, for arguments and parameters of these dtypes."""
        device = self.chosen or jax.devices()[0]
        where = f"{device.platform}:{device.id} ({device.device_kind})" + (
            "" if self.device else ", or where arrays are"
        )
        own = ", ".join(sorted({str(np.dtype(d)) for d in given if kind_of(d) == "f"})) or str(jnp.result_type(float))
        params = ", ".join(sorted({str(np.dtype(d)) for d in kept})) or own
        dtype = self.dtype or own
        rows = {
            "device": where,
            "dtype": dtype + (f", parameters in {params}" if kept and params != dtype else ""),
            "matmul precision": self.matmul_precision or f"that of {device.platform}",
            "deterministic": _determinism(self.deterministic, device.platform),
            "remat": "values are computed anew in the sweep" if self.remat else "values are kept for the sweep",
            "donation": "arguments are given up" if self.donate else "none",
        }
        return "\n".join(f"{name}: {said}" for name, said in rows.items())


PLAIN = Options()


def _determinism(asked: bool, platform: str) -> str:
    if platform == "cpu":
        return "yes, as always on a cpu"
    return "yes" if asked else "not asked for: sums may be taken in another order in each run"
