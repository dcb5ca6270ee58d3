"""Loops and branches in ONNX: `Scan`, `Loop` and `If`."""

from __future__ import annotations

import numpy as np

from certgrad.exports._flat import Step, Value
from certgrad.exports._onnx._graph import Rule, Writer
from certgrad.exports._onnx._shapes import reversed_along


def _scan(w: Writer, step: Step, xs: list[str]) -> list[str]:
    """Write a `scan` as ONNX's Scan, or as a Loop where it scans over no arrays; return the names of its results.

    Arrays of constants are no inputs of the body: it reads them by their names in the graph around it.
    """
    (body,) = step.programs
    consts, carries = step.params["consts"], step.params["carries"]
    for value, name in zip(body.inputs[:consts], xs[:consts], strict=True):
        w.names[id(value)] = name  # a graph inside reads the names around it
    rows = len(body.inputs) - consts - carries
    if not rows:
        return _scan_without_rows(w, step, xs)
    stacked = len(body.outputs) - carries
    graph = w.inner(body, "body", bound=body.inputs[consts:])
    operands = xs[consts:]
    if step.params["reverse"]:  # a direction for each scanned and each stacked array
        results = w.op(
            "Scan",
            *operands,
            count=carries + stacked,
            body=graph,
            num_scan_inputs=rows,
            scan_input_directions=[1] * rows,
            scan_output_directions=[1] * stacked,
        )
    else:
        results = w.op("Scan", *operands, count=carries + stacked, body=graph, num_scan_inputs=rows)
    return [results] if carries + stacked == 1 else list(results)


def _scan_without_rows(w: Writer, step: Step, xs: list[str]) -> list[str]:
    """Write a `scan` over no arrays as a Loop of a given number of steps; return the names of its results.

    The body always says that the loop goes on. A Loop stacks outputs in the order in which its steps run, so those of
    a reversed scan are reversed afterwards.
    """
    (body,) = step.programs
    consts, carries = step.params["consts"], step.params["carries"]
    stacked = len(body.outputs) - carries
    graph = w.inner(
        body,
        "body",
        before=_LOOP,
        bound=body.inputs[consts:],
        outputs=lambda inner, names: [inner.op("Identity", n) for n in [inner.constant(np.bool_(True)), *names]],
    )
    results = w.op("Loop", w.scalar(step.params["length"]), "", *xs[consts:], count=carries + stacked, body=graph)
    names = [results] if carries + stacked == 1 else list(results)
    if step.params["reverse"]:
        names[carries:] = [reversed_along(w, n, [0]) for n in names[carries:]]
    return names


_LOOP = [("iteration", np.int64), ("goes_on", np.bool_)]
"""The scalars that the body of a Loop takes before the carry."""


def _while(w: Writer, step: Step, xs: list[str]) -> list[str]:
    """Write a `while` as ONNX's Loop and return the names of its results.

    A Loop takes the outcome of the first test, and its body returns that of the next one. So the test is written twice:
    before the loop, on the first carry, and at the end of the body, on the new carry.
    """
    test, body = step.programs
    test_consts, body_consts = step.params["test_consts"], step.params["body_consts"]
    carried = xs[test_consts + body_consts :]
    for value, name in [
        *zip(test.inputs[:test_consts], xs, strict=False),
        *zip(body.inputs[:body_consts], xs[test_consts:], strict=False),
    ]:
        w.names[id(value)] = name
    outside = dict(w.names)
    w.names.update((id(v), n) for v, n in zip(test.inputs[test_consts:], carried, strict=True))
    (start_test,) = w.write(test)
    w.names = outside  # forget the names of the first test: the body writes the test's steps anew

    def test_new_carry(inner: Writer, names: list[str]) -> list[str]:
        inner.names.update((id(v), n) for v, n in zip(test.inputs[test_consts:], names, strict=True))
        return [inner.op("Identity", n) for n in [*inner.write(test), *names]]

    graph = w.inner(body, "body", before=_LOOP, bound=body.inputs[body_consts:], outputs=test_new_carry)
    results = w.op("Loop", "", start_test, *carried, count=len(carried), body=graph)
    return [results] if len(carried) == 1 else list(results)


def _cond(w: Writer, step: Step, xs: list[str]) -> list[str]:
    """Write a `cond` as nested Ifs, since an If has two branches only; return the names of its results."""
    index, *operands = xs
    count = len(step.outputs)

    def branch(writer: Writer, k: int) -> list[str]:
        """Write an If that runs branch k where `index` ≤ k, else a later branch; return the names of its outputs."""
        program = step.programs[k]
        writer.names.update((id(v), n) for v, n in zip(program.inputs, operands, strict=True))
        if k == len(step.programs) - 1:
            return [writer.op("Identity", n) for n in writer.write(program)]
        chosen = writer.op("LessOrEqual", index, writer.constant(k, step.inputs[0].dtype))
        then = writer.inner(program, f"branch {k}", bound=no_values)
        later = writer.block(f"branches after {k}", lambda inner: branch(inner, k + 1))
        results = writer.op("If", chosen, count=count, then_branch=then, else_branch=later)
        return [results] if count == 1 else list(results)

    no_values: list[Value] = []
    if step.inputs[0].dtype == np.bool_:
        index = w.cast(index, np.int32)
    return branch(w, 0)


TABLE: dict[str, Rule] = {"cond": _cond, "scan": _scan, "while": _while}
