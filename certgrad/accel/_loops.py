"""The reverse sweep of a loop: its steps from the last to the first, each by the sweep of the body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from certgrad.accel._residuals import Split, split_reverse_step
from certgrad.graph.induction.induction import Induction
from certgrad.graph.ir import Node
from certgrad.graph.points.run import dimension, length_of
from certgrad.obligations.tracing.jax_internals import scan_loop

if TYPE_CHECKING:
    from certgrad.accel._sweep import Sweep


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop of a certified graph, whose operands are constants, a carry and rows, with the sweep of its body."""

    induction: Induction
    node: Node
    body: Sweep

    @cached_property
    def _scan(self) -> Any:
        return scan_loop(self.induction.traced.equations[self.node.id].eqn)

    @property
    def _ends(self) -> tuple[int, int]:
        """The positions among the operands at which the constants end, and the carry ends."""
        return self._scan.consts, self._scan.consts + self._scan.carries

    @cached_property
    def _moving(self) -> list[bool]:
        """Whether each input of the body moves, and so has a cotangent."""
        inner = self.body.induction
        return [(n.id, 0) in inner.moving for n in inner.traced.ir.inputs]

    @property
    def _swept(self) -> list[bool]:
        """Return, for each stacked output, whether it has a cotangent."""
        inner = self.body.induction
        return [inner.is_moving(o) for o in inner.traced.ir.outputs[self._scan.carries :]]

    def kept(self, consts: list[Any], carry: list[Any], row: list[Any]) -> tuple[list[Any], list[Any]]:
        """Return the outputs of one step, and the residuals that the reverse of the step needs."""
        return self._split(consts, carry, row).before(consts, carry, row)

    def backward(self, operands: Sequence[Any], seeds: Sequence[Any], kept: Sequence[Any] | None) -> list[Any]:
        """Return a cotangent for each operand, None where it does not move.

        `seeds` are the cotangents of the results. `kept` has the residuals of all steps; with None the loop runs
        forward once more to have the carry of each step, and each step is computed anew in its reverse.
        """
        carry_start, row_start = self._ends
        consts, start, rows = (
            list(operands[:carry_start]),
            list(operands[carry_start:row_start]),
            list(operands[row_start:]),
        )
        length, reverse = length_of(dimension(self._scan.length, self.body.sizes)), self._scan.reverse
        carries: list[Any] = []
        step = None
        if kept is None:

            def forward(carry: list[Any], row: list[Any]) -> Any:
                out = self.body.outputs(self.body.running().values(self.body.induction.traced, [*consts, *carry, *row]))
                return out[: self._scan.carries], list(carry)

            _, carries = jax.lax.scan(forward, start, rows, length=length, reverse=reverse)
        else:
            types = [jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in rows]
            step = self._split(consts, start, types)
        moving = self._moving
        handed = [s for s, m in zip(seeds[: self._scan.carries], moving[carry_start:row_start], strict=True) if m]
        row_seeds = [s for s, m in zip(seeds[self._scan.carries :], self._swept, strict=True) if m]
        sums = [jnp.zeros_like(x) for x, m in zip(consts, moving[:carry_start], strict=True) if m]

        def back(state: Any, here: Any) -> Any:
            # The sums come first in the state, as in JAX's own sweep: in the other order XLA's CPU code is 15 % slower.
            added, handed = state
            carry, row, kept, of_row = here
            cotangents = [*handed, *of_row]
            if step is None:
                results = self._reverse(*consts, *carry, *row, *cotangents)[
                    len(self.body.induction.traced.ir.outputs) :
                ]
            else:
                results = step.after(consts, row, kept, cotangents)
            ends = len(added), len(added) + len(handed)
            added = [a + b for a, b in zip(added, results[: ends[0]], strict=True)]
            return (added, list(results[ends[0] : ends[1]])), list(results[ends[1] :])

        (added, handed), stacked = jax.lax.scan(
            back, (sums, handed), (carries, rows, kept or [], row_seeds), length=length, reverse=not reverse
        )
        cotangents = iter([*added, *handed, *stacked])
        return [next(cotangents) if m else None for m in moving]

    def _split(self, consts: Sequence[Any], carry: Sequence[Any], row: Sequence[Any]) -> Split:
        """Return the reverse of a step, split in two, at arrays of these types."""
        types = [jax.ShapeDtypeStruct(jnp.shape(x), x.dtype) for x in (*consts, *carry, *row)]
        first, last = self._ends
        out = jax.eval_shape(self._outputs, *types)
        carry_outputs = [x for x, m in zip(out[: self._scan.carries], self._moving[first:last], strict=True) if m]
        row_outputs = [x for x, m in zip(out[self._scan.carries :], self._swept, strict=True) if m]
        return split_reverse_step(
            self._reverse, types[:first], types[first:last], types[last:], [*carry_outputs, *row_outputs], len(out)
        )

    def _outputs(self, *inputs: Any) -> list[Any]:
        return self.body.outputs(self.body.run.values(self.body.induction.traced, inputs))

    def _reverse(self, *given: Any) -> list[Any]:
        """Return the outputs of one step, then the cotangents of its moving inputs.

        `given` are the inputs of the step, then the cotangents of its moving outputs.
        """
        inputs = self.body.induction.traced.ir.inputs
        arguments, rest = list(given[: len(inputs)]), iter(given[len(inputs) :])
        first, last = self._ends
        seeds = [next(rest) if m else None for m in (*self._moving[first:last], *self._swept)]
        values = self.body.forward(arguments)
        cotangents = self.body.backward(values, seeds)
        return self.body.outputs(values) + [
            cotangents.get((n.id, 0), jnp.zeros_like(x))
            for n, x, m in zip(inputs, arguments, self._moving, strict=True)
            if m
        ]
