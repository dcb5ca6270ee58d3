"""Products, convolutions, windows and solvers in torch: a table with a row for each primitive."""

from __future__ import annotations

from string import ascii_letters

import numpy as np

from certgrad.exports._flat import Step, text_of
from certgrad.exports._torch._code import Code, Rule, call, int_tuple, number, unwritten


def _dot(c: Code, step: Step, xs: list[str]) -> str:
    """Write a `dot_general` as `@` where its axes allow it, else as `torch.einsum`."""
    (left, right), (left_batch, right_batch) = step.params["dimension_numbers"]
    ranks = [a.rank for a in step.inputs]
    batch = list(range(len(left_batch)))
    if ranks[0] == ranks[1] == len(batch) + 2 and len(left) == 1 and list(left_batch) == list(right_batch) == batch:
        lhs = xs[0] if left[0] == ranks[0] - 1 else f"{xs[0]}.mT"
        rhs = xs[1] if right[0] == ranks[1] - 2 else f"{xs[1]}.mT"
        return f"{lhs} @ {rhs}"
    if not left_batch and len(left) == 1 and left[0] == ranks[0] - 1 and ranks[1] == 2:
        return f"{xs[0]} @ {xs[1]}" + ("" if right[0] == 0 else ".mT")
    letters = iter(ascii_letters)  # paired axes get one letter for both, every other axis its own
    names = [[""] * ranks[0], [""] * ranks[1]]
    for a, b in [*zip(left_batch, right_batch, strict=True), *zip(left, right, strict=True)]:
        names[0][a] = names[1][b] = next(letters)
    names = [[n or next(letters) for n in labels] for labels in names]
    summed, first = {names[0][a] for a in left}, [names[0][a] for a in left_batch]
    result = "".join([*first, *(n for labels in names for n in labels if n not in summed and n not in first)])
    return f"torch.einsum('{''.join(names[0])},{''.join(names[1])}->{result}', {xs[0]}, {xs[1]})"


def _conv(c: Code, step: Step, xs: list[str]) -> str:
    p, n = step.params, step.params["dimension_numbers"]
    if len(n.lhs_spec) not in (3, 4, 5):
        raise unwritten(c.place, "conv_general_dilated", "over so many axes has no counterpart in PyTorch")
    specs = tuple(tuple(map(int, s)) for s in (n.lhs_spec, n.rhs_spec, n.out_spec))
    padding = f"[{', '.join(c.shape([text_of(s) for s in pair]) for pair in p['padding'])}]"
    dilations = (int_tuple(p["lhs_dilation"]), int_tuple(p["rhs_dilation"]))
    groups = (int(p["feature_group_count"]), int(p["batch_group_count"]))
    c.helpers.add("_pad")
    return c.helper("_conv", *xs, specs, int_tuple(p["window_strides"]), padding, *dilations, *groups)


def _window(template: str, empty: float) -> Rule:
    def rule(c: Code, step: Step, xs: list[str]) -> str:
        p, ones = step.params, [1] * step.inputs[0].rank
        c.helpers.add("_pad")
        padding = f"[{', '.join(c.shape([text_of(s) for s in pair]) for pair in p['padding'])}]"
        return template.format(
            c.helper(
                "_windows",
                xs[0],
                c.shape([text_of(s) for s in p["window_dimensions"]]),
                int_tuple(p["window_strides"]),
                padding,
                int_tuple(p.get("base_dilation", ones)),
                int_tuple(p.get("window_dilation", ones)),
                number(empty),
            )
        )

    return rule


def _scatter_chosen(c: Code, step: Step, xs: list[str]) -> str:
    p, chosen = step.params, str(step.params["select_prim"])
    if chosen not in ("ge", "le"):
        raise unwritten(c.place, step.primitive, f"by {chosen} has no counterpart in PyTorch")
    c.helpers.update(("_pad", "_windows"))
    sizes = c.shape([text_of(s) for s in p["window_dimensions"]])
    padding = f"[{', '.join(c.shape([text_of(s) for s in pair]) for pair in p['padding'])}]"
    return c.helper("_scatter_chosen", *xs, sizes, int_tuple(p["window_strides"]), padding, chosen == "ge")


def _triangular(c: Code, step: Step, xs: list[str]) -> str:
    p = step.params
    flags = (bool(p["left_side"]), bool(p["lower"]), bool(p["transpose_a"]), bool(p["unit_diagonal"]))
    return c.helper("_triangular", *xs, *flags)


TABLE: dict[str, str | Rule] = {
    "cholesky": call("torch.linalg.cholesky"),
    "conv_general_dilated": _conv,
    "dot_general": _dot,
    "reduce_window_max": _window("{0}.amax(-1)", -np.inf),
    "reduce_window_min": _window("{0}.amin(-1)", np.inf),
    "reduce_window_sum": _window("{0}.sum(-1)", 0),
    "select_and_scatter_add": _scatter_chosen,
    "triangular_solve": _triangular,
}
