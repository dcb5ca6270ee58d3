"""A check of an executed reverse sweep against its certificate: every cotangent is a sum of contributions."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from certgrad.accel._compile import CompiledGraph
from certgrad.accel._sweep import Sweep
from certgrad.graph.ir import Ref
from certgrad.graph.tracing.wellformed import line_of

ROUNDING = 1e3
"""The difference that the order of a sum may make, in units of rounding of its greatest term."""


def check_sweep(compiled: CompiledGraph, *args: Any) -> str | None:
    """Return the first value whose cotangent is not the sum of what its readers give it; None if there is none.

    The sweep is run once, with ones as seeds. Then each node's vjp is run again on the cotangents that the sweep gave,
    and its contributions to its operands are added up. This checks the equations that define backprop, one for each
    value: a cotangent that was overwritten, dropped or added twice breaks the equation of its value.
    """
    sweep, leaves = compiled.sweep(*args)
    values = sweep.forward(leaves)
    seeds = [jnp.ones_like(y) if jnp.issubdtype(y.dtype, jnp.floating) else None for y in sweep.outputs(values)]
    cotangents = sweep.backward(values, seeds)
    contributions = _contributions(sweep, values, seeds, cotangents)
    for node in reversed(sweep.induction.traced.nodes):
        for k in range(len(node.outputs)):
            terms = contributions.get((node.id, k), [])
            cotangent = cotangents.get((node.id, k))
            if not terms and cotangent is None:
                continue
            readers = ", ".join(name for name, _ in terms)
            where = f"the cotangent of node {node.id} ({node.name})"
            if cotangent is None or not _is_sum(cotangent, [ct for _, ct in terms]):
                return f"{where} is not the sum of what {readers or 'nobody'} gives it{line_of(node)}"
    return None


def _contributions(sweep: Sweep, values: Any, seeds: Any, found: Any) -> dict[tuple[int, int], list[tuple[str, Any]]]:
    """Return the contributions to each value's cotangent: from the seeds, and from every node that reads the value."""
    out: dict[tuple[int, int], list[tuple[str, Any]]] = {}
    for k, (operand, seed) in enumerate(zip(sweep.induction.traced.ir.outputs, seeds, strict=True)):
        if isinstance(operand, Ref) and sweep.induction.is_moving(operand) and seed is not None:
            out.setdefault((operand.node, operand.output), []).append((f"seed {k}", seed))
    for node in sweep.induction.traced.nodes:
        arrived = [found.get((node.id, k)) for k in range(len(node.outputs))]
        if any(ct is not None for ct in arrived):
            for operand, ct in sweep.node_vjp(node, values, arrived):
                out.setdefault((operand.node, operand.output), []).append((f"%{node.id} {node.name}", ct))
    return out


def _is_sum(given: Any, terms: list[Any]) -> bool:
    parts = [np.asarray(t, np.float64) for t in terms]
    scale = max((float(np.max(np.abs(p), initial=0.0)) for p in parts), default=0.0)
    bound = ROUNDING * float(jnp.finfo(given.dtype).eps) * scale
    difference = np.abs(np.asarray(given, np.float64) - sum(parts))
    return bool(np.all(difference <= bound))
