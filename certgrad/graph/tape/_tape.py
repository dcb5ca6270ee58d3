"""The eager tape: operations are recorded as they run, each with its value, its parents and its VJP closure."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import certgrad
from certgrad.errors import TraceError, UsageError
from certgrad.graph.tape._sweep import Sweep, swept
from certgrad.graph.tape._value import Value, is_real, is_value
from certgrad.graph.tracing import jaxpr
from certgrad.graph.tracing.trace import TracedGraph, trace

_PACKAGE = str(Path(certgrad.__file__).parent)


@dataclass(frozen=True)
class Record:
    """One operation that ran, or an input."""

    id: int
    name: str
    outputs: tuple[Any, ...]
    """The arrays that it returned."""
    parents: tuple[Value, ...] = ()
    """The values of the tape that it read, in order; a value that is read twice is listed twice."""
    arguments: str = ""
    """Its arguments, for the views: `%0, 2.0, axis=1`."""
    vjp: Callable[[Sequence[Any]], list[Any]] | None = field(default=None, repr=False)
    """The map from cotangents of the real outputs to those of the real parents; None where no parent is real."""
    replay: Callable[[Sequence[Any]], list[Any]] | None = field(default=None, repr=False)
    """The same call as a function of the parents' values, to run it again; None for an input."""
    source: str = ""
    place: Any = field(default=None, repr=False)

    @property
    def is_input(self) -> bool:
        return self.replay is None


