"""The forward and the rules of an op in floats, against their exact values in ball arithmetic, in units in the last
place."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from certgrad.conform._points import Call, Point, calls, ends, exactly, hard, ordinary, scattered
from certgrad.conform._reasons import reason
from certgrad.jaxpr.at_shapes import DoesNotTraceError, traced
from certgrad.language.arithmetic import UnfitError
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls import evaluate
from certgrad.obligations.balls._errors import BallError
from certgrad.obligations.balls._jaxpr import numbers as literals
from certgrad.ops import Op
from certgrad.ops._composed import Composed
from certgrad.ops._magnitudes import ANY_MAGNITUDE

DTYPES = {"float64": jnp.float64, "float32": jnp.float32, "bfloat16": jnp.bfloat16, "float16": jnp.float16}
PARTS = ("forward", "jvp", "vjp")
LIMIT = 4.0
"""Units in the last place above which an error needs a reason, in float32 at ordinary arguments."""
CANCELLED = 8.0
"""Entries smaller than the largest of their array by more than this factor are measured as if by this factor alone."""
MOVED = 16
"""How often the arguments are moved by up to half a unit, to measure the conditioning."""
POINTS = 2
"""The number of ordinary points of one op in one dtype."""
NEAR = 6
"""The most numbers near which hard arguments are drawn."""
BITS = 256
NOTHING = 2.0**-200
"""A ball around 0 with a radius of at most this is read as 0."""


@dataclass
class Measured:
    """One part of an op in one dtype on one device, at ordinary arguments.

    `ulps` is the error of the worst entry in units in the last place; `conditioned` is how many units the exact value
    moves where the arguments move by half a unit.
    """

    ulps: float
    conditioned: float

    @property
    def explained(self) -> bool:
        """Whether rounding the arguments moves the value by about as much as the error."""
        return explained(self.ulps, self.conditioned)


def explained(ulps: float, conditioned: float) -> bool:
    """Return whether an error of `ulps` units is at most `LIMIT` times 1 + `conditioned`.

    `conditioned` is how many units the exact value moves where the arguments move by half a unit.
    """
    return ulps <= LIMIT * (1 + conditioned)


@dataclass
class Hard:
    """What happens at a hard point.

    `lost` are the parts that are not finite although the exact value is a number of the dtype; `ulps` and `conditioned`
    are of the worst of the other parts, as in `Measured`.
    """

    what: str
    lost: list[str]
    nan: list[str]
    """The parts that are NaN where the exact value is a number of the dtype."""
    ulps: float
    conditioned: float
    stated: bool = True
    """Whether the op states that it is not NaN at such magnitudes."""


@dataclass
class Conformity:
    """What was measured of an op on one device.

    `parts` is by dtype and part, at ordinary arguments; `hard` by dtype, at hard ones; `without` says, by dtype or for
    "all", why nothing was measured.
    """

    op: str
    device: str
    reason: str = ""
    """The reason that is written down for its error; "" if there is none."""
    parts: dict[str, dict[str, Measured]] = field(default_factory=dict)
    hard: dict[str, list[Hard]] = field(default_factory=dict)
    without: dict[str, str] = field(default_factory=dict)
    magnitudes: dict[str, str] = field(default_factory=dict)
    """The magnitudes at which it is stated not to be NaN, by dtype, in words; empty if it states none."""

    def problems(self, dtype: str = "float32") -> list[str]:
        """Return parts above the limit at ordinary arguments without a reason, by conditioning or written down; and NaN
        at stated magnitudes in any dtype, which no reason excuses.
        """
        beyond = {} if self.reason else self.beyond(dtype)
        far = [f"{part} is off by {m.ulps:.3g} units" for part, m in beyond.items() if not m.explained]
        return far + [
            f"{', '.join(h.nan)} is NaN in {name} with {h.what}" for name in self.hard for h in self.undefined(name)
        ]

    def undefined(self, dtype: str) -> list[Hard]:
        """Return the hard points at stated magnitudes at which a part is NaN."""
        return [h for h in self.hard.get(dtype, []) if h.nan and h.stated]

    def beyond(self, dtype: str = "float32") -> dict[str, Measured]:
        """Return the parts that are off by more than `LIMIT` units at ordinary arguments."""
        return {part: m for part, m in self.parts.get(dtype, {}).items() if not m.ulps <= LIMIT}


def devices() -> dict[str, Any]:
    """Return one device of each kind that JAX sees, by the name of the kind."""
    return {_kind(d): d for d in reversed([*jax.devices(), *jax.devices("cpu")])}


def _kind(device: Any) -> str:
    return "cpu" if device.platform == "cpu" else str(device.device_kind)


def conform(op: Op, dtypes: Sequence[str] = tuple(DTYPES), device: Any = None, hardly: bool = True) -> Conformity:
    """Measure an op's forward, JVP and VJP in these dtypes on a device; with `hardly`, at hard arguments too.

    The arguments are numbers of the dtype; the random seed is the op's name. The exact value is that of the same
    program in ball arithmetic at the same arguments. A composed op is measured at ordinary arguments alone, as its
    parts are measured at hard ones. The result says in `without` what cannot be measured.
    """
    device = jax.devices()[0] if device is None else device
    out = Conformity(op.name, _kind(device), reason(op))
    if op.magnitudes != ANY_MAGNITUDE:
        out.magnitudes = {dtype: op.magnitudes.text(DTYPES[dtype]) for dtype in dtypes}
    with jax.enable_x64(True), jax.default_device(device), s.precision(BITS):
        measuring = None
        for call in calls(op, np.random.default_rng(zlib.crc32(op.name.encode()))):
            with suppress(DoesNotTraceError, UnfitError):
                measuring = _Measuring(call)
                break
        if measuring is None:
            out.without["all"] = "no small shape was found at which it traces"
            return out
        for dtype in dtypes:
            try:
                measuring.measure(dtype, out, hardly)
            except Exception as error:  # what has no kernel in a dtype, or no rule in balls, is said
                out.without[dtype] = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
    return out


class _Measuring:
    """An op at one shape, with its programs in floats and in exact arithmetic."""

    def __init__(self, call: Call) -> None:
        self.call = call
        programs = traced(call.op, call.statics, call.shapes, call.kinds)
        self.exact = {part: p for part, p in programs.all().items() if part in PARTS}
        self.outputs = programs.outputs
        self.run = jax.jit(self._run)
        self.moved = jax.jit(jax.vmap(self._run, in_axes=(0, 0, 0)))
        bounds = {float(x) for p in self.exact.values() for x in literals(p) if 1e-3 < abs(x) < 1e3}
        bounds |= {*call.parameters, 0.0, 1.0}
        self.numbers = sorted(bounds, key=lambda x: (abs(x), x))[:NEAR]
        self.seed = zlib.crc32(call.op.name.encode())

    def _run(self, arrays: list[Any], tangents: list[Any], seeds: list[Any]) -> dict[str, list[Any]]:
        """Return the outputs of each part in floats."""
        rules, params = self.call.op.rules(self.call.statics), list(self.call.parameters)
        outputs = {"forward": rules.forward(arrays, params)}
        if rules.jvp is not None:
            outputs["jvp"] = rules.jvp(arrays, tangents, params)
        outputs["vjp"] = rules.vjp(arrays, seeds, params)
        return {part: [y for y in ys if y is not None] for part, ys in outputs.items()}

    def measure(self, dtype: str, out: Conformity, hardly: bool) -> None:
        """Add to `out` the largest deviation at `POINTS` ordinary points in a dtype, and at hard points if `hardly`.

        Raises UnfitError where no ordinary point has a known exact value.
        """
        rng = np.random.default_rng(self.seed)
        start: Point | None = None
        count = 0
        for point in itertools.islice(ordinary(self.call, rng, DTYPES[dtype]), 20):
            by_part = self._at(point, dtype, rng)
            if by_part is None:
                continue
            for part, (ulps, conditioned, _) in by_part.items():
                parts = out.parts.setdefault(dtype, {})
                worst_so_far = parts.get(part)
                if worst_so_far is None or not ulps <= worst_so_far.ulps:
                    parts[part] = Measured(ulps, conditioned)
            start, count = start or point, count + 1
            if count == POINTS:
                break
        if start is None:
            raise UnfitError("no ordinary point was found at which the exact value is known")
        if not hardly or isinstance(self.call.op, Composed):  # the hard points of a composed op are those of its parts
            return
        for point in hard(self.call, start, rng, DTYPES[dtype], self.numbers):
            by_part = self._at(point, dtype, rng)
            if by_part is None:
                continue
            not_finite = [part for part, (ulps, _, _) in by_part.items() if not np.isfinite(ulps)]
            nan = [part for part, (_, _, nan) in by_part.items() if nan]
            finite_errors = [(u, c) for u, c, _ in by_part.values() if np.isfinite(u)]
            # The worst error is that which conditioning explains least.
            worst = max(finite_errors, default=(0.0, 0.0), key=lambda uc: uc[0] / (1 + uc[1]))
            out.hard.setdefault(dtype, []).append(Hard(point.what, not_finite, nan, *worst, point.stated))
        if dtype != "float64":
            out.hard.setdefault(dtype, []).extend(self._searched(start, dtype))

    def _at(self, point: Point, dtype: str, rng: Any) -> dict[str, tuple[float, float, bool]] | None:
        """Return, by part, the worst error in units, what moving the arguments does in units, and whether an entry is
        NaN.

        Return None where the exact value is not known, or is no number. The arguments are moved `MOVED` times, by up to
        half a unit of the dtype, or of float32 for a wider dtype.
        """
        kind = DTYPES[dtype]
        tangents, seeds = self._directions(kind, rng)
        exact = self._exactly(point, tangents, seeds)
        if exact is None:
            return None
        computed = self._computed(point, tangents, seeds, kind)
        eps = max(float(jnp.finfo(kind).eps), float(jnp.finfo(jnp.float32).eps))

        def moved_copies(x: Any) -> Any:
            copies = np.broadcast_to(x, (MOVED, *x.shape))
            return copies * (1 + eps / 2 * rng.uniform(-1, 1, size=copies.shape)) if x.dtype.kind == "f" else copies

        moved_results = self.moved(
            *[[jnp.asarray(moved_copies(x)) for x in xs] for xs in (point.arrays, tangents, seeds)]
        )
        return {
            part: (
                max(
                    (max_ulp_error(a, b, kind) for a, b in zip(computed[part], wanted, strict=True) if _is_floating(a)),
                    default=0.0,
                ),
                max(
                    (
                        max_ulp_error(a, np.broadcast_to(b, a.shape), kind, eps)
                        for a, b in zip(moved_results[part], wanted, strict=True)
                        if _is_floating(a)
                    ),
                    default=0.0,
                ),
                any(_nan(a, b, kind) for a, b in zip(computed[part], wanted, strict=True) if _is_floating(a)),
            )
            for part, wanted in exact.items()
        }

    def _searched(self, start: Point, dtype: str) -> list[Hard]:
        """Return the points at which a part is NaN in this dtype, while in float64 it has a number within the dtype's
        range.
        """
        rng = np.random.default_rng(self.seed + 1)
        kind = DTYPES[dtype]
        largest = float(jnp.finfo(kind).max)
        parts_by_point: dict[tuple[str, bool], set[str]] = {}
        for point in itertools.chain(scattered(self.call, start, rng, kind), ends(self.call, start, rng, kind)):
            directions = self._directions(kind, rng)
            nan_outputs = {
                p: xs for p, xs in self._computed(point, *directions, kind).items() if any(map(_any_nan, xs))
            }
            if not nan_outputs:
                continue
            # NaN is a fault of the dtype only where float64 has a number that the dtype can hold.
            in_float64 = self._computed(point, *directions, jnp.float64)
            for part, xs in nan_outputs.items():
                if any(
                    bool((np.isnan(np.asarray(x, np.float64)) & (np.abs(np.asarray(y)) < largest)).any())
                    for x, y in zip(xs, in_float64[part], strict=True)
                ):
                    parts_by_point.setdefault((point.what, point.stated), set()).add(part)
        return [
            Hard(what, [p for p in PARTS if p in parts], [p for p in PARTS if p in parts], 0.0, 0.0, stated)
            for (what, stated), parts in parts_by_point.items()
        ]

    def _directions(self, kind: Any, rng: Any) -> tuple[list[Any], list[Any]]:
        """Return tangents and seeds, numbers of the dtype in float64."""

        def drawn(shapes: Sequence[tuple[int, ...]]) -> list[Any]:
            return [np.asarray(jnp.asarray(rng.normal(size=shape), kind), np.float64) for shape in shapes]

        return drawn([self.call.shapes[k] for k in self.call.moving]), drawn(self.outputs)

    def _computed(self, point: Point, tangents: list[Any], seeds: list[Any], kind: Any) -> dict[str, list[Any]]:
        """Return the outputs of each part, computed in a dtype."""
        narrow = [jnp.asarray(x, kind) if x.dtype.kind == "f" else jnp.asarray(x) for x in point.arrays]
        return self.run(narrow, [jnp.asarray(x, kind) for x in tangents], [jnp.asarray(x, kind) for x in seeds])

    def _exactly(self, point: Point, tangents: list[Any], seeds: list[Any]) -> dict[str, list[Any]] | None:
        """Return the exact outputs of each part, as floats; None where balls do not enclose them well enough."""
        args = [exactly(x) if x.dtype.kind == "f" else x for x in point.arrays]
        params = [exactly(x) for x in self.call.parameters]
        further = {"forward": [], "jvp": [exactly(x) for x in tangents], "vjp": [exactly(x) for x in seeds]}
        out: dict[str, list[Any]] = {}
        for part, program in self.exact.items():
            try:
                values = evaluate(program, [*args, *further[part], *params], precision=BITS).values
            except BallError:
                return None
            out[part] = [_floats(x) for x in values]
            if any(np.isnan(x).any() for x in out[part] if x.dtype.kind == "f"):
                return None
        return out


def _nan(found: Any, wanted: Any, dtype: Any) -> bool:
    """Return whether an entry is NaN where the exact value is a number of the dtype."""
    return bool((np.isnan(np.asarray(found, np.float64)) & (np.abs(wanted) < float(jnp.finfo(dtype).max))).any())


def _any_nan(x: Any) -> bool:
    return _is_floating(x) and bool(np.isnan(np.asarray(x, np.float64)).any())


def _is_floating(x: Any) -> bool:
    return bool(jnp.issubdtype(x.dtype, jnp.floating))


def _floats(x: Any) -> Any:
    """Return exact scalars as floats, in float64; NaN where they are not known, or not well enough."""
    if x.dtype != object:
        return x
    return np.vectorize(_float, otypes=[float])(x) if x.size else np.zeros(x.shape)


def _float(value: Any) -> float:
    """Return an exact scalar as a float; NaN for one that is unknown, or known to fewer than 60 bits."""
    if isinstance(value, float):
        return np.nan if np.isnan(value) else value
    if value is s.UNKNOWN:
        return np.nan
    if isinstance(value, s.fmpq):
        return _ratio(int(value.p), int(value.q))
    if not value.is_finite() or (value.rad() > 0 and value.rel_accuracy_bits() < 60 and value.mid() != 0):
        return np.nan
    if value.mid() == 0 and value.rad() > NOTHING:
        return np.nan
    return float(value.mid())


def _ratio(p: int, q: int) -> float:
    try:
        return p / q
    except OverflowError:
        return np.inf if p > 0 else -np.inf


def max_ulp_error(found: Any, wanted: Any, dtype: Any, eps: float | None = None) -> float:
    """Return the worst entry of the difference, in units in the last place of the dtype (or of `eps`).

    The unit is that of the exact entry, or of the largest one divided by 8 where that is larger. A value that
    the dtype cannot hold is no error: an infinity or NaN where the exact value is too large, 0 where it is too small.
    """
    info: Any = jnp.finfo(dtype)
    eps = float(info.eps) if eps is None else eps
    numbers, exact = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    if not numbers.size:
        return 0.0
    largest = float(info.max)
    # Beyond the dtype, an infinity of the right sign, the largest number and NaN are all right.
    beyond = np.abs(exact) >= largest * (1 - eps)
    kept = ~(
        beyond
        & (((np.abs(numbers) >= largest * (1 - 4 * eps)) & (np.sign(numbers) == np.sign(exact))) | np.isnan(numbers))
    )
    if not kept.any():
        return 0.0
    finite = np.where(np.isfinite(exact), np.abs(exact), 0)
    scale = np.maximum(finite, np.minimum(finite.max(), largest) / CANCELLED)
    unit = eps * 2.0 ** np.floor(np.log2(np.maximum(scale, float(info.tiny) / eps)))
    with np.errstate(all="ignore"):
        difference = np.where(kept, np.abs(numbers - exact) / unit, 0)
    return float("inf") if not np.isfinite(difference).all() else float(difference.max())
