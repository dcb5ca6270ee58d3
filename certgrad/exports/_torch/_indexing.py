"""Reads and writes at computed places in torch: a table with a row for each primitive."""

from __future__ import annotations

from typing import Any

import numpy as np

from certgrad.exports._flat import Step, text_of
from certgrad.exports._torch._code import Code, Rule, int_tuple, number


def _mode(step: Step) -> str:
    return str(step.params["mode"]).rsplit(".", 1)[-1].lower()


def _gather(c: Code, step: Step, xs: list[str]) -> str:
    """Write a gather as a call of a helper, with the value for indices out of bounds: None except in mode "fill"."""
    p, n, result = step.params, step.params["dimension_numbers"], step.outputs[0]
    fill: Any = None
    if "fill" in _mode(step):
        fill = p.get("fill_value")
        if fill is None:
            fill = (
                float("nan")
                if result.dtype.kind == "f"
                else int(np.iinfo(result.dtype).min)
                if result.dtype.kind == "i"
                else 0
            )
    c.helpers.add("_places")
    return c.helper(
        "_gather",
        *xs,
        int_tuple(n.offset_dims),
        int_tuple(n.collapsed_slice_dims),
        int_tuple(n.start_index_map),
        int_tuple(n.operand_batching_dims),
        int_tuple(n.start_indices_batching_dims),
        c.shape([text_of(s) for s in p["slice_sizes"]]),
        number(fill),
    )


def _scatter(how: str) -> Rule:
    def rule(c: Code, step: Step, xs: list[str]) -> str:
        n = step.params["dimension_numbers"]
        c.helpers.add("_places")
        return c.helper(
            "_scatter",
            *xs,
            int_tuple(n.update_window_dims),
            int_tuple(n.inserted_window_dims),
            int_tuple(n.scatter_dims_to_operand_dims),
            int_tuple(n.operand_batching_dims),
            int_tuple(n.scatter_indices_batching_dims),
            "fill" in _mode(step),
            repr(how),
        )

    return rule


def _dynamic_slice(c: Code, step: Step, xs: list[str]) -> str:
    c.helpers.add("_at")
    sizes = c.shape([text_of(s) for s in step.params["slice_sizes"]])
    return c.helper("_slice_at", xs[0], f"[{', '.join(xs[1:])}]", sizes)


def _dynamic_update_slice(c: Code, step: Step, xs: list[str]) -> str:
    c.helpers.add("_at")
    return c.helper("_update_at", xs[0], xs[1], f"[{', '.join(xs[2:])}]")


TABLE: dict[str, str | Rule] = {
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    "scatter": _scatter(""),
    "scatter-add": _scatter("sum"),
    "scatter-max": _scatter("amax"),
    "scatter-min": _scatter("amin"),
    "scatter-mul": _scatter("prod"),
}
