"""Batches from what a user has: a list, a loader, a generator, a dataset with a state, or a function of the step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import jax

from certgrad.errors import UsageError

Batch = Mapping[str, Any]
Data: TypeAlias = Iterable[Batch] | Callable[[int, Any], Batch]
"""Batches by the names of the loss's arguments; or a function of the number of the step and a key of its own."""


class Batches:
    """The batch of each step in turn, from any step on."""

    def __init__(self, data: Data, key: Any, first: int = 0) -> None:
        self.data, self.key, self.step = data, key, first
        self._iterator: Iterator[Batch] | None = None

    def next(self) -> Batch | None:
        """Return the batch of the next step, or None where the data have come to an end."""
        found = self._by_step() if callable(self.data) else self._by_turn()
        if found is not None:
            self.step += 1
            if not isinstance(found, Mapping):
                raise UsageError(
                    f"A batch is a dictionary by the names of the loss's arguments, not {type(found).__name__}: "
                    "{'x': …, 'target': …}."
                )
        return found

    def state(self) -> Any:
        """Return the data's own record of their position, where they keep one (as iterators of grain do)."""
        return self._iterator.get_state() if hasattr(self._iterator, "get_state") else None  # type: ignore[union-attr]

    def forward(self, step: int, state: Any) -> None:
        """Go to a step: by the state that the data kept, or by passing over the batches before it."""
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
        assert callable(self.data)
        return self.data(self.step, jax.random.fold_in(self.key, self.step))

    def _by_turn(self) -> Batch | None:
        assert not callable(self.data)
        if self._iterator is None:
            self._iterator = iter(self.data)
        found = next(self._iterator, None)
        if found is None and self._iterator is not self.data:  # a list or a loader begins anew: the next epoch
            self._iterator = iter(self.data)
            found = next(self._iterator, None)
        return found
