"""Primitives of JAX in torch: one row a primitive. Where a template is enough, its operands are {0}, {1}, …"""

from __future__ import annotations

from collections.abc import Callable
from string import ascii_letters
from typing import Any

import numpy as np

from certgrad.exports._flat import Step, text_of
from certgrad.exports._torch._code import Code, dtype_of, number, unwritten

Rule = Callable[[Code, Step, list[str]], "str | list[str]"]


def _call(name: str) -> Rule:
    """A function of torch, of tensors."""
    return lambda c, step, xs: f"{name}({', '.join(xs)})"


def _div(c: Code, step: Step, xs: list[str]) -> str:
    if step.outputs[0].dtype.kind == "f":
        return f"{c.operand(step, 0)} / {c.operand(step, 1)}"
    return f"torch.div({xs[0]}, {xs[1]}, rounding_mode='trunc')"


def _same(c: Code, step: Step, xs: list[str]) -> str:
    return xs[0]


def _convert(c: Code, step: Step, xs: list[str]) -> str:
    return f"{xs[0]}.to({dtype_of(step.outputs[0].dtype)})"


def _round(c: Code, step: Step, xs: list[str]) -> str:
    if int(step.params["rounding_method"]) != 1:
        raise unwritten(c.place, "round", "away from zero has no counterpart in PyTorch")
    return f"torch.round({xs[0]})"


def _select(c: Code, step: Step, xs: list[str]) -> str:
    which, *cases = xs
    out = cases[0]
    for k, case in enumerate(cases[1:], 1):
        out = f"torch.where({which if step.inputs[0].dtype == np.bool_ else f'{which} == {k}'}, {case}, {out})"
    return out


# --- shapes


def _broadcast(c: Code, step: Step, xs: list[str]) -> str:
    shape, places = c.shape(step.outputs[0].shape), tuple(int(k) for k in step.params["broadcast_dimensions"])
    return c.helper("_broadcast", xs[0], shape, places) if places else f"{xs[0]}.expand({shape})"


def _reshape(c: Code, step: Step, xs: list[str]) -> str:
    order = step.params.get("dimensions")
    given = xs[0] if order is None else f"{xs[0]}.permute({tuple(map(int, order))})"
    return f"{given}.reshape({c.shape(step.outputs[0].shape)})"


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
    said = c.size(text_of(step.params["dim"]))
    return f"torch.full((), {said}, dtype={dtype_of(step.outputs[0].dtype)}, device=device)"


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
    found = c.helper("_sort", f"[{', '.join(xs)}]", int(step.params["dimension"]), int(step.params["num_keys"]))
    return f"{found}[0]" if len(xs) == 1 else found


def _top_k(c: Code, step: Step, xs: list[str]) -> str:
    axis = int(step.params.get("axis", step.inputs[0].rank - 1))
    return c.helper("_top_k", xs[0], c.size(text_of(step.params["k"])), axis)


# --- products and windows


def _dot(c: Code, step: Step, xs: list[str]) -> str:
    (left, right), (left_batch, right_batch) = step.params["dimension_numbers"]
    ranks = [a.rank for a in step.inputs]
    batch = list(range(len(left_batch)))
    if ranks[0] == ranks[1] == len(batch) + 2 and len(left) == 1 and list(left_batch) == list(right_batch) == batch:
        lhs = xs[0] if left[0] == ranks[0] - 1 else f"{xs[0]}.mT"
        rhs = xs[1] if right[0] == ranks[1] - 2 else f"{xs[1]}.mT"
        return f"{lhs} @ {rhs}"
    if not left_batch and len(left) == 1 and left[0] == ranks[0] - 1 and ranks[1] == 2:
        return f"{xs[0]} @ {xs[1]}" + ("" if right[0] == 0 else ".mT")
    letters = iter(ascii_letters)
    names = [[""] * ranks[0], [""] * ranks[1]]
    for a, b in [*zip(left_batch, right_batch, strict=True), *zip(left, right, strict=True)]:
        names[0][a] = names[1][b] = next(letters)
    names = [[n or next(letters) for n in one] for one in names]
    summed, first = {names[0][a] for a in left}, [names[0][a] for a in left_batch]
    result = "".join([*first, *(n for one in names for n in one if n not in summed and n not in first)])
    return f"torch.einsum('{''.join(names[0])},{''.join(names[1])}->{result}', {xs[0]}, {xs[1]})"