class Tape:
    """Records operations on its values, in the order in which they run.

    tape = Tape()
    x, W = tape.input("x", x), tape.input("W", W)
    loss = np.mean(np.maximum(x @ W, 0) ** 2)
    sweep = tape.backward(loss)

    Operators, the methods of arrays, numpy's functions and the ops of certgrad take values of a tape; for any other JAX
    function there is `tape.apply`. Nothing is hidden in a value: gradients are what `backward` returns.
    """

    def __init__(self) -> None:
        self.records: list[Record] = []

    def input(self, name: str, value: Any) -> Value:
        """Return an array as a value of the tape that gets a gradient, under this name.

        Raises UsageError for a name that is taken, or is no identifier.
        """
        if not name.isidentifier():
            raise UsageError(
                f"'{name}' cannot name an input of a tape. Use a name as Python has them, such as x or W1."
            )
        if any(r.is_input and r.name == name for r in self.records):
            raise UsageError(f"The tape has an input '{name}' already. Name each input once.")
        array = jnp.array(value)
        self.records.append(Record(len(self.records), name, (array,), source=_source()))
        return Value(self, len(self.records) - 1, 0, array)

    @property
    def inputs(self) -> dict[str, Value]:
        """Return the inputs by name."""
        return {r.name: Value(self, r.id, 0, r.outputs[0]) for r in self.records if r.is_input}

    def apply(self, function: Callable, *args: Any, **kwargs: Any) -> Any:
        """Run a JAX function on values and other arguments, and record it as one operation.

        Return the function's result, with values in place of arrays. Raises UsageError for values of another tape.
        """
        flat, tree = jax.tree.flatten((args, kwargs), is_leaf=is_value)
        flat = [_copied_array(x) if isinstance(x, np.ndarray) else x for x in flat]
        places = [k for k, x in enumerate(flat) if is_value(x)]
        parents = tuple(flat[k] for k in places)
        if any(p.tape is not self for p in parents):
            raise UsageError("A value of one tape was used on another. Keep one tape for one computation.")
        structure: list[Any] = []  # how the function nests its result, known once it has run

        def call(arrays: Sequence[Any]) -> list[Any]:
            all_args = list(flat)
            for k, x in zip(places, arrays, strict=True):
                all_args[k] = x
            positional, keywords = jax.tree.unflatten(tree, all_args)
            leaves, nested = jax.tree.flatten(function(*positional, **keywords))
            structure[:] = [nested]
            return [jnp.asarray(y) for y in leaves]

        outputs, vjp = _with_vjp(call, [p.value for p in parents])
        self.records.append(
            Record(
                len(self.records),
                str(getattr(function, "name", "") or getattr(function, "__name__", "") or "function"),
                tuple(outputs),
                parents,
                _arguments(args, kwargs),
                vjp,
                call,
                _source(),
                jaxpr.current_traceback(),
            )
        )
        record_id = len(self.records) - 1
        return jax.tree.unflatten(structure[0], [Value(self, record_id, k, y) for k, y in enumerate(outputs)])

    def backward(self, outputs: Value | Sequence[Value], seeds: Any = None) -> Sweep:
        """Return the reverse sweep from these values, each with its seed; without seeds, a scalar's seed is 1.

        Raises UsageError for a seed of another shape, a missing one, or an output that is no real number.
        """
        chosen: Sequence[Value] = [outputs] if isinstance(outputs, Value) else list(outputs)
        if seeds is None:
            seed_list: list[Any] = [None] * len(chosen)
        else:
            seed_list = [seeds] if isinstance(outputs, Value) else list(seeds)
        if len(seed_list) != len(chosen):
            raise UsageError(
                f"There are {len(chosen)} outputs and {len(seed_list)} seeds. Pass one seed for each output."
            )
        return swept(self, [(y, self._seed(y, s)) for y, s in zip(chosen, seed_list, strict=True)])

    def _seed(self, output: Value, seed: Any) -> Any:
        """Return the seed of an output in its dtype: 1 for a scalar without one. Raises UsageError."""
        if not is_value(output) or output.tape is not self:
            raise UsageError("Only values of this tape can be swept back from.")
        if not is_real(output.value):
            raise UsageError(f"{output.label} is an array of {output.dtype}: only real numbers have gradients.")
        if seed is None:
            if output.shape:
                shape = ", ".join(map(str, output.shape))
                raise UsageError(
                    f"{output.label} has shape ({shape}), not that of a scalar. Pass a seed of this shape."
                )
            return jnp.ones((), output.dtype)
        seed = jnp.asarray(seed, output.dtype)
        if seed.shape != output.value.shape:
            raise UsageError(
                f"The seed has shape {seed.shape}, and {output.label} has {output.shape}. Make them the same."
            )
        return seed

    def function(self, outputs: Value | Sequence[Value]) -> Callable[..., Any]:
        """Return a function of the inputs, in their order, that makes the recorded calls again, in theirs."""
        single = isinstance(outputs, Value)
        chosen: list[Any] = [outputs] if single else list(outputs)
        needed = self._needed(chosen)
        inputs = list(self.inputs.values())

        def tape(*arrays: Any) -> Any:
            values: dict[int, Sequence[Any]] = {v.record: [x] for v, x in zip(inputs, arrays, strict=True)}
            for record in self.records:
                if record.id in needed and record.replay is not None:
                    with jaxpr.as_written_at(record.place):
                        values[record.id] = record.replay([values[p.record][p.output] for p in record.parents])
            results = [values[y.record][y.output] for y in chosen]
            return results[0] if single else results

        return tape

    def graph(self, outputs: Value | Sequence[Value], *, name: str = "tape", **specs: str) -> TracedGraph:
        """Return the recorded operations as a graph, such as `certgrad.trace` makes it of the same program.

        Its shapes are those of the arrays; `specs` gives inputs symbolic sizes: `x="n d"`. The graph has the operations
        that ran, not the decisions of Python between them. Raises UsageError, or TraceError, also where the same calls
        give other values now.
        """
        inputs = self.inputs
        unknown = [n for n in specs if n not in inputs]
        if unknown:
            raise UsageError(f"The tape has no input '{unknown[0]}'; it has {', '.join(inputs) or 'none'}.")
        texts = [f"{n}: {specs.get(n, _spec(v))}" for n, v in inputs.items()]
        self._check_repeatable(outputs)  # the graph is traced by running the calls again
        try:
            return trace(self.function(outputs), *texts, name=name)
        except TraceError as error:
            if not specs:
                raise
            raise TraceError(
                f"{error} A recorded call that names sizes, or reads an array that is no input, holds for those sizes "
                "alone; leave the specs out to have the graph at the sizes of the arrays."
            ) from error

    def _check_repeatable(self, outputs: Value | Sequence[Value]) -> None:
        """Raise TraceError where making the recorded calls again gives other values of the outputs."""
        chosen = [outputs] if isinstance(outputs, Value) else list(outputs)
        recomputed = self.function(chosen)(*(v.value for v in self.inputs.values()))
        for before, now in zip(chosen, recomputed, strict=True):
            if not jnp.array_equal(before.value, now, equal_nan=is_real(now)):
                raise TraceError(
                    f"Running the recorded calls again gives another value of {before.label}: one of them draws random "
                    "numbers, or reads something that has changed. Pass keys and values as arguments."
                )

    def _needed(self, outputs: Sequence[Value]) -> set[int]:
        needed = {y.record for y in outputs}
        for record in reversed(self.records):
            if record.id in needed:
                needed.update(p.record for p in record.parents)
        return needed

    def __str__(self) -> str:
        from certgrad.graph.tape._views import text

        return text(self)


