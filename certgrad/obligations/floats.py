"""Traced programs evaluated by numpy in floats, at any sizes and in any dtype: one operation at a time, not compiled.

Symbolic sizes become numbers; 64-bit floats may become narrower ones. JAX computes what numpy has no operation for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import prod
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np

from certgrad.jaxpr import kinds
from certgrad.jaxpr.linear import LINEAR, linear_program
from certgrad.jaxpr.programs import repeated, results, scanned
from certgrad.obligations import balls

from .balls._values import Value
from .tracing.jax_internals import (
    DimExpr,
    EndlessError,
    Program,
    branch_programs,
    inner_program,
    jaxpr_of,
    kind_of,
    program_of,
    sampler,
    tells,
    wide_floats,
)

MAX_STEPS = 1000
"""Steps of a loop in floats, at most; a longer one has no value."""
Array = np.ndarray


class NoValueError(Exception):
    """An operation cannot be evaluated in this module."""


class Noise:
    """Simulated rounding: each value moves by a relative `unit`, up or down, alike in every run."""

    def __init__(self, unit: float) -> None:
        self.unit = unit
        self._signs = np.random.default_rng(0)

    def perturbed(self, x: Array) -> Array:
        """Return the array with each float or complex number multiplied by 1 + unit or 1 − unit."""
        if kind_of(x.dtype) not in ("f", "c"):
            return x
        return (x * (1 + self.unit * (1 - 2 * self._signs.integers(0, 2, x.shape)))).astype(x.dtype)


@dataclass(frozen=True)
class Setting:
    """The sizes at which a program is evaluated, and the float dtype in the place of 64-bit ones."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    real: Any = np.float64
    exact: bool = False
    """Whether `real` replaces floats of every width, not only those of 64 bits."""
    noise: Noise | None = None
    """What perturbs the result of each operation that rounds; None for no perturbation."""

    def dtype(self, dtype: Any) -> Any:
        if dtype == np.float64 or (self.exact and kind_of(dtype) == "f"):
            return self.real
        return dtype

    def size(self, value: Any) -> Any:
        """Return a parameter of an equation with its symbolic dimensions replaced by the sizes."""
        if isinstance(value, DimExpr):
            return int(value._evaluate(dict(self.sizes)))
        if type(value) in (tuple, list):
            return type(value)(self.size(v) for v in value)
        return value


def run(program: Program, args: Sequence[Array], setting: Setting) -> list[Array]:
    """Return the outputs of a program. Raises NoValueError, or what an operation raises."""
    with np.errstate(all="ignore"):
        return _run(program, args, setting)


def compute(name: str, params: dict[str, Any], operands: list[Array], outs: Sequence[Any]) -> list[Array]:
    """Return the outputs of one operation at numbers, in the dtypes of `outs`. Raises NoValueError."""
    eqn = SimpleNamespace(primitive=SimpleNamespace(name=name), params=params)
    with np.errstate(all="ignore"):
        values = _applied(eqn, params, operands, [a.dtype for a in outs], Setting())
    pairs = zip(values, outs, strict=True)
    return [v if kind_of(a.dtype) == "k" else np.asarray(v).astype(a.dtype, copy=False) for v, a in pairs]


def _run(program: Program, args: Sequence[Array], setting: Setting) -> list[Array]:
    def rule(eqn: Any, operands: list[Array]) -> list[Array]:
        return [] if tells(eqn) else applied(eqn, operands, setting)

    def constant(value: Any, aval: Any) -> Array:
        return value if kind_of(aval.dtype) == "k" else np.asarray(value).astype(setting.dtype(aval.dtype))

    return results(program, args, rule, constant)


def applied(eqn: Any, operands: list[Array], setting: Setting) -> list[Array]:
    """Return an equation's results. Raises NoValueError, or what the operation raises."""
    params = {k: setting.size(v) for k, v in eqn.params.items()} if setting.sizes else eqn.params
    dtypes = [setting.dtype(v.aval.dtype) for v in eqn.outvars]
    values = _applied(eqn, params, operands, dtypes, setting)
    out = [v if v.dtype == dtype else v.astype(dtype) for v, dtype in zip(values, dtypes, strict=True)]
    return [setting.noise.perturbed(v) for v in out] if setting.noise and eqn.primitive.name not in _EXACT else out


