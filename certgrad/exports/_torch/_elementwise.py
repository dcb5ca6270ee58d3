"""Elementwise primitives in torch: a row for each primitive. Where a template suffices, its operands are {0}, {1}, …"""

from __future__ import annotations

import numpy as np

from certgrad.exports._flat import Step
from certgrad.exports._torch._code import Code, Rule, call, dtype_of, unwritten


def _div(c: Code, step: Step, xs: list[str]) -> str:
    if step.outputs[0].dtype.kind == "f":
        return f"{c.operand(step, 0)} / {c.operand(step, 1)}"
    return f"torch.div({xs[0]}, {xs[1]}, rounding_mode='trunc')"


def _identity(c: Code, step: Step, xs: list[str]) -> str:
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


TABLE: dict[str, str | Rule] = {
    "abs": call("torch.abs"),
    "acos": call("torch.acos"),
    "acosh": call("torch.acosh"),
    "add": "{0} + {1}",
    "add_any": "{0} + {1}",
    "and": "{0} & {1}",
    "asin": call("torch.asin"),
    "asinh": call("torch.asinh"),
    "atan": call("torch.atan"),
    "atan2": call("torch.atan2"),
    "atanh": call("torch.atanh"),
    "bessel_i0e": call("torch.special.i0e"),
    "bessel_i1e": call("torch.special.i1e"),
    "cbrt": lambda c, step, xs: f"torch.sign({xs[0]}) * torch.abs({xs[0]}) ** (1 / 3)",
    "ceil": call("torch.ceil"),
    "clamp": lambda c, step, xs: f"torch.minimum(torch.maximum({xs[1]}, {xs[0]}), {xs[2]})",
    "convert_element_type": _convert,
    "cos": call("torch.cos"),
    "cosh": call("torch.cosh"),
    "digamma": call("torch.digamma"),
    "div": _div,
    "eq": "{0} == {1}",
    "erf": call("torch.erf"),
    "erf_inv": call("torch.erfinv"),
    "erfc": call("torch.erfc"),
    "exp": call("torch.exp"),
    "exp2": call("torch.exp2"),
    "expm1": call("torch.expm1"),
    "floor": call("torch.floor"),
    "ge": "{0} >= {1}",
    "gt": "{0} > {1}",
    "igamma": call("torch.special.gammainc"),
    "igammac": call("torch.special.gammaincc"),
    "integer_pow": lambda c, step, xs: f"{xs[0]} ** {int(step.params['y'])}",
    "is_finite": call("torch.isfinite"),
    "le": "{0} <= {1}",
    "lgamma": call("torch.lgamma"),
    "log": call("torch.log"),
    "log1p": call("torch.log1p"),
    "logistic": call("torch.sigmoid"),
    "lt": "{0} < {1}",
    "max": call("torch.maximum"),
    "min": call("torch.minimum"),
    "mul": "{0} * {1}",
    "ne": "{0} != {1}",
    "neg": lambda c, step, xs: f"-{xs[0]}",
    "not": lambda c, step, xs: f"~{xs[0]}",
    "one_minus_square": lambda c, step, xs: f"1 - {xs[0]} * {xs[0]}",
    "or": "{0} | {1}",
    "pow": call("torch.pow"),
    "pvary": _identity,
    "real": _identity,
    "rem": call("torch.fmod"),
    "round": _round,
    "rsqrt": call("torch.rsqrt"),
    "select_n": _select,
    "sign": call("torch.sign"),
    "sin": call("torch.sin"),
    "sinh": call("torch.sinh"),
    "sqrt": call("torch.sqrt"),
    "square": call("torch.square"),
    "sub": "{0} - {1}",
    "tan": call("torch.tan"),
    "tanh": call("torch.tanh"),
    "xor": "{0} ^ {1}",
}
