"""Elementwise primitives in ONNX: a table with a row for each primitive."""

from __future__ import annotations

from typing import Any

import numpy as np

from certgrad.exports._flat import Constant, Step
from certgrad.exports._onnx._graph import Rule, Writer, unwritten


def _op(kind: str) -> Rule:
    return lambda w, step, xs: w.op(kind, *xs)


def _not(kind: str) -> Rule:
    return lambda w, step, xs: w.op("Not", w.op(kind, *xs))


def _number(w: Writer, step: Step, value: float) -> str:
    """Return the name of a constant in the dtype of the first operand."""
    return w.constant(value, step.inputs[0].dtype)


def _logic(of_booleans: str, of_integers: str) -> Rule:
    return lambda w, step, xs: w.op(of_booleans if step.outputs[0].dtype == np.bool_ else of_integers, *xs)


def _order(smaller: str) -> Rule:
    """Return the rule that writes the operator `smaller`: "Max" or "Min", which for booleans are "Or" and "And"."""
    return lambda w, step, xs: w.op(
        smaller if step.outputs[0].dtype != np.bool_ else {"Max": "Or", "Min": "And"}[smaller], *xs
    )


def _integer_pow(w: Writer, step: Step, xs: list[str]) -> str:
    y = int(step.params["y"])
    power = xs[0]
    if 0 < abs(y) <= 4:
        for _ in range(abs(y) - 1):
            power = w.op("Mul", power, xs[0])
    else:
        power = w.op("Pow", xs[0], _number(w, step, abs(y)))
    return w.op("Reciprocal", power) if y < 0 else power


def _expm1(w: Writer, step: Step, xs: list[str]) -> str:
    """Write eˣ − 1 as (eˣ + 1) · tanh(x/2), which loses no digits where x is near 0."""
    half = w.op("Mul", xs[0], _number(w, step, 0.5))
    return w.op("Mul", w.op("Add", w.op("Exp", xs[0]), _number(w, step, 1)), w.op("Tanh", half))


def _log1p(w: Writer, step: Step, xs: list[str]) -> str:
    """Write log(1 + x), as 2 · artanh(x / (2 + x)) where x is near 0, since the sum 1 + x loses digits of x."""
    (x,) = xs
    near = w.op("Less", w.op("Abs", x), _number(w, step, 0.5))
    small = w.op("Where", near, x, _number(w, step, 0))
    exact = w.op("Atanh", w.op("Div", small, w.op("Add", small, _number(w, step, 2))))
    plain = w.op("Log", w.op("Add", x, _number(w, step, 1)))
    return w.op("Where", near, w.op("Mul", exact, _number(w, step, 2)), plain)


def _cbrt(w: Writer, step: Step, xs: list[str]) -> str:
    root = w.op("Pow", w.op("Abs", xs[0]), _number(w, step, 1 / 3))
    return w.op("Mul", w.op("Sign", xs[0]), root)


def _round(w: Writer, step: Step, xs: list[str]) -> str:
    if int(step.params["rounding_method"]) != 1:
        raise unwritten(w.place, "round", "away from zero has no counterpart in ONNX")
    return w.op("Round", xs[0])


def _select(w: Writer, step: Step, xs: list[str]) -> str:
    """Write a `select_n` of any number of cases as a chain of Where, one for each case after the first."""
    which, *cases = xs
    out = cases[0]
    for k, case in enumerate(cases[1:], 1):
        chosen = which
        if step.inputs[0].dtype != np.bool_:
            chosen = w.op("Equal", which, w.constant(k, step.inputs[0].dtype))
        if step.outputs[0].dtype == np.bool_:  # Where of booleans has no kernel
            out = w.op("Or", w.op("And", chosen, case), w.op("And", w.op("Not", chosen), out))
        else:
            out = w.op("Where", chosen, case, out)
    return out


def _clamp(w: Writer, step: Step, xs: list[str]) -> str:
    low, x, high = xs
    return w.op("Min", w.op("Max", x, low), high)


def _convert(w: Writer, step: Step, xs: list[str]) -> str:
    dtype: Any = step.outputs[0].dtype
    return xs[0] if dtype == step.inputs[0].dtype else w.cast(xs[0], dtype)


def _identity(w: Writer, step: Step, xs: list[str]) -> str:
    return xs[0]


def _pow(w: Writer, step: Step, xs: list[str]) -> str:
    power = step.inputs[1]
    if isinstance(power, Constant) and power.rank == 0 and power.data == 0.5:
        return w.op("Sqrt", xs[0])
    return w.op("Pow", *xs)


TABLE: dict[str, Rule] = {
    "abs": _op("Abs"),
    "acos": _op("Acos"),
    "acosh": _op("Acosh"),
    "add": _op("Add"),
    "add_any": _op("Add"),
    "and": _logic("And", "BitwiseAnd"),
    "asin": _op("Asin"),
    "asinh": _op("Asinh"),
    "atan": _op("Atan"),
    "atanh": _op("Atanh"),
    "cbrt": _cbrt,
    "ceil": _op("Ceil"),
    "clamp": _clamp,
    "convert_element_type": _convert,
    "cos": _op("Cos"),
    "cosh": _op("Cosh"),
    "div": _op("Div"),
    "eq": _op("Equal"),
    "erf": _op("Erf"),
    "erfc": lambda w, step, xs: w.op("Sub", _number(w, step, 1), w.op("Erf", *xs)),
    "exp": _op("Exp"),
    "exp2": lambda w, step, xs: w.op("Pow", _number(w, step, 2), *xs),
    "expm1": _expm1,
    "floor": _op("Floor"),
    "ge": _op("GreaterOrEqual"),
    "gt": _op("Greater"),
    "integer_pow": _integer_pow,
    "is_finite": lambda w, step, xs: w.op("Not", w.op("Or", w.op("IsInf", *xs), w.op("IsNaN", *xs))),
    "le": _op("LessOrEqual"),
    "log": _op("Log"),
    "log1p": _log1p,
    "logistic": _op("Sigmoid"),
    "lt": _op("Less"),
    "max": _order("Max"),
    "min": _order("Min"),
    "mul": _op("Mul"),
    "ne": _not("Equal"),
    "neg": _op("Neg"),
    "not": _logic("Not", "BitwiseNot"),
    "one_minus_square": lambda w, step, xs: w.op("Sub", _number(w, step, 1), w.op("Mul", xs[0], xs[0])),
    "or": _logic("Or", "BitwiseOr"),
    "pow": _pow,
    "pvary": _identity,
    "real": _identity,
    "rem": lambda w, step, xs: w.op("Mod", *xs, fmod=1),
    "round": _round,
    "rsqrt": lambda w, step, xs: w.op("Reciprocal", w.op("Sqrt", *xs)),
    "select_n": _select,
    "sign": _op("Sign"),
    "sin": _op("Sin"),
    "sinh": _op("Sinh"),
    "sqrt": _op("Sqrt"),
    "square": lambda w, step, xs: w.op("Mul", xs[0], xs[0]),
    "sub": _op("Sub"),
    "tan": _op("Tan"),
    "tanh": _op("Tanh"),
    "xor": _logic("Xor", "BitwiseXor"),
}
