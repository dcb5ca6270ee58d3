"""Batches from what a user has: a list, a loader, a generator, a dataset with a state, or a function of the step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import jax

from certgrad.errors import UsageError

Batch = Mapping[str, Any]
Data: TypeAlias = Iterable[Batch] | Callable[[int, Any], Batch]
"""Batches by the names of the loss's arguments; or a function of a step's number and a random key for that step."""


class Batches:
    """Gives the batch of each step in turn, from any step on."""

    def __init__(self, data: Data, key: Any, first: int = 0) -> None:
        self.data, self.key, self.step = data, key, first
        self._iterator: Iterator[Batch] | None = None

    def next(self) -> Batch | None:
        """Return the next step's batch, or None at the end. Raises UsageError for a batch that is no dictionary."""
        batch = self._by_step() if callable(self.data) else self._by_turn()
        if batch is not None:
            self.step += 1
            if not isinstance(batch, Mapping):
                raise UsageError(
                    f"A batch is a dictionary by the names of the loss's arguments, not {type(batch).__name__}: "
                    "{'x': …, 'target': …}."
                )
        return batch

    def state(self) -> Any:
        """Return the iterator's record of its position, if it keeps one (as iterators of grain do); else None."""
        return self._iterator.get_state() if hasattr(self._iterator, "get_state") else None  # type: ignore[union-attr]

    def forward(self, step: int, state: Any) -> None:
        """Go to a step: by the iterator's `state`, or, if it is None, by passing over the batches before that step.

        Raises UsageError if the data end before.
        """
        if callable(self.data):
            self.step = step
        elif state is not None:
            self._iterator = iter(self.data)
            self._iterator.set_state(state)  # type: ignore[attr-defined]
            self.step = step
        else:
            while self.step < step:
                if self.next() is None:
                    raise UsageError(
                        f"The data end before step {step}, to which this run has come. Give the data from their start."
                    )

    def _by_step(self) -> Batch:
        """Return the batch of the function of a step, with the key that belongs to the step alone."""
        assert callable(self.data)
        return self.data(self.step, jax.random.fold_in(self.key, self.step))

    def _by_turn(self) -> Batch | None:
        """Return the next batch of the iterable, from its start again at its end; None if it gives no more."""
        assert not callable(self.data)
        if self._iterator is None:
            self._iterator = iter(self.data)
        batch = next(self._iterator, None)
        if batch is None and self._iterator is not self.data:  # a list or a loader begins anew: the next epoch
            self._iterator = iter(self.data)
            batch = next(self._iterator, None)
        return batch