def _applied(
    eqn: Any, params: dict[str, Any], operands: list[Array], dtypes: Sequence[Any], setting: Setting
) -> list[Array]:
    """Return the results of one equation in numpy; the caller casts them to the dtypes of its outputs.

    The first that fits computes them: programs inside, complex numbers, real ones, keys, moves of entries, JAX.
    """
    name = eqn.primitive.name
    if hasattr(eqn, "invars") and sampler(eqn) and (drawn := inner_program(eqn)):
        # Random bits become other numbers in another dtype: the sampler runs in its own, whatever the setting says.
        inputs = [
            x.astype(v.aval.dtype) if kind_of(v.aval.dtype) == "f" else x
            for x, v in zip(operands, eqn.invars, strict=True)
        ]
        return _run(drawn, inputs, Setting(setting.sizes))
    if name in kinds.CALLS or name == LINEAR:
        inner = program_of(linear_program(eqn)) if name == LINEAR else inner_program(eqn)
        if inner is None:
            raise NoValueError(name)
        return _run(inner, operands, setting)
    if name in _NESTED:
        return _NESTED[name](eqn, params, operands, setting)
    if any(np.dtype(d).kind == "c" for d in (*dtypes, *(x.dtype for x in operands)) if kind_of(d) != "k"):
        if name in _OF_COMPLEX:
            return [np.asarray(_OF_COMPLEX[name](*operands))]
        if name == "convert_element_type":
            return [operands[0] if np.dtype(dtypes[0]).kind == "c" else operands[0].real]
        if name not in _MOVED and not (name == "gather" and "fill" not in str(params["mode"]).lower()):
            return _by_jax(eqn, params, operands)  # the functions below are of real numbers
    if name in _SAME:
        return [np.asarray(_SAME[name](*operands))]
    if name in _OWN:
        outputs = _OWN[name](params, *operands)
        return [np.asarray(v) for v in outputs] if isinstance(outputs, list) else [np.asarray(outputs)]
    if any(kind_of(x.dtype) == "k" for x in operands) and (of_keys := _of_keys(name, params, operands)) is not None:
        return of_keys
    if name in _MOVED:
        moved = balls.RULES[name](None, params, *map(Value, operands))
        return [v.primal for v in moved] if isinstance(moved, list) else [moved.primal]
    if name == "pallas_call" and hasattr(eqn, "invars") and (inner := inner_program(eqn)) is not None:
        return _run(inner, operands, setting)  # the proof is about this program
    return _by_jax(eqn, params, operands)


def _of_keys(name: str, params: dict[str, Any], operands: list[Array]) -> list[Array] | None:
    """Return the results of an operation on random keys; None where JAX computes it."""
    from .tracing import random_bits

    with suppress(random_bits.OtherKeysError):
        if name in random_bits.OF_KEYS:
            return [random_bits.OF_KEYS[name](params, *operands)]
        if name in _MOVED and len(operands) == 1:
            moved = balls.RULES[name](None, params, Value(np.arange(operands[0].size).reshape(operands[0].shape)))
            return [random_bits.keys_at(operands[0], v.primal) for v in (moved if isinstance(moved, list) else [moved])]
    return None


def _by_jax(eqn: Any, params: dict[str, Any], operands: list[Array]) -> list[Array]:
    if not hasattr(eqn.primitive, "bind") or any(hasattr(jaxpr_of(v), "eqns") for v in params.values()):
        raise NoValueError(eqn.primitive.name)
    with wide_floats():  # else JAX rounds what it is given to 32 bits
        result = eqn.primitive.bind(*map(jnp.asarray, operands), **eqn.primitive.get_bind_params(params))
        outs = result if eqn.primitive.multiple_results else [result]
        return [v if kind_of(v.dtype) == "k" else np.asarray(v) for v in outs]


# --- programs inside programs


def _scan(eqn: Any, params: dict[str, Any], operands: list[Array], setting: Setting) -> list[Array]:
    if not 0 < int(params["length"]) <= MAX_STEPS:
        raise NoValueError("a scan of no steps, or of too many")
    carry, columns = scanned(params, operands, lambda inner, xs: _run(inner, xs, setting), lambda x, k: x[k])
    return [*carry, *map(_stacked, columns)]


def _stacked(column: Sequence[Array]) -> Array:
    return jnp.stack(column) if kind_of(column[0].dtype) == "k" else np.stack(column)  # type: ignore[return-value]


def _while(eqn: Any, params: dict[str, Any], operands: list[Array], setting: Setting) -> list[Array]:
    try:
        carries = repeated(params, operands, lambda inner, xs: _run(inner, xs, setting), np.all, MAX_STEPS)
    except NoValueError as error:
        raise EndlessError(f"a loop with {error}, which is not computed here") from error
    if carries is None:
        raise EndlessError(f"a loop of more than {MAX_STEPS} steps")
    return carries


