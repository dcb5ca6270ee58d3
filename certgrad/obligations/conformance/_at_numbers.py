"""Traces of a rule at numbers, compared with the program that was proved.

Programs with equal texts are equal. Programs with different texts are evaluated at points: JAX itself writes some
operations otherwise where a size is a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from certgrad.errors import CertgradError
from certgrad.signatures.sizes import integer_size

from ..floats import Noise, Setting, run
from ..generality.decisions import Fixed, rendering
from ..tracing.jax_internals import Program, equations_of, kind_of, serialised_all
from ._compared import Compared, Programs, Sizes, sized

POINTS = 2
"""Points at which programs at numbers are evaluated."""
ROUNDING = {"float64": 256, "float32": 64}
FEW = 8
"""By how many units of rounding of the largest entry two orders of the same operations may differ: by `ROUNDING` in
wide types, where long programs gather them, by `FEW` in half precision, where each unit counts."""
NOISE = {"float64": 32, "float32": 32}
FEW_TIMES = 4
"""By how many times the program's own rounding a result may differ: `NOISE` in wide types, `FEW_TIMES` in others."""
LARGEST = 2_000_000
"""Programs are not evaluated at sizes at which an array has more entries."""
ORDINARY = ((2, 3, 4, 1), (3, 1, 2, 4))
"""Sizes of the dimensions by default. They are small, as the last look evaluates the programs that are traced there."""
LEAST = 4
"""Smaller numbers in the code are not used as sizes: they rarely are sizes, and small sizes are tried anyway."""
LARGE = 512
"""At most one dimension gets a size above this."""


@dataclass(frozen=True)
class Difference:
    """A difference between what runs and what was proved: in which programs, at which sizes, and how."""

    programs: tuple[str, ...]
    """The names of the programs; empty where all are meant."""
    reason: str
    sizes: Sizes
    wide: bool = True
    traced: bool = False
    """Whether a trace at these sizes shows it."""
    anywhere: bool = False
    """Whether it is there at any sizes, as with Python's numbers, or a state that calls change."""


def chosen(names: Sequence[str], questioned: Sequence[Fixed], numbers: Sequence[int]) -> list[dict[str, int]]:
    """Return two assignments of numbers to sizes; one if the code compares no size and has no number that may be one.

    A question of the code about sizes is in `questioned`, as the sizes at which its answer is another, such as `128*n`
    for n. Each assignment takes the sizes of one of these questions, if one is left. The other dimensions get `numbers`
    that are written in the code, as far as there are any, in another order the second time.
    """
    numbers = [n for n in numbers if n >= LEAST]
    assignments: list[dict[str, int]] = []
    for k, row in enumerate(ORDINARY):
        sizes = {name: row[j % len(row)] for j, name in enumerate(names)}
        questioned_sizes: Fixed = questioned[k] if k < len(questioned) else {}
        sizes |= {name: max(1, size.evaluate(dict(sizes))) for name, size in questioned_sizes.items()}
        # Dimensions that no question is about get the numbers of the code: the next ones the second time, if there are
        # enough, and always at other dimensions. At most one size is large, as arrays of two would be huge.
        free = [name for name in names if name not in questioned_sizes]
        to_assign = numbers[k * len(free) :] or (numbers if len(free) > 1 else [])
        large = any(n > LARGE for n in sizes.values())
        for j, number in enumerate(to_assign[: len(free)]):
            if number <= LARGE or not large:
                sizes[free[(j + k) % len(free)]] = number
                large = large or number > LARGE
        assignments.append(sizes)
    return assignments if questioned or numbers else assignments[:1]


