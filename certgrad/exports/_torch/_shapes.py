"""Primitives of shapes, reductions and order in torch: a table with a row for each primitive."""

from __future__ import annotations

from certgrad.exports._flat import Step, text_of
from certgrad.exports._torch._code import Code, Rule, dtype_of, int_tuple


def _broadcast(c: Code, step: Step, xs: list[str]) -> str:
    shape, places = c.shape(step.outputs[0].shape), tuple(int(k) for k in step.params["broadcast_dimensions"])
    return c.helper("_broadcast", xs[0], shape, places) if places else f"{xs[0]}.expand({shape})"


def _reshape(c: Code, step: Step, xs: list[str]) -> str:
    order = step.params.get("dimensions")
    ordered = xs[0] if order is None else f"{xs[0]}.permute({tuple(map(int, order))})"
    return f"{ordered}.reshape({c.shape(step.outputs[0].shape)})"


def _axes(step: Step) -> tuple[int, ...]:
    return tuple(int(k) for k in step.params["axes"])


def _reduction(name: str, more: str = "") -> Rule:
    return lambda c, step, xs: (
        f"torch.{name}({xs[0]}, {_axes(step)}{more.format(dtype_of(step.outputs[0].dtype))})" if _axes(step) else xs[0]
    )


def _arg(name: str) -> Rule:
    return lambda c, step, xs: f"torch.{name}({xs[0]}, {_axes(step)[0]}).to({dtype_of(step.outputs[0].dtype)})"


def _slice(c: Code, step: Step, xs: list[str]) -> str:
    p, shape = step.params, step.inputs[0].shape
    steps = p["strides"] or [1] * len(shape)
    parts = []
    for start, end, stride, size in zip(p["start_indices"], p["limit_indices"], steps, shape, strict=True):
        first, last = text_of(start), text_of(end)
        whole = (first, last, int(stride)) == (0, size, 1)
        parts.append(":" if whole else f"{c.size(first)}:{c.size(last)}" + (f":{stride}" if stride != 1 else ""))
    return f"{xs[0]}[{', '.join(parts)}]" if parts else xs[0]


def _pad(c: Code, step: Step, xs: list[str]) -> str:
    config = [f"({c.size(text_of(a))}, {c.size(text_of(b))}, {int(k)})" for a, b, k in step.params["padding_config"]]
    return c.helper("_pad", xs[0], xs[1], f"[{', '.join(config)}]")


def _iota(c: Code, step: Step, xs: list[str]) -> str:
    shape, axis = step.outputs[0].shape, int(step.params["dimension"])
    row = f"torch.arange({c.size(shape[axis])}, dtype={dtype_of(step.outputs[0].dtype)}, device=device)"
    return row if len(shape) == 1 else c.helper("_broadcast", row, c.shape(shape), (axis,))


def _dim(c: Code, step: Step, xs: list[str]) -> str:
    size = c.size(text_of(step.params["dim"]))
    return f"torch.full((), {size}, dtype={dtype_of(step.outputs[0].dtype)}, device=device)"


def _split(c: Code, step: Step, xs: list[str]) -> str:
    sizes = [c.size(text_of(s)) for s in step.params["sizes"]]
    return f"torch.split({xs[0]}, [{', '.join(sizes)}], {int(step.params['axis'])})" + (
        "[0]" if len(sizes) == 1 else ""
    )


def _cumulative(run: str, *helpers: str) -> Rule:
    def rule(c: Code, step: Step, xs: list[str]) -> str:
        c.helpers.update(helpers)
        return c.helper("_cumulative", run, xs[0], int(step.params["axis"]), bool(step.params["reverse"]))

    return rule


def _sort(c: Code, step: Step, xs: list[str]) -> str:
    helper_call = c.helper("_sort", f"[{', '.join(xs)}]", int(step.params["dimension"]), int(step.params["num_keys"]))
    return f"{helper_call}[0]" if len(xs) == 1 else helper_call


def _top_k(c: Code, step: Step, xs: list[str]) -> str:
    axis = int(step.params.get("axis", step.inputs[0].rank - 1))
    return c.helper("_top_k", xs[0], c.size(text_of(step.params["k"])), axis)


TABLE: dict[str, str | Rule] = {
    "argmax": _arg("argmax"),
    "argmin": _arg("argmin"),
    "broadcast_in_dim": _broadcast,
    "concatenate": lambda c, step, xs: f"torch.cat([{', '.join(xs)}], {int(step.params['dimension'])})",
    "cumlogsumexp": _cumulative("torch.logcumsumexp"),
    "cummax": _cumulative("_cummax", "_cummax"),
    "cummin": _cumulative("_cummin", "_cummin"),
    "cumprod": _cumulative("torch.cumprod"),
    "cumsum": _cumulative("torch.cumsum"),
    "dim_as_value": _dim,
    "iota": _iota,
    "pad": _pad,
    "reduce_and": _reduction("all"),
    "reduce_max": _reduction("amax"),
    "reduce_min": _reduction("amin"),
    "reduce_or": _reduction("any"),
    "reduce_prod": lambda c, step, xs: c.helper("_product", xs[0], _axes(step)),
    "reduce_sum": lambda c, step, xs: _reduction("sum", "" if step.outputs[0].dtype.kind == "f" else ", dtype={0}")(
        c, step, xs
    ),
    "reshape": _reshape,
    "rev": lambda c, step, xs: f"{xs[0]}.flip({int_tuple(step.params['dimensions'])})",
    "slice": _slice,
    "sort": _sort,
    "split": _split,
    "squeeze": lambda c, step, xs: f"{xs[0]}.reshape({c.shape(step.outputs[0].shape)})",
    "top_k": _top_k,
    "transpose": lambda c, step, xs: f"{xs[0]}.permute({int_tuple(step.params['permutation'])})",
}
