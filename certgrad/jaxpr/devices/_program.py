"""The body of a `shard_map`, evaluated for all devices at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from certgrad.jaxpr.programs import called_program, equations_of, programs_in, results, scan_counts

from ._collectives import NAMES, meaning
from ._shards import DevicesError, Mesh, Shards


def program(params: Mapping[str, Any]) -> Callable[..., list[Any]]:
    """Return a function of the operands of the `shard_map`, which raises DevicesError if the body has no reading."""
    return lambda *operands: [x.array for x in _Run(Mesh({})).mapped(params, [Shards(x) for x in operands])]


def devices(params: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of devices along each axis over which the `shard_map` splits its operands."""
    return {name: n for name, n in dict(params["mesh"].shape).items() if name in params["newly_manual_axes"]}


class _Run:
    """Evaluates programs on the devices of a mesh."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh

    def mapped(self, params: Mapping[str, Any], operands: Sequence[Shards]) -> list[Shards]:
        """Return the outputs of a `shard_map`: its operands are cut, the body is run, and the parts are joined."""
        new_sizes, sizes = devices(params), dict(params["mesh"].shape)
        all_sizes = {**self.mesh.sizes, **new_sizes}
        inner = _Run(Mesh({name: all_sizes[name] for name in {**sizes, **all_sizes} if name in all_sizes}))
        cut = [inner.mesh.cut(x, spec) for x, spec in zip(operands, params["in_specs"], strict=True)]
        results = inner.closed(params["jaxpr"], cut)
        specs = zip(results, params["out_specs"], strict=True)
        return [inner.mesh.joined(x, spec, tuple(new_sizes), params["check_vma"]) for x, spec in specs]

    def closed(self, program: Any, args: Sequence[Shards]) -> list[Shards]:
        """Return the outputs of a program, closed or open."""
        return results(program, args, self.equation, _constant)

    def equation(self, eqn: Any, operands: Sequence[Shards]) -> list[Shards]:
        """Return the results of an equation: device by device, unless it has collectives inside."""
        name = eqn.primitive.name
        if name in NAMES:
            return meaning(self.mesh, eqn, operands)
        if name == "shard_map":
            return self.mapped(eqn.params, operands)
        if (inner := called_program(eqn)) is not None:
            return self.closed(inner, operands)
        if any(map(_communicates, programs_in(eqn))):
            if name not in _LOOPS:
                raise DevicesError(f"a collective inside of {name}")
            return _LOOPS[name](self, eqn.params, operands)

        def bound(*arrays: Any) -> Sequence[Any]:
            found = eqn.primitive.bind(*arrays, **eqn.primitive.get_bind_params(eqn.params))
            return found if eqn.primitive.multiple_results else [found]

        return self.mesh.each(bound, operands)

    def steady(self, step: Callable[[list[Shards]], list[Shards]], carried: Sequence[Shards]) -> list[Shards]:
        """Return the initial carry of a loop, with all axes along which the carry may differ after some steps.

        A step can make a carry differ along more axes. So the step is traced until it adds no axes.
        """
        carried = list(carried)
        while True:
            axes: list[tuple[str, ...]] = []

            def after(*arrays: Any, before: Sequence[Shards] = carried, axes: list = axes) -> list[Any]:
                outputs = step([Shards(a, x.axes) for a, x in zip(arrays, before, strict=True)])
                axes += [x.axes for x in outputs]
                return [x.array for x in outputs]

            jax.eval_shape(after, *(x.array for x in carried))
            wider = [self.mesh.along(x, new_axes) for x, new_axes in zip(carried, axes, strict=True)]
            if all(a.axes == b.axes for a, b in zip(wider, carried, strict=True)):
                return carried
            carried = wider

    def scan(self, params: Mapping[str, Any], operands: Sequence[Shards]) -> list[Shards]:
        """Return the outputs of a scan; the axes along which the carry differs are found first (`steady`).

        `lax.scan` needs the scanned axis in front of the axes of devices, so that it is moved there, and back after.
        """
        consts_of, carries = scan_counts(params)
        consts, carry_and_rows = operands[:consts_of], operands[consts_of:]
        init, rows = carry_and_rows[:carries], carry_and_rows[carries:]
        first_rows = [Shards(lax.index_in_dim(x.array, 0, len(x.axes), keepdims=False), x.axes) for x in rows]

        def step(carried: Sequence[Shards], of_rows: Sequence[Shards]) -> list[Shards]:
            return self.closed(params["jaxpr"], [*consts, *carried, *of_rows])

        start = self.steady(lambda carried: step(carried, first_rows)[:carries], init)
        axes: list[tuple[str, ...]] = []

        def body(carried: Sequence[Any], of_rows: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            carries_now = [Shards(a, x.axes) for a, x in zip(carried, start, strict=True)]
            outputs = step(carries_now, [Shards(a, x.axes) for a, x in zip(of_rows, rows, strict=True)])
            after = [self.mesh.along(x, first.axes).array for x, first in zip(outputs[:carries], start, strict=True)]
            axes[:] = [x.axes for x in outputs[carries:]]  # known only after the step was traced
            return after, [x.array for x in outputs[carries:]]

        by_step = [jnp.moveaxis(x.array, len(x.axes), 0) for x in rows]
        last, ys = lax.scan(body, [x.array for x in start], by_step, length=params["length"], reverse=params["reverse"])
        stacked = [Shards(jnp.moveaxis(y, 0, len(of)), of) for y, of in zip(ys, axes, strict=True)]
        return [*(Shards(a, x.axes) for a, x in zip(last, start, strict=True)), *stacked]

    def switch(self, params: Mapping[str, Any], operands: Sequence[Shards]) -> list[Shards]:
        """Return the outputs of the branch that is taken.

        Every branch is traced first, and each output gets the axes along which it differs in any of them, so that all
        branches return the same types. Raises DevicesError where devices may take different branches.
        """
        which, *args = operands
        if which.axes:
            raise DevicesError("a branch with a collective that some devices may not take")
        axes: list[list[tuple[str, ...]]] = []
        branches = params["branches"]

        def run(branch: Any, arrays: Sequence[Any]) -> list[Shards]:
            return self.closed(branch, [Shards(a, x.axes) for a, x in zip(arrays, args, strict=True)])

        def noted(found: Sequence[Shards]) -> None:
            axes.append([x.axes for x in found])

        for branch in branches:
            jax.eval_shape(
                lambda *a, branch=branch: axes.append([x.axes for x in run(branch, a)]), *(x.array for x in args)
            )
        joint_axes = [self.mesh.ordered({name for names in of for name in names}) for of in zip(*axes, strict=True)]

        def taken(branch: Any) -> Callable[..., list[Any]]:
            return lambda *a: [self.mesh.along(x, of).array for x, of in zip(run(branch, a), joint_axes, strict=True)]

        found = lax.switch(which.array, [taken(branch) for branch in branches], *(x.array for x in args))
        return [Shards(a, of) for a, of in zip(found, joint_axes, strict=True)]

    def loop(self, params: Mapping[str, Any], operands: Sequence[Shards]) -> list[Shards]:
        """Return the outputs of a `while`; the axes along which the carry differs are found first (`steady`).

        Raises DevicesError where devices may leave the loop at different steps.
        """
        of_test, of_body = params["cond_nconsts"], params["body_nconsts"]
        for_test, for_body = operands[:of_test], operands[of_test : of_test + of_body]

        def step(carried: Sequence[Shards]) -> list[Shards]:
            return self.closed(params["body_jaxpr"], [*for_body, *carried])

        start = self.steady(step, operands[of_test + of_body :])

        def as_shards(arrays: Sequence[Any]) -> list[Shards]:
            return [Shards(a, x.axes) for a, x in zip(arrays, start, strict=True)]

        def test(arrays: Sequence[Any]) -> Any:
            (test_output,) = self.closed(params["cond_jaxpr"], [*for_test, *as_shards(arrays)])
            if test_output.axes:
                raise DevicesError("a loop with a collective that some devices may leave before others")
            return test_output.array

        def body(arrays: Sequence[Any]) -> list[Any]:
            after = zip(step(as_shards(arrays)), start, strict=True)
            return [self.mesh.along(x, first.axes).array for x, first in after]

        return as_shards(lax.while_loop(test, body, [x.array for x in start]))


_LOOPS: dict[str, Callable[..., list[Shards]]] = {"scan": _Run.scan, "cond": _Run.switch, "while": _Run.loop}
"""The primitives that run inner programs which may have collectives."""


def _constant(value: Any, aval: Any) -> Shards:
    return Shards(value if hasattr(value, "shape") else np.asarray(value, aval.dtype))


def _communicates(jaxpr: Any) -> bool:
    """Return whether a program uses collectives, or a device's own position."""
    return any(eqn.primitive.name in NAMES for eqn in equations_of(jaxpr))