def at_numbers(subject: Compared, sizes: Sizes, dtype: str, known: Programs | None = None) -> Difference | None:
    """Return how the trace at these sizes differs from the programs that were proved, or None if it does not.

    `known` is that trace if it was made before. Programs are compared by their texts, with these sizes put into those
    that were proved; those whose texts differ are compared by their values.
    """
    where = f"at {sized(subject.names, sizes)}"
    wide = dtype == "float64"
    try:
        programs = known or subject.at(sizes, dtype)
    except CertgradError as error:
        return Difference((), f"{where} it does not trace: {error}", sizes, wide)
    except MemoryError:
        return Difference((), f"{where} there is not enough memory to trace it", sizes, wide)
    general = subject.programs(dtype)
    fixed = {n: integer_size(v) for n, v in sizes.items()}
    expected = serialised_all(general, rendering(fixed), fold_sizes=True)
    texts = serialised_all(programs, rendering({}), fold_sizes=True)
    names_with_other_text = [name for name in general if expected[name] != texts.get(name)]
    if not names_with_other_text:
        return None
    differences = values_apart(subject, {n: general[n] for n in names_with_other_text}, programs, sizes, dtype)
    if not differences:
        return None
    return Difference(
        tuple(differences),
        f"{where} it is another program than for sizes left open: {in_words(differences)}",
        sizes,
        wide,
        traced=True,
    )


def values_apart(
    subject: Compared,
    general: Programs,
    found: Programs,
    sizes: Sizes,
    dtype: str,
    everywhere: bool = False,
) -> dict[str, str]:
    """Return, for each program whose results differ from those of the proved one, how they differ.

    `general` holds the proved programs, `found` the others. Results must differ at one drawn point, or at all of them
    with `everywhere`. A program that cannot be evaluated at a point is left out there, and noted in `subject.unseen`.
    """
    by_program: dict[str, list[str]] = {name: [] for name in general}
    if (entries := max(map(most_entries, found.values()), default=0)) > LARGEST:
        subject.unseen[f"values at sizes where an array has {entries:,} entries"] = None
        return {}
    points = [p for k in range(POINTS) if (p := subject.point(sizes, k)) is not None]
    for point in points:
        rounded_point = point.rounded(dtype)
        for name, program in general.items():
            if name not in found:
                by_program[name].append("it is missing")
                continue
            try:
                results = run(found[name], _as_taken(found[name], rounded_point.of(name)), Setting())
                deviation = unlike(results, program, rounded_point.of(name), sizes, dtype)
            except Exception as error:  # an operation may refuse a value in its own way
                subject.unseen[f"the {name} at numbers ({type(error).__name__})"] = None
                continue
            by_program[name].append(deviation)
    if not points:
        return dict.fromkeys(general, "no point of the domain was found to compare it at")
    reduce = all if everywhere else any
    return {
        name: next(filter(None, deviations))
        for name, deviations in by_program.items()
        if deviations and reduce(deviations)
    }