def _cond(eqn: Any, params: dict[str, Any], operands: list[Array], setting: Setting) -> list[Array]:
    branches = branch_programs(SimpleNamespace(params=params))
    which = max(0, min(int(operands[0]), len(branches) - 1))
    return _run(branches[which], operands[1:], setting)


def _linear_solve(eqn: Any, params: dict[str, Any], operands: list[Array], setting: Setting) -> list[Array]:
    counts, programs = params["const_lengths"], params["jaxprs"]
    start = counts.matvec + counts.vecmat
    solver = operands[start : start + counts.solve]
    return _run(program_of(programs.solve), [*solver, *operands[sum(counts) :]], setting)


def _marked_solution(eqn: Any, params: dict[str, Any], operands: list[Array], setting: Setting) -> list[Array]:
    """Return the results of a marked solver's own program."""
    solver = program_of(params["solver"])
    first, second = params["counts"]
    return _run(solver, [*operands[:first], *operands[first + second :]], setting)


def _scatter(eqn: Any, params: dict[str, Any], operands: list[Array], setting: Setting) -> list[Array]:
    x, indices, updates = operands
    targets = balls._indexing.written_at(_params_with_clamping(params), x.shape, indices, updates.shape)
    lands = targets >= 0
    out = x.flatten()
    _COMBINED[eqn.primitive.name](out, targets[lands], updates[lands])
    return [out.reshape(x.shape)]


_COMBINED: dict[str, Callable[[Array, Array, Array], None]] = {
    "scatter": np.put,  # the last of several for one entry stays
    "scatter-add": np.add.at,
    "scatter-mul": np.multiply.at,
    "scatter-min": np.minimum.at,
    "scatter-max": np.maximum.at,
}
_NESTED: dict[str, Callable[..., list[Array]]] = {
    "scan": _scan,
    "while": _while,
    "cond": _cond,
    "custom_linear_solve": _linear_solve,
    "certgrad_solution": _marked_solution,
    **dict.fromkeys(_COMBINED, _scatter),
    "dim_as_value": lambda eqn, params, operands, setting: [np.asarray(params["dim"])],
}
_MOVED = kinds.REARRANGES | {"broadcast_to", "platform_index", "select_n"}
"""Operations that move or choose entries: the rules of the ball evaluator do that for arrays of any dtype."""
_EXACT = (kinds.ENTRIES | kinds.CALLS | _NESTED.keys()) | frozenset(
    "abs argmax argmin broadcast_to ceil complex conj convert_element_type floor imag iota neg platform_index real "
    "round sign".split()
)
"""Operations that get no noise: they round nothing, or run a program whose operations get it."""


# --- operations on arrays
def _gather(params: dict[str, Any], x: Array, indices: Array) -> Array:
    at = balls._indexing.read_at(_params_with_clamping(params), x.shape, indices)
    fill = params["fill_value"]
    if fill is None:
        fill = np.nan if kind_of(x.dtype) == "f" or x.dtype.kind == "c" else balls._indexing.absent(x.dtype)
    out = np.full(at.shape, fill, x.dtype)
    out[at >= 0] = x.reshape(-1)[at[at >= 0]]
    return out