def _conv(c: Code, step: Step, xs: list[str]) -> str:
    p, n = step.params, step.params["dimension_numbers"]
    if len(n.lhs_spec) not in (3, 4, 5):
        raise unwritten(c.place, "conv_general_dilated", "over so many axes has no counterpart in PyTorch")
    specs = tuple(tuple(map(int, s)) for s in (n.lhs_spec, n.rhs_spec, n.out_spec))
    padding = f"[{', '.join(c.shape([text_of(s) for s in pair]) for pair in p['padding'])}]"
    dilations = (_whole(p["lhs_dilation"]), _whole(p["rhs_dilation"]))
    groups = (int(p["feature_group_count"]), int(p["batch_group_count"]))
    c.helpers.add("_pad")
    return c.helper("_conv", *xs, specs, _whole(p["window_strides"]), padding, *dilations, *groups)


def _whole(values: Any) -> tuple[int, ...]:
    return tuple(int(v) for v in values)


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
                _whole(p["window_strides"]),
                padding,
                _whole(p.get("base_dilation", ones)),
                _whole(p.get("window_dilation", ones)),
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
    return c.helper("_scatter_chosen", *xs, sizes, _whole(p["window_strides"]), padding, chosen == "ge")


# --- places


def _mode(step: Step) -> str:
    return str(step.params["mode"]).rsplit(".", 1)[-1].lower()


def _gather(c: Code, step: Step, xs: list[str]) -> str:
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
        _whole(n.offset_dims),
        _whole(n.collapsed_slice_dims),
        _whole(n.start_index_map),
        _whole(n.operand_batching_dims),
        _whole(n.start_indices_batching_dims),
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
            _whole(n.update_window_dims),
            _whole(n.inserted_window_dims),
            _whole(n.scatter_dims_to_operand_dims),
            _whole(n.operand_batching_dims),
            _whole(n.scatter_indices_batching_dims),
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


def _triangular(c: Code, step: Step, xs: list[str]) -> str:
    p = step.params
    given = (bool(p["left_side"]), bool(p["lower"]), bool(p["transpose_a"]), bool(p["unit_diagonal"]))
    return c.helper("_triangular", *xs, *given)


# --- loops


def _scan(c: Code, step: Step, xs: list[str]) -> str:
    p = step.params
    body = c.function(step.programs[0], f"body{step.outputs[0].number}")
    consts, carries = p["consts"], p["carries"]
    parts = [xs[:consts], xs[consts : consts + carries], xs[consts + carries :]]
    found = c.helper("_scan", body, *(f"[{', '.join(x)}]" for x in parts), c.size(p["length"]), bool(p["reverse"]))
    return f"{found}[0]" if len(step.outputs) == 1 else found


def _while(c: Code, step: Step, xs: list[str]) -> str:
    tested, held = step.params["test_consts"], step.params["body_consts"]
    programs = []
    for program, given, title in zip(
        step.programs, (xs[:tested], xs[tested : tested + held]), ("test", "body"), strict=True
    ):
        name = c.function(program, f"{title}{step.outputs[0].number}")
        programs.append(f"lambda *carry: {name}({', '.join([*given, '*carry'])})")
    found = c.helper("_while", *programs, f"[{', '.join(xs[tested + held :])}]")
    return f"{found}[0]" if len(step.outputs) == 1 else found


def _cond(c: Code, step: Step, xs: list[str]) -> str:
    branches = [c.function(b, f"branch{step.outputs[0].number}_{k}") for k, b in enumerate(step.programs)]
    found = c.helper("_switch", xs[0], f"[{', '.join(branches)}]", f"[{', '.join(xs[1:])}]")
    return f"{found}[0]" if len(step.outputs) == 1 else found