def _as_taken(program: Program, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the operands with each float array in the dtype of the program's argument: these may be several."""
    taken = zip(operands, program.jaxpr.invars, strict=True)
    return [x.astype(v.aval.dtype) if kind_of(x.dtype) == "f" and _is_float(v) else x for x, v in taken]


def most_entries(program: Program) -> int:
    """Return the number of entries of a program's largest array."""
    shapes = (v.aval.shape for eqn in program.jaxpr.eqns for v in eqn.outvars if hasattr(v.aval, "shape"))
    return max((prod(int(n) for n in shape) for shape in shapes), default=0)


def unlike(found: Sequence[np.ndarray], program: Program, operands: list[np.ndarray], sizes: Sizes, dtype: str) -> str:
    """Return how results differ from the program's at these operands by more than rounding; "" if they do not.

    Rounding is estimated in two ways, of which one must explain a difference: by the program's value in 64 bits, and by
    running the program with each operation off by a unit of rounding.
    """
    proved_results = run(program, operands, Setting(sizes, np.dtype(dtype)))
    if len(found) == len(proved_results) and all(map(_identical, found, proved_results)):
        return ""
    coarsest = _coarsest(program, dtype)
    if coarsest != "float64" and not differs(found, proved_results, _in_64_bits(program, operands, sizes), coarsest):
        return ""
    return differs(
        found, proved_results, _rounded_otherwise(program, operands, proved_results, sizes, coarsest), coarsest
    )


def _rounded_otherwise(
    program: Program, operands: list[np.ndarray], own: Sequence[np.ndarray], sizes: Sizes, coarsest: str
) -> list[np.ndarray]:
    """Return the program's results with each operand and operation off by a unit of rounding, up or down.

    Results that differ by as much may be equal: where products cancel, the remainder is as large as their rounding. A
    change is cut to √ε·max(1, |result|), so that a jump does not count as rounding. `own` are the program's results.
    """
    eps = float(ml_dtypes.finfo(coarsest).eps)
    real = next((x.dtype for x in operands if x.dtype.kind == "f"), np.dtype(np.float64))
    noise = Noise(eps)
    noisy = run(program, [noise.perturbed(x) for x in operands], Setting(sizes, real, noise=noise))
    out = []
    for a, b in zip(noisy, own, strict=True):
        if b.dtype.kind != "f":
            out.append(b)
            continue
        most = np.sqrt(eps) * np.maximum(1, np.abs(np.where(np.isfinite(b), b, 0)))
        with np.errstate(all="ignore"):
            change = np.where(np.isfinite(a - b), np.clip(a - b, -most, most), 0)
        out.append((b + change).astype(b.dtype))
    return out


def _identical(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def _in_64_bits(program: Program, operands: list[np.ndarray], sizes: Sizes) -> list[np.ndarray]:
    wide = [x.astype(np.float64) if kind_of(x.dtype) == "f" else x for x in operands]
    return run(program, wide, Setting(sizes, exact=True))


def _coarsest(program: Program, dtype: str) -> str:
    """Return the float dtype with the largest unit of rounding, of the given one and those in the program."""
    named = {str(v.aval.dtype) for eqn in equations_of(program.jaxpr) for v in eqn.outvars if _is_float(v)}
    return max({dtype, *named - {"float64"}}, key=lambda d: float(ml_dtypes.finfo(d).eps))


def _is_float(v: Any) -> bool:
    return hasattr(v.aval, "dtype") and kind_of(v.aval.dtype) == "f"


def in_words(how: Mapping[str, str]) -> str:
    """Return how programs differ, each by its name, as text."""
    return "; ".join(f"the {name}: {text}" for name, text in how.items())


def differs(found: Sequence[np.ndarray], program: Sequence[np.ndarray], exact: Sequence[np.ndarray], dtype: str) -> str:
    """Return how the results `found` differ from the program's in a dtype; "" if they do not.

    `exact` are the program's results in 64 bits. Where the program's results are far from these, rounding is large, and
    a difference as large says nothing. This can take a proof away and never gives one.
    """
    if len(found) != len(program):
        return f"{len(found)} arrays in place of {len(program)}"
    for k, (a, b, c) in enumerate(zip(found, program, exact, strict=True)):
        if a.shape != b.shape:
            return f"output {k} has shape {a.shape} in place of {b.shape}"
        if not a.size:
            continue
        first, second, third = (np.asarray(x, np.float64).ravel() for x in (a, b, c))
        if (where := _first_differing_entry(first, second, third, dtype)) is not None:
            return f"output {k} is {_entry_text(a, where)} in place of {_entry_text(b, where)}"
    return ""


def _first_differing_entry(a: np.ndarray, b: np.ndarray, c: np.ndarray, dtype: str) -> int | None:
    """Return the first entry of a that differs from b by more than rounding, or None; c are the values of b in 64 bits.

    Where b and c are finite, so must a be, and may differ from b by units of rounding of the largest value and by a
    multiple of the largest difference of b and c. In wide types, a must also be the infinity or NaN that b and c are.
    """
    eps = float(ml_dtypes.finfo(dtype).eps)
    with np.errstate(all="ignore"):
        finite = np.isfinite(b) & np.isfinite(c)
        same_kind = np.isfinite(a) | (~finite)
        if dtype in ("float64", "float32"):
            same_kind &= ~(np.isnan(b) & np.isnan(c) & ~np.isnan(a)) & ~((b == c) & np.isinf(b) & (a != b))
        if not same_kind.all():
            return int(np.argmin(same_kind))
        if not finite.any():
            return None
        scale, noise = float(np.max(np.abs(c[finite]))), float(np.max(np.abs(b[finite] - c[finite])))
        smallest = float(ml_dtypes.finfo(dtype).smallest_normal)
        near = (
            np.abs(np.where(finite, a - b, 0))
            <= ROUNDING.get(dtype, FEW) * eps * scale + NOISE.get(dtype, FEW_TIMES) * noise + smallest
        )
    return None if near.all() else int(np.argmin(near))


def _entry_text(values: np.ndarray, at: int) -> str:
    return f"{float(np.asarray(values, np.float64).ravel()[at]):.6g}"