def _with_vjp(
    call: Callable[[Sequence[Any]], list[Any]], arrays: Sequence[Any]
) -> tuple[list[Any], Callable[[Sequence[Any]], list[Any]] | None]:
    """Return the outputs of a call, and its vjp from the real outputs to the real arrays; None if there are none."""
    moving = [k for k, x in enumerate(arrays) if is_real(x)]
    if not moving:
        return call(arrays), None
    real: list[bool] = []

    def of_moving(*xs: Any) -> tuple[list[Any], list[Any]]:
        all_arrays = list(arrays)
        for k, x in zip(moving, xs, strict=True):
            all_arrays[k] = x
        outputs = call(all_arrays)
        real[:] = [is_real(y) for y in outputs]
        return [y for y, r in zip(outputs, real, strict=True) if r], [
            y for y, r in zip(outputs, real, strict=True) if not r
        ]

    # Outputs that are no floats have no cotangents: they pass beside the vjp, and are put back in order.
    floats, vjp, not_floats = jax.vjp(of_moving, *(arrays[k] for k in moving), has_aux=True)
    first, second = iter(floats), iter(not_floats)
    outputs = [next(first) if r else next(second) for r in real]
    return outputs, (lambda seeds: list(vjp(list(seeds)))) if floats else None


def _arguments(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    return ", ".join([*map(_argument, args), *(f"{k}={_argument(v)}" for k, v in kwargs.items())])


def _argument(x: Any) -> str:
    """Return an argument of a call as short text."""
    if is_value(x):
        return str(x.label)
    if isinstance(x, tuple | list):
        inner = ", ".join(map(_argument, x))
        return f"[{inner}]" if isinstance(x, list) else f"({inner}{',' if len(x) == 1 else ''})"
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return f"{x.dtype}[{', '.join(map(str, x.shape))}]" if x.shape else str(x)
    text = getattr(x, "__name__", "") or repr(x)
    return text if len(text) < 40 else f"{text[:37]}…"


def _spec(value: Value) -> str:
    kind = "" if is_real(value.value) else ":bool" if value.dtype == jnp.bool_ else ":int"
    return " ".join(map(str, value.shape)) + kind


def _source() -> str:
    """Return the innermost running line outside of this package and of libraries, as `mlp.py:12`; "" without one."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((_PACKAGE, "<")) and "site-packages" not in file:
            return f"{Path(file).name}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def _copied_array(array: np.ndarray) -> Any:
    """Return a copy of an array, since numpy's arrays may change: floats as an array of JAX, others as numpy's own,
    since integers may be used as an index in Python.
    """
    return jnp.array(array) if array.dtype.kind == "f" else array.copy()
