"""The programs of a certified graph at its symbolic sizes: the forward, and the reverse sweep that the steps name."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np

from certgrad.accel._compile import CompiledGraph
from certgrad.accel._sweep import Sweep
from certgrad.errors import CertgradError, UsageError
from certgrad.exports._flat import NODE, Flat, Step, flatten
from certgrad.graph.certifying.certify import Certification
from certgrad.graph.ir import Node, Ref
from certgrad.graph.points.run import Key, Place, Run
from certgrad.graph.tracing.cases import other_programs
from certgrad.graph.tracing.numbers import Numbers, OwnNumbers
from certgrad.graph.tracing.trace import TracedGraph
from certgrad.obligations.tracing.jax_internals import kind_of, program_of, symbols, wide_floats
from certgrad.signatures.sizes import Size

Name = Literal["forward", "value_and_grad", "vjp"]


@dataclass(frozen=True)
class Exported:
    """A program of a graph, flattened, with the names of its inputs and outputs."""

    flat: Flat
    inputs: list[str]
    outputs: list[str]
    certified: Certification
    count: int
    """How many outputs the function itself has; the gradients follow them."""
    axes: Mapping[str, tuple[int, int]]
    """Where the size of each symbolic dimension is read: the position of an input, and its axis."""

    def where(self, step: Step) -> str:
        """Return, in words, the node and the line that a step comes from."""
        return place_of(self.certified.traced, step.nodes)


def exported(compiled: CompiledGraph, name: Name, sizes: Mapping[str, int] | None = None, real: Any = None) -> Exported:
    """Return a program of the graph at the given sizes, with the other sizes symbolic.

    `name` is the program: the forward, or the reverse sweep as `value_and_grad` or `vjp`. `real` is the dtype of real
    numbers; None keeps that of the trace.

    Raises UsageError where the graph has no such program or size, is another program in that dtype, takes a random
    key, or cannot be traced at symbolic sizes, because it is another program at some of them or for any other reason.
    """
    certified = compiled.certified
    specs = certified.traced.specs
    fixed = dict(sizes or {})
    title = certified.traced.ir.name
    if name not in get_args(Name):
        raise UsageError(f"'{name}' is no program of a graph: {', '.join(get_args(Name))}.")
    if name == "value_and_grad" and not certified.traced.ir.scalar_loss:
        raise UsageError(f"{title} does not return one real number, so it has no gradient. Export its vjp.")
    if unknown := [k for k in fixed if k not in specs.dims]:
        raise UsageError(
            f"{title} has no dimension {unknown[0]}. Its dimensions are: {', '.join(specs.dims) or 'none'}."
        )
    if invalid_sizes := [f"{k} = {v}" for k, v in fixed.items() if not isinstance(v, int) or v < 1]:
        raise UsageError(f"{invalid_sizes[0]} is no size. A dimension is a whole number of at least 1.")
    if fixed.keys() == set(specs.dims):
        certified = compiled.at_sizes(fixed).certified  # it may be another program than at open sizes
    elif cases := [str(c) for c in other_programs(certified.traced) if c.asked and not c.same]:
        raise UsageError(
            f"Where {' or '.join(cases)}, {title} is another program, and what is written with sizes left open is one "
            f"program for all. Give all of them as numbers: {', '.join(specs.dims)}."
        )
    numbers = _numbers(certified, real)
    with wide_floats(specs.wide or real == np.float64):
        table = symbols([d for d in specs.dims if d not in fixed]) | fixed
        dtypes = [numbers.dtype(d) for d in specs.dtypes]
        if any(kind_of(d) == "k" for d in dtypes):
            raise UsageError(
                f"{title} takes a random key, and other languages draw other numbers from it. "
                "Draw them before, and pass them as an array."
            )
        avals = [jax.ShapeDtypeStruct(a.spec.shape(table, {}), d) for a, d in zip(specs.arguments, dtypes, strict=True)]
        sweep = _Placed(certified.induction, table, numbers)  # the steps that the certificate names
        function, takes_seeds = _program(certified, sweep, name, len(avals))
        try:
            # Seeds have the types of the outputs, which are known only after the forward is traced.
            outputs = jax.eval_shape(lambda *xs: sweep.outputs(sweep.forward(xs)), *avals)
            closed = jax.make_jaxpr(function)(*avals, *(outputs if takes_seeds else []))
        except CertgradError:
            raise
        except Exception as error:
            symbolic = [d for d in specs.dims if d not in fixed]
            advice = f"Give them as numbers: sizes={{'{symbolic[0]}': …}}." if symbolic else ""
            text = str(error).strip().splitlines()
            why = f"{type(error).__name__}: {text[0] if text else ''}"
            raise UsageError(f"{title} could not be written for all sizes ({why}). {advice}") from error
    names = [a.name for a in specs.arguments]
    active_names = [
        a.name
        for a, n in zip(specs.arguments, certified.traced.ir.inputs, strict=True)
        if certified.induction.is_moving(Ref(node=n.id))
    ]
    output_names = _output_names(certified)
    gradients = [] if name == "forward" else [f"grad_{n}" for n in active_names]
    return Exported(
        flatten(program_of(closed)),
        [*names, *(f"seed_{n}" for n in output_names if takes_seeds)],
        [*output_names, *gradients],
        certified,
        len(output_names),
        _axes(certified, fixed),
    )


def _numbers(certified: Certification, real: Any) -> Numbers:
    """Return the dtypes of the program: those of the trace, with `real` for its real numbers unless it is None.

    Raises UsageError where the graph is another program in that dtype.
    """
    specs = certified.traced.specs
    integer = np.dtype("int64" if specs.wide else "int32")
    if real is None or all(kind_of(d) != "f" or d == real for d in specs.dtypes):
        return OwnNumbers(np.dtype("float64" if specs.wide else "float32"), integer)
    if not certified.traced.is_same_in(real, specs.wide or real == np.float64):
        raise UsageError(
            f"In {np.dtype(real)} {certified.traced.ir.name} is another program than the one that is certified. "
            "Trace it at arrays of that dtype."
        )
    return Numbers(real, integer)


def _program(certified: Certification, sweep: Sweep, name: Name, count: int) -> tuple[Callable[..., list[Any]], bool]:
    """Return a program as a function of arrays, and whether it takes a seed for each output after its arguments.

    `count` is the number of arguments. Gradients are those of the arguments that have one.
    """
    inputs = certified.traced.ir.inputs

    def gradients(values: Any, seeds: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
        cotangents = sweep.backward(values, seeds)
        moving = [(n, x) for n, x in zip(inputs, arrays, strict=True) if sweep.induction.is_moving(Ref(node=n.id))]
        return [cotangents.get((n.id, 0), jnp.zeros_like(x)) for n, x in moving]

    def forward(*arrays: Any) -> list[Any]:
        return sweep.outputs(sweep.forward(arrays))

    def value_and_grad(*arrays: Any) -> list[Any]:
        values = sweep.forward(arrays)
        (loss,) = sweep.outputs(values)
        return [loss, *gradients(values, [jnp.ones((), loss.dtype)], arrays)]

    def vjp(*given: Any) -> list[Any]:
        arrays, seeds = given[:count], given[count:]
        values = sweep.forward(arrays)
        return [*sweep.outputs(values), *gradients(values, seeds, arrays)]

    return {"forward": (forward, False), "value_and_grad": (value_and_grad, False), "vjp": (vjp, True)}[name]


class _PlacedRun(Run):
    """A run that traces the equations of each node in a name scope with the node's number."""

    def inner(self, wanted: Collection[Key] = frozenset()) -> Run:
        return _PlacedRun(self.sizes, self.numbers, wanted)

    def node(self, traced: TracedGraph, node: Node, values: Sequence[Any], place: Place = ()) -> list[Any]:
        with jax.named_scope(f"{NODE}{node.id}"):
            return super().node(traced, node, values, place)