TABLE: dict[str, str | Rule] = {
    "abs": _call("torch.abs"),
    "acos": _call("torch.acos"),
    "acosh": _call("torch.acosh"),
    "add": "{0} + {1}",
    "add_any": "{0} + {1}",
    "and": "{0} & {1}",
    "argmax": _arg("argmax"),
    "argmin": _arg("argmin"),
    "asin": _call("torch.asin"),
    "asinh": _call("torch.asinh"),
    "atan": _call("torch.atan"),
    "atan2": _call("torch.atan2"),
    "atanh": _call("torch.atanh"),
    "bessel_i0e": _call("torch.special.i0e"),
    "bessel_i1e": _call("torch.special.i1e"),
    "broadcast_in_dim": _broadcast,
    "cbrt": lambda c, step, xs: f"torch.sign({xs[0]}) * torch.abs({xs[0]}) ** (1 / 3)",
    "ceil": _call("torch.ceil"),
    "cholesky": _call("torch.linalg.cholesky"),
    "clamp": lambda c, step, xs: f"torch.minimum(torch.maximum({xs[1]}, {xs[0]}), {xs[2]})",
    "concatenate": lambda c, step, xs: f"torch.cat([{', '.join(xs)}], {int(step.params['dimension'])})",
    "cond": _cond,
    "conv_general_dilated": _conv,
    "convert_element_type": _convert,
    "cos": _call("torch.cos"),
    "cosh": _call("torch.cosh"),
    "cumlogsumexp": _cumulative("torch.logcumsumexp"),
    "cummax": _cumulative("_cummax", "_cummax"),
    "cummin": _cumulative("_cummin", "_cummin"),
    "cumprod": _cumulative("torch.cumprod"),
    "cumsum": _cumulative("torch.cumsum"),
    "digamma": _call("torch.digamma"),
    "dim_as_value": _dim,
    "div": _div,
    "dot_general": _dot,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "eq": "{0} == {1}",
    "erf": _call("torch.erf"),
    "erf_inv": _call("torch.erfinv"),
    "erfc": _call("torch.erfc"),
    "exp": _call("torch.exp"),
    "exp2": _call("torch.exp2"),
    "expm1": _call("torch.expm1"),
    "floor": _call("torch.floor"),
    "gather": _gather,
    "ge": "{0} >= {1}",
    "gt": "{0} > {1}",
    "igamma": _call("torch.special.gammainc"),
    "igammac": _call("torch.special.gammaincc"),
    "integer_pow": lambda c, step, xs: f"{xs[0]} ** {int(step.params['y'])}",
    "iota": _iota,
    "is_finite": _call("torch.isfinite"),
    "le": "{0} <= {1}",
    "lgamma": _call("torch.lgamma"),
    "log": _call("torch.log"),
    "log1p": _call("torch.log1p"),
    "logistic": _call("torch.sigmoid"),
    "lt": "{0} < {1}",
    "max": _call("torch.maximum"),
    "min": _call("torch.minimum"),
    "mul": "{0} * {1}",
    "ne": "{0} != {1}",
    "neg": lambda c, step, xs: f"-{xs[0]}",
    "not": lambda c, step, xs: f"~{xs[0]}",
    "one_minus_square": lambda c, step, xs: f"1 - {xs[0]} * {xs[0]}",
    "or": "{0} | {1}",
    "pad": _pad,
    "pow": _call("torch.pow"),
    "pvary": _same,
    "real": _same,
    "reduce_and": _reduction("all"),
    "reduce_max": _reduction("amax"),
    "reduce_min": _reduction("amin"),
    "reduce_or": _reduction("any"),
    "reduce_prod": lambda c, step, xs: c.helper("_product", xs[0], _axes(step)),
    "reduce_sum": lambda c, step, xs: _reduction("sum", "" if step.outputs[0].dtype.kind == "f" else ", dtype={0}")(
        c, step, xs
    ),
    "reduce_window_max": _window("{0}.amax(-1)", -np.inf),
    "reduce_window_min": _window("{0}.amin(-1)", np.inf),
    "reduce_window_sum": _window("{0}.sum(-1)", 0),
    "rem": _call("torch.fmod"),
    "reshape": _reshape,
    "rev": lambda c, step, xs: f"{xs[0]}.flip({_whole(step.params['dimensions'])})",
    "round": _round,
    "rsqrt": _call("torch.rsqrt"),
    "scan": _scan,
    "scatter": _scatter(""),
    "scatter-add": _scatter("sum"),
    "scatter_add": _scatter("sum"),
    "scatter_max": _scatter("amax"),
    "scatter_min": _scatter("amin"),
    "scatter_mul": _scatter("prod"),
    "select_and_scatter_add": _scatter_chosen,
    "select_n": _select,
    "sign": _call("torch.sign"),
    "sin": _call("torch.sin"),
    "sinh": _call("torch.sinh"),
    "slice": _slice,
    "sort": _sort,
    "split": _split,
    "sqrt": _call("torch.sqrt"),
    "square": _call("torch.square"),
    "squeeze": lambda c, step, xs: f"{xs[0]}.reshape({c.shape(step.outputs[0].shape)})",
    "sub": "{0} - {1}",
    "tan": _call("torch.tan"),
    "tanh": _call("torch.tanh"),
    "top_k": _top_k,
    "transpose": lambda c, step, xs: f"{xs[0]}.permute({_whole(step.params['permutation'])})",
    "triangular_solve": _triangular,
    "while": _while,
    "xor": "{0} ^ {1}",
}