def _params_with_clamping(params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters with a promise to stay in bounds kept by clamping, as in any program here."""
    promised = "promise" in str(params["mode"]).lower()
    return {**params, "mode": None} if promised else params


def _dot_general(params: dict[str, Any], x: Array, y: Array) -> Array:
    (contract_x, contract_y), (batch_x, batch_y) = params["dimension_numbers"]
    free_x = [k for k in range(x.ndim) if k not in (*contract_x, *batch_x)]
    free_y = [k for k in range(y.ndim) if k not in (*contract_y, *batch_y)]
    dtype = np.result_type(x.dtype, y.dtype)
    if kind_of(x.dtype) == "f":  # as machines accumulate: halves in 32 bits
        dtype = np.dtype(np.float64 if np.float64 in (x.dtype, y.dtype) else np.float32)
    batch = [x.shape[k] for k in batch_x]
    contracted = prod(x.shape[k] for k in contract_x)
    rows, columns = [x.shape[k] for k in free_x], [y.shape[k] for k in free_y]
    left = x.astype(dtype).transpose([*batch_x, *free_x, *contract_x]).reshape([*batch, prod(rows), contracted])
    right = y.astype(dtype).transpose([*batch_y, *contract_y, *free_y]).reshape([*batch, contracted, prod(columns)])
    return (left @ right).reshape([*batch, *rows, *columns])


def _reduced(function: Callable[..., Any], empty: Callable[[Any], Any]) -> Callable[..., Array]:
    def reduced(params: dict[str, Any], x: Array) -> Array:
        axes = tuple(params["axes"])
        if not axes:
            return x
        if 0 in (x.shape[k] for k in axes):
            return np.full([n for k, n in enumerate(x.shape) if k not in axes], empty(x.dtype), x.dtype)
        return function(x, axis=axes)

    return reduced


def _sum(x: Array, axis: tuple[int, ...]) -> Array:
    """Return a sum accumulated as machines do: half precision in 32 bits."""
    return np.sum(x.astype(np.float32), axis=axis) if x.dtype.itemsize == 2 else np.sum(x, axis=axis, dtype=x.dtype)


def _product(x: Array, axis: tuple[int, ...]) -> Array:
    return np.prod(x, axis=axis, dtype=x.dtype)


def _extreme(pick: Callable[..., Any]) -> Callable[..., Array]:
    def reduced(params: dict[str, Any], x: Array) -> Array:
        (axis,) = params["axes"]
        return pick(x.astype(np.float64) if kind_of(x.dtype) == "f" else x, axis=axis)

    return reduced


def _cumulative(function: Callable[..., Any]) -> Callable[..., Array]:
    def along(params: dict[str, Any], x: Array) -> Array:
        axis = params["axis"]
        turned = np.flip(x, axis) if params["reverse"] else x
        out = function(turned, axis=axis).astype(x.dtype)
        return np.flip(out, axis) if params["reverse"] else out

    return along


def _sort(params: dict[str, Any], *xs: Array) -> list[Array]:
    axis = params["dimension"]
    keys = [x.astype(np.float64) if kind_of(x.dtype) == "f" else x for x in xs[: params["num_keys"]]]
    order = np.lexsort(keys[::-1], axis=axis)
    return [np.take_along_axis(x, order, axis) for x in xs]


def _shifted(shift: Callable[..., Array]) -> Callable[..., Array]:
    def shifted(params: dict[str, Any], x: Array, by: Array) -> Array:
        words, count = (v.view(f"u{v.dtype.itemsize}") for v in (x, by))
        bits = 8 * x.dtype.itemsize
        return np.where(count < bits, shift(words, count % bits), 0).astype(words.dtype).view(x.dtype)

    return shifted


def _bitcast(params: dict[str, Any], x: Array) -> Array:
    """Return the bits of numbers as another dtype; a last axis holds the parts of one number, where widths differ."""
    new = np.dtype(params["new_dtype"])
    x = x[..., None] if new.itemsize < x.dtype.itemsize else x
    bits = np.ascontiguousarray(x).reshape(x.shape).view(new)
    return bits[..., 0] if new.itemsize > x.dtype.itemsize else bits


def _divided(params: dict[str, Any], x: Array, y: Array) -> Array:
    if kind_of(x.dtype) == "f":
        return np.divide(x, y)
    safe = np.where(y == 0, 1, y)
    return np.where(y == 0, -1, np.sign(x) * np.sign(safe) * (np.abs(x) // np.abs(safe)))


def _rounded(params: dict[str, Any], x: Array) -> Array:
    if int(params["rounding_method"]) == 1:
        return np.rint(x)
    return np.sign(x) * np.floor(np.abs(x) + x.dtype.type(0.5))


def _iota(params: dict[str, Any], *sizes: Array) -> Array:
    shape, axis = params["shape"], params["dimension"]
    along = np.arange(shape[axis]).reshape([-1 if k == axis else 1 for k in range(len(shape))])
    return np.broadcast_to(along, shape)


def _by_entry(function: Callable[[float], float]) -> Callable[..., Array]:
    """Return an operation that applies a Python function to each entry in 64 bits; ∞ where it raises."""

    def value(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):
            return math.nan if math.isnan(x) else math.inf

    vectorised = np.frompyfunc(value, 1, 1)
    return lambda params, x: np.asarray(vectorised(x.astype(np.float64)), np.float64)


def _lowest(dtype: Any) -> Any:
    return -np.inf if kind_of(dtype) == "f" else False if kind_of(dtype) == "b" else jnp.iinfo(dtype).min


def _highest(dtype: Any) -> Any:
    return np.inf if kind_of(dtype) == "f" else True if kind_of(dtype) == "b" else jnp.iinfo(dtype).max


def _complex(re: Array, im: Array) -> Array:
    """Return re + i·im, set part by part: a product with the imaginary unit would make NaN of an infinity."""
    out = np.empty(np.broadcast_shapes(re.shape, im.shape), np.result_type(re.dtype, np.complex64))
    out.real, out.imag = re, im
    return out


def _power(x: Array, y: Array) -> Array:
    """Return xʸ with an array of exponents: for the number ½ numpy takes the root, which differs at −∞ and −0."""
    return np.power(x, np.ascontiguousarray(np.broadcast_to(y, x.shape))).reshape(x.shape)


_OF_NUMPY = """abs acos acosh add asin asinh atan atan2 atanh cbrt ceil cos cosh exp exp2 expm1 floor log log1p sign sin
    sinh sqrt square tan tanh"""
_BY_NAME = """add_any add and bitwise_and eq equal ge greater_equal gt greater le less_equal lt less max maximum
    min minimum mul multiply ne not_equal neg negative not bitwise_not or bitwise_or sub subtract xor bitwise_xor"""
_SAME: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in _OF_NUMPY.split()},
    **{name: getattr(np, numpys) for name, numpys in zip(*[iter(_BY_NAME.split())] * 2, strict=True)},
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "pow": _power,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}
"""Arithmetic that IEEE 754 or C's mathematics library fixes, special values included: numpy gives what JAX gives."""
_OF_COMPLEX: dict[str, Callable[..., Any]] = {
    **{name: _SAME[name] for name in ("add", "add_any", "eq", "mul", "ne", "neg", "sub")},
    "complex": _complex,
    "conj": np.conj,
    "imag": np.imag,
    "real": np.real,
}
"""Operations on complex numbers for which numpy gives what JAX gives."""


def _digamma(params: dict[str, Any], x: Array) -> Array:
    """Return digamma, with NaN at its poles, zero among them, as JAX does."""
    from scipy.special import psi  # which takes a third of a second, and few programs have one

    return np.where(x == 0, np.nan, psi(x))


def _triangular_solve(params: dict[str, Any], a: Array, b: Array) -> Array:
    """Return the solution that BLAS gives, as JAX does: a 0 on the diagonal gives infinite numbers and no error."""
    from scipy.linalg.blas import get_blas_funcs  # as for `psi`

    (solved,) = get_blas_funcs(("trsm",), (a, b))
    named = {"trans_a": int(params["transpose_a"]), "diag": int(params["unit_diagonal"])}
    named |= {"side": int(not params["left_side"]), "lower": int(params["lower"])}
    out = np.empty_like(b)
    for k in np.ndindex(b.shape[:-2]):
        out[k] = solved(1.0, a[k], b[k], **named) if b[k].size else b[k]
    return out


def _cholesky(params: dict[str, Any], a: Array) -> Array:
    """Return the factor that LAPACK gives of the lower triangle, as JAX does; NaN if it is not positive definite."""
    from scipy.linalg.lapack import get_lapack_funcs

    (factorised,) = get_lapack_funcs(("potrf",), (a,))
    out = np.empty_like(a)
    for k in np.ndindex(a.shape[:-2]):
        factor, failed = factorised(a[k], lower=1, clean=0) if a[k].size else (a[k], 0)
        out[k] = np.nan if failed else factor
    return out


_OWN: dict[str, Callable[..., Any]] = {
    "argmax": _extreme(np.argmax),
    "argmin": _extreme(np.argmin),
    "bitcast_convert_type": _bitcast,
    "cholesky": _cholesky,
    "convert_element_type": lambda params, x: x,
    "cummax": _cumulative(np.maximum.accumulate),
    "cummin": _cumulative(np.minimum.accumulate),
    "cumprod": _cumulative(np.cumprod),
    "cumsum": _cumulative(np.cumsum),
    "digamma": _digamma,
    "div": _divided,
    "dot_general": _dot_general,
    "erf": _by_entry(math.erf),
    "erfc": _by_entry(math.erfc),
    "gather": _gather,
    "integer_pow": lambda params, x: np.power(x, params["y"]) if params["y"] >= 0 else 1 / np.power(x, -params["y"]),
    "iota": _iota,
    "is_finite": lambda params, x: np.isfinite(x),
    "lgamma": _by_entry(math.lgamma),
    "logistic": lambda params, x: 1 / (1 + np.exp(-x)),
    "reduce_and": _reduced(np.logical_and.reduce, lambda dtype: True),
    "reduce_max": _reduced(np.max, _lowest),
    "reduce_min": _reduced(np.min, _highest),
    "reduce_or": _reduced(np.logical_or.reduce, lambda dtype: False),
    "reduce_prod": _reduced(_product, lambda dtype: 1),
    "reduce_sum": _reduced(_sum, lambda dtype: 0),
    "rem": lambda params, x, y: np.fmod(x, y),
    "round": _rounded,
    "shift_left": _shifted(np.left_shift),
    "shift_right_logical": _shifted(np.right_shift),
    "sort": _sort,
    "triangular_solve": _triangular_solve,
}