class _Placed(Sweep):
    """A sweep that traces the equations of each node in a name scope with the node's number, forward and backward."""

    def running(self, wanted: Collection[Key] = frozenset()) -> Run:
        """Return a run that does not stack the residuals of loops' steps: a loop's backward computes them anew."""
        return _PlacedRun(self.sizes, self.numbers, wanted)

    def node_vjp(self, node: Node, values: Any, arrived: Sequence[Any]) -> list[tuple[Ref, Any]]:
        with jax.named_scope(f"{NODE}{node.id}"):
            return super().node_vjp(node, values, arrived)


def place_of(traced: TracedGraph, nodes: Sequence[int]) -> str:
    """Return in words which node `nodes` leads to, with its line: "node 1 (mul, f.py:3), inside node 4 (scan)".

    `nodes` is a path: each number is of a node in the graph inside the node before it. A path that leads to no node
    belongs to the sum of cotangents that the sweep adds up.
    """
    description = ""
    for k, number in enumerate(nodes):
        if number >= len(traced.nodes):
            break
        node = traced.nodes[number]
        description = f"node {number} ({node.name}{', ' + node.source if node.source else ''})" + (
            f", inside {description}" if description else ""
        )
        bodies = traced.bodies.get(number, [])
        if k + 1 < len(nodes) and len(bodies) != 1:  # the path does not say which of several branches
            break
        traced = bodies[0] if bodies else traced
    return description or "the sum of cotangents"


def _output_names(certified: Certification) -> list[str]:
    tree = certified.traced.program.out_tree
    paths = jax.tree_util.tree_flatten_with_path(jax.tree.unflatten(tree, range(tree.num_leaves)))[0]
    return [f"output{jax.tree_util.keystr(path)}" for path, _ in paths]


def _axes(certified: Certification, fixed: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Return the position of an argument and the axis at which each symbolic dimension is read.

    Raises UsageError for a dimension that is nowhere an axis by itself, but only a part of one, such as `n + 1`.
    """
    places: dict[str, tuple[int, int]] = {}
    for k, argument in enumerate(certified.traced.specs.arguments):
        for axis, dim in enumerate(argument.spec.dims):
            if isinstance(dim, Size) and dim.name is not None and dim.name not in fixed:
                places.setdefault(dim.name, (k, axis))
    missing = [d for d in certified.traced.specs.dims if d not in fixed and d not in places]
    if missing:
        raise UsageError(
            f"No axis of an argument is {missing[0]} alone, so its size is not read from an array. "
            f"Give it as a number: sizes={{'{missing[0]}': …}}."
        )
    return places


def identifiers(names: Sequence[str]) -> list[str]:
    """Return the names as distinct identifiers: `params['W']` becomes `params_W`, a second such name `params_W_1`."""
    unique_names: list[str] = []
    for name in names:
        plain = re.sub(r"\W+", "_", name).strip("_") or "x"
        plain = plain if plain[0].isalpha() or plain[0] == "_" else f"x{plain}"
        unique_names.append(
            next(name_k for k in range(len(names)) if (name_k := f"{plain}_{k}" if k else plain) not in unique_names)
        )
    return unique_names
