"""Checkpoints of a run, written by orbax: a kill at any moment leaves the last one that was whole.

orbax writes a checkpoint under another name and renames it when all of it is on disk.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from certgrad.errors import UsageError
from certgrad.process.logs import quiet
from certgrad.training._context import Context

_quiet = partial(quiet, "absl", logging.ERROR)
"""Silences orbax, which logs each file that it writes, but not its errors."""
_NEEDED = "Checkpoints need orbax-checkpoint. Install it with: pip install 'certgrad[train]'."


@dataclass(frozen=True)
class Saved:
    """A checkpoint: the context, and what else a run needs to go on: the position in the data, the state of a stop."""

    context: Context
    rest: Mapping[str, Any]


class Checkpoints:
    """The checkpoints in a folder, which is made if there is none. The last `keep` of them stay.

    Raises UsageError where orbax is not installed, or where the folder holds the checkpoints of another run: one that
    began elsewhere, or one of another certificate.
    """

    def __init__(self, folder: Path, start: Context, certificate: bytes, keep: int) -> None:
        try:
            import orbax.checkpoint as orbax
        except ImportError:
            raise UsageError(_NEEDED) from None
        self._orbax, self._start, self._certificate = orbax, start, hashlib.sha256(certificate).hexdigest()
        self._identity = _identity(start)
        self._folder = folder.absolute()
        options = orbax.CheckpointManagerOptions(max_to_keep=keep, cleanup_tmp_directories=True, create=True)
        with _quiet():
            self._manager = orbax.CheckpointManager(self._folder, options=options)

    def latest(self) -> Saved | None:
        """Return the last whole checkpoint, on the devices of the start; None if there is none.

        Raises UsageError for a checkpoint of another run.
        """
        step = self._manager.latest_step()
        if step is None:
            return None
        args = self._orbax.args
        with _quiet():
            about = self._manager.restore(step, args=args.Composite(about=args.JsonRestore()))["about"]
            self._check(about)
            types = jax.tree.map(_abstract, _arrays(self._start))
            arrays = self._manager.restore(step, args=args.Composite(arrays=args.StandardRestore(types)))["arrays"]
            arrays = jax.tree.map(_as_placed, arrays, _arrays(self._start))
        return Saved(_context(self._start, arrays, step), about["rest"])

    def save(self, context: Context, rest: Mapping[str, Any], wait: bool = False) -> None:
        """Begin to write a checkpoint, and return at once; with `wait`, when it is on disk."""
        args = self._orbax.args
        about = {"start": self._identity, "certificate": self._certificate, "rest": dict(rest)}
        with _quiet():
            self._manager.save(
                context.step,
                args=args.Composite(arrays=args.StandardSave(_arrays(context)), about=args.JsonSave(about)),
            )
            if wait:
                self._manager.wait_until_finished()

    def close(self) -> None:
        """Wait until all checkpoints are on disk, then close the folder."""
        with _quiet():
            self._manager.wait_until_finished()
            self._manager.close()

    def _check(self, about: Mapping[str, Any]) -> None:
        for key, own, what in (
            ("certificate", self._certificate, "whose certificate is another one"),
            ("start", self._identity, "that began from other parameters, hyperparameters or another key"),
        ):
            if about.get(key) != own:
                raise UsageError(
                    f"{self._folder} holds the checkpoints of a run {what}. Give this run a folder of its own, or "
                    "remove that one."
                )


def _arrays(context: Context) -> dict[str, Any]:
    """Return the parts of a context that are saved; gradients are not, since they belong to a past step."""
    return {
        "parameters": dict(context.parameters),
        "state": {k: dict(v) if isinstance(v, Mapping) else v for k, v in context.state.items()},
        "hyperparameters": dict(context.hyperparameters),
        "key": jax.random.key_data(context.key) if _typed(context.key) else context.key,
    }


def _context(start: Context, found: Mapping[str, Any], step: int) -> Context:
    key = found["key"]
    if _typed(start.key):
        key = jax.random.wrap_key_data(key, impl=jax.random.key_impl(start.key))
    ordered = {n: found["parameters"][n] for n in start.parameters}
    hyper = {n: found["hyperparameters"][n] for n in start.hyperparameters}
    return replace(
        start, parameters=ordered, gradients={}, state=found["state"], hyperparameters=hyper, key=key, step=step
    )


def _typed(key: Any) -> bool:
    return bool(jnp.issubdtype(key.dtype, jax.dtypes.prng_key))


def _abstract(x: Any) -> Any:
    array = jnp.asarray(x)
    return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=array.sharding)


def _as_placed(found: Any, start: Any) -> Any:
    """Return a restored array on its device; one that was committed to no device, such as a count, on none again."""
    return found if getattr(start, "committed", False) else jnp.asarray(np.asarray(found))


def _identity(context: Context) -> str:
    """Return a digest of all that a run's first context holds."""
    digest = hashlib.sha256()
    for path, x in jax.tree.leaves_with_path(_arrays(context)):
        array = np.asarray(x)
        digest.update(f"{jax.tree_util.keystr(path)} {array.dtype} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
