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
    """Options of a run. They do not change the program over the reals, which the certificate is about.

    `str(compiled)` and `str(step)` list the options in force.
    """

    device: Any = None
    """The device that arguments are put on: `"cpu"`, `"gpu"`, `"cpu:1"`, or a device of JAX. None leaves them."""
    dtype: str | None = None
    """The dtype of all real numbers in the program, among `DTYPES`; that of the arguments if None. A training step
    keeps parameters, gradients and state in the dtype of the parameters: `"bfloat16"` with float32 parameters, say."""
    matmul_precision: Literal["default", "high", "highest"] | None = None
    """The precision of matrix products and convolutions that state none themselves; the device's own if None."""
    deterministic: bool = False
    """Whether each run gives the same numbers: on a GPU, operations whose order of sums varies are not used."""
    remat: bool = False
    """Whether the sweep computes values anew in place of keeping them: less memory, more time. The n nodes are computed
    again in √n parts, and loops step by step. (On a CPU, XLA keeps values outside loops all the same, as it does those
    of `jax.checkpoint`.)"""
    donate: bool = False
    """Whether arguments (in a training step: parameters and state) give their memory to the results, and are lost."""

    def __post_init__(self) -> None:
        for what, given, known in (
            ("dtype", self.dtype, DTYPES),
            ("matmul_precision", self.matmul_precision, tuple(PRECISIONS)),
        ):
            if given is not None and given not in known:
                raise UsageError(f"The option {what} is {given!r}; there are {', '.join(known)}.")
        if self.dtype == "float64" and not jax.config.read("jax_enable_x64"):
            raise UsageError("float64 needs 64 bits: jax.config.update('jax_enable_x64', True) before anything runs.")
        _ = self.chosen  # raises for an unknown device

    @property
    def chosen(self) -> Any:
        """Return the device of JAX, or None. Raises UsageError for a device that is not there."""
        if not isinstance(self.device, str):
            return self.device
        kind, _, number = self.device.partition(":")
        try:
            devices = jax.devices(kind)
            return devices[int(number or 0)]
        except (RuntimeError, ValueError, IndexError):
            device_names = ", ".join(f"{d.platform}:{d.id}" for d in jax.devices())
            raise UsageError(f"There is no device '{self.device}' here; there are {device_names}.") from None

    @property
    def precision(self) -> Any:
        """Return the precision as JAX takes it."""
        return None if self.matmul_precision is None else PRECISIONS[self.matmul_precision]

    def placed(self, tree: Any) -> Any:
        """Return the arrays put on the chosen device; as they are if none is chosen."""
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
        own_dtype = ", ".join(sorted({str(np.dtype(d)) for d in given if kind_of(d) == "f"})) or str(
            jnp.result_type(float)
        )
        params = ", ".join(sorted({str(np.dtype(d)) for d in kept})) or own_dtype
        dtype = self.dtype or own_dtype
        rows = {
            "device": where,
            "dtype": dtype + (f", parameters in {params}" if kept and params != dtype else ""),
            "matmul precision": self.matmul_precision or f"that of {device.platform}",
            "deterministic": _determinism(self.deterministic, device.platform),
            "remat": "values are computed anew in the sweep" if self.remat else "values are kept for the sweep",
            "donation": "arguments are given up" if self.donate else "none",
        }
        return "\n".join(f"{name}: {value}" for name, value in rows.items())


PLAIN = Options()


def _determinism(asked: bool, platform: str) -> str:
    if platform == "cpu":
        return "yes, as always on a cpu"
    return "yes" if asked else "not asked for: sums may be taken in another order in each run"
