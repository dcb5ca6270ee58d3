"""The runtime context: everything that a training step reads and writes, in one value that can be printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


@dataclass(frozen=True)
class Context:
    """Named parameters, their last gradients, the optimizer's state, the RNG key, and how many steps were taken.

    A value, not a store: a step returns another one, and nothing is changed in place.
    """

    parameters: Mapping[str, Any]
    gradients: Mapping[str, Any]
    """Those of the last step, at the parameters before it; empty before the first step, or if they are not kept."""
    state: Mapping[str, Any]
    hyperparameters: Mapping[str, Any]
    key: Any
    step: int = 0

    def after(self, parameters: Mapping[str, Any], gradients: Mapping[str, Any], state: Mapping[str, Any]) -> Context:
        """Return the context one step on, with these values.

        It is made without `__init__`, which sets each field of a frozen dataclass by a call: a small step would notice.
        """
        new = object.__new__(Context)
        fields = new.__dict__
        fields["parameters"] = parameters
        fields["gradients"] = gradients
        fields["state"] = state
        fields["hyperparameters"] = self.hyperparameters
        fields["key"] = self.key
        fields["step"] = self.step + 1
        return new

    @property
    def backend(self) -> str:
        """Where the parameters are and how they are stored: `cpu (1 device), float32, jax 0.10.2`."""
        arrays = [jnp.asarray(p) for p in self.parameters.values()]
        devices = {d for a in arrays for d in a.devices()}
        platform = ", ".join(sorted({d.platform for d in devices})) or jax.default_backend()
        dtypes = ", ".join(sorted({str(a.dtype) for a in arrays}))
        count = max(len(devices), 1)
        return f"{platform} ({count} device{'s' if count > 1 else ''}), {dtypes}, jax {jax.__version__}"

    def split(self) -> tuple[Context, Any]:
        """Return the context with a new key, and a key to draw from."""
        key, draw = jax.random.split(self.key)
        return replace(self, key=key), draw

    def __str__(self) -> str:
        """Return a table of parameters and gradients with norms, then state, hyperparameters, RNG and backend."""
        rows = [("parameter", "type", "norm", "gradient's norm")]
        for name, value in self.parameters.items():
            gradient = self.gradients.get(name)
            rows.append((name, _type(value), _norm(value), "" if gradient is None else _norm(gradient)))
        widths = [max(len(row[k]) for row in rows) for k in range(4)]
        table = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        state = [f"{name} {_entry(value)}" for name, value in self.state.items()]
        hyper = [f"{k} = {_number(v)}" for k, v in self.hyperparameters.items()]
        return "\n".join(
            [
                f"after {self.step} step{'' if self.step == 1 else 's'}",
                *(f"  {line}" for line in table),
                f"state: {', '.join(state) or 'none'}",
                f"hyperparameters: {', '.join(hyper) or 'none'}",
                f"rng: {key_text(self.key)}",
                f"backend: {self.backend}",
            ]
        )


def key_text(key: Any) -> str:
    """Return the random generator and the words of a JAX key, as text."""
    if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        words = np.asarray(jax.random.key_data(key)).ravel()
        return f"{jax.random.key_impl(key)} {' '.join(map(str, words.tolist()))}"
    return " ".join(map(str, np.asarray(key).ravel().tolist()))


def _entry(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"of {len(value)} parameter{'' if len(value) == 1 else 's'}"
    return f"= {_number(value)}" if not np.ndim(value) else _type(value)


def _type(value: Any) -> str:
    array = jnp.asarray(value)
    return f"{array.dtype}[{', '.join(map(str, array.shape))}]"


def _norm(value: Any) -> str:
    return f"{float(jnp.linalg.norm(jnp.ravel(jnp.asarray(value)))):.4g}"


def _number(value: Any) -> str:
    return f"{np.asarray(value).item():.6g}"
