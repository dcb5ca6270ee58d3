"""Programs as canonical texts: two programs are the same if their texts are."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from jax.extend import core as jex

from certgrad.errors import TraceError
from certgrad.jaxpr.kinds import KEEPS_CONSTANTS
from certgrad.jaxpr.lowerings import identifying_params
from certgrad.jaxpr.programs import equations_of, is_literal
from certgrad.obligations.terms.session import Memo

from ..jax_dimensions import number_of
from ._functions import as_made
from ._primitives import genuine
from ._programs import Program, program_of
from ._values import DimExpr, data_of, kind_of


def serialised(
    program: Program, dims: Callable[[Any], str] = str, erase_dtypes: bool = False, fold_sizes: bool = False
) -> str:
    """Return a canonical text of a program, nested programs and constants included; variables are numbered in order.

    `dims` writes a dimension. With `erase_dtypes`, dtypes are left out and float literals are rounded to float32. With
    `fold_sizes`, equations that only make a number of a dimension are written as that number, so that a program at
    symbolic sizes can be compared with one at numbers.
    """
    return Serialiser(dims, erase_dtypes, fold_sizes).program(program)


def serialised_all(
    programs: Mapping[str, Program],
    dims: Callable[[Any], str] = str,
    erase_dtypes: bool = False,
    fold_sizes: bool = False,
) -> dict[str, str]:
    """Return the texts of several programs, each as `serialised` writes it, by name."""
    serialiser = Serialiser(dims, erase_dtypes, fold_sizes)
    return {name: serialiser.program(p) for name, p in programs.items()}


_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")


class Serialiser:
    """Writes programs as text; subclasses choose how dimensions and parameters are written.

    `dims` writes a dimension; `erase` and `fold` are `erase_dtypes` and `fold_sizes` of `serialised`. The texts of
    dimensions, types and parameters are kept by the id of the object, which is kept alive with its text.
    """

    IGNORED = frozenset(
        "name sharding out_sharding weak_type inline keep_unused donated_invars ctx_mesh jvp_jaxpr_fun fwd bwd".split()
    )

    def __init__(self, dims: Callable[[Any], str], erase: bool, fold: bool = False) -> None:
        self.render, self.erase, self.fold = dims, erase, fold
        self.rendered: dict[int, tuple[Any, str]] = {}
        self.types: dict[int, tuple[Any, str]] = {}
        self.others: dict[int, tuple[Any, str]] = {}

    def dims(self, dim: Any) -> str:
        """Return one dimension as text."""
        return remembered(self.rendered, dim, self.render)

    def program(self, program: Program) -> str:
        """Return a program as text, the same for equal programs.

        With `fold`, an equation whose value is known while tracing is left out, and its variable is written as a
        literal or as its operand. So the program at symbolic sizes, with these set, and the one at numbers, where such
        equations are missing, have the same text.
        """
        names: dict[Any, str] = {}
        numbers: dict[Any, float] = {}
        count = itertools.count()
        aval = self.aval

        def name(v: Any) -> str:
            if isinstance(v, _LITERAL):
                return self.literal(v)
            variable = names.get(v)
            if variable is None:
                variable = names[v] = f"v{next(count)}"
            return variable

        def folded(eqn: Any) -> str | None:
            """Return the literal for a scalar that is a size, or computed from sizes; None for other equations.

            A symbolic size is an equation of the program, where a concrete size is a literal.
            """
            if eqn.primitive.name == "dim_as_value":
                return f"lit({self.dims(eqn.params['dim'])})"
            if (
                eqn.primitive.name == "convert_element_type"
                and genuine(eqn.primitive)
                and not eqn.outvars[0].aval.shape
            ):
                source = name(eqn.invars[0])
                if source.startswith("lit(") and (
                    kind_of(eqn.params["new_dtype"]) == "f" or _between_wide_integers(eqn)
                ):
                    if not is_literal(eqn.invars[0]) and eqn.invars[0] in numbers:
                        numbers[eqn.outvars[0]] = numbers[eqn.invars[0]]
                    return f"lit({source[4:-1].removesuffix('.0')})"
            if len(eqn.outvars) == 1 and not eqn.outvars[0].aval.shape and kind_of(eqn.outvars[0].aval.dtype) == "f":
                operands = [number(v) for v in eqn.invars]
                if all(x is not None for x in operands):
                    value = number_of(eqn.primitive.name, operands, eqn.params)  # type: ignore[arg-type]
                    if value is not None:
                        numbers[eqn.outvars[0]] = value
                        shown = str(np.float32(value)) if self.erase else repr(value)
                        return f"lit({shown.removesuffix('.0')})"
            return None

        def number(v: Any) -> float | None:
            """Return the number that a scalar stands for, as it was computed or is written; None if it is not known."""
            if is_literal(v):
                return float(np.asarray(v.val)) if not v.aval.shape and np.asarray(v.val).dtype.kind in "fiu" else None
            if v in numbers:
                return numbers[v]
            text = names.get(v, "")
            return float(text[4:-1]) if text.startswith("lit(") and _NUMBER.fullmatch(text[4:-1]) else None

        def vector(eqn: Any) -> list[int] | None:
            """Return the entries of an array of integers, made of known numbers one by one; None if it is not such."""
            if eqn.primitive.name in KEEPS_CONSTANTS and kind_of(eqn.outvars[0].aval.dtype) == "i":
                entry, shape = number(eqn.invars[0]), eqn.outvars[0].aval.shape
                return None if entry is None or eqn.invars[0].aval.shape or shape != (1,) else [int(entry)]
            if eqn.primitive.name == "concatenate" and all(not is_literal(v) and v in vectors for v in eqn.invars):
                return [k for v in eqn.invars for k in vectors[v]]
            return None

        def unchanged(eqn: Any) -> Any:
            """Return the integer operand that an equation leaves unchanged, by adding 0 or multiplying by 1; else None.

            JAX computes indices by such equations where a size is symbolic.
            """
            neutral = {"add": 0, "mul": 1}.get(eqn.primitive.name)
            if neutral is None or kind_of(eqn.outvars[0].aval.dtype) != "i":
                return None
            typed = [x for x in eqn.invars if not is_literal(x) and aval(x.aval) == aval(eqn.outvars[0].aval)]
            other_numbers = [number(y) for x in typed for y in eqn.invars if y is not x]
            return typed[0] if len(typed) == 1 and other_numbers == [neutral] else None

        def sliced(eqn: Any) -> list[str] | None:
            """Return the lines of a slice in the place of a gather at a known index; None for other equations.

            At numeric sizes JAX makes a slice, and a squeeze of dropped axes, where it makes a gather at symbolic ones.
            """
            bounds = _one_slice(eqn, vectors, self.dims) if eqn.primitive.name == "gather" else None
            if bounds is None or not genuine(eqn.primitive):
                return None
            start, ends, dropped = bounds
            (x, _), (out,) = eqn.invars, eqn.outvars
            lines, part = [], name(x)
            if any(a != "0" for a in start) or ends != [*map(self.dims, x.aval.shape)]:
                part = f"v{next(count)}" if dropped else name(out)
                size = ",".join(map(self.dims, eqn.params["slice_sizes"]))
                params = f"limit_indices=({','.join(ends)}),start_indices=({','.join(start)}),strides=None"
                lines = [f"{part}:{aval(x.aval).partition('[')[0]}[{size}] = slice[{params}] {name(x)}"]
            if dropped:
                lines += [f"{name(out)}:{aval(out.aval)} = squeeze[dimensions=({','.join(map(str, dropped))})] {part}"]
            elif not lines:
                names[out] = part
            return lines

        vectors: dict[Any, list[int]] = {}
        jaxpr = program.jaxpr
        lines = ["in " + " ".join([f"{name(v)}:{aval(v.aval)}" for v in jaxpr.invars])]
        for v, c in zip(jaxpr.constvars, program.consts, strict=False):
            lines.append(f"const {name(v)}={self.value(c)}")
        for eqn in jaxpr.eqns:
            # Equations that are missing at numbers, or in other dtypes, only give their outputs a name.
            if self.erase and _between_wide_integers(eqn):
                names[eqn.outvars[0]] = name(eqn.invars[0])
                continue
            literal = folded(eqn) if self.fold else None
            if literal is not None:
                names[eqn.outvars[0]] = literal
                continue
            if self.fold and genuine(eqn.primitive) and (entries := vector(eqn)) is not None:
                vectors[eqn.outvars[0]], names[eqn.outvars[0]] = entries, f"lit({entries})"
                continue
            if self.fold and genuine(eqn.primitive) and _is_whole(eqn, self.dims):
                names[eqn.outvars[0]] = name(eqn.invars[0])
                continue
            if self.fold and genuine(eqn.primitive) and (same := unchanged(eqn)) is not None:
                names[eqn.outvars[0]] = name(same)
                continue
            if self.fold and (slice_of := sliced(eqn)) is not None:
                lines += slice_of
                continue
            if self.unused(eqn):
                continue
            params = self.params(eqn) if eqn.params else ""
            out = " ".join([f"{name(v)}:{aval(v.aval)}" for v in eqn.outvars])
            lines.append(f"{out} = {eqn.primitive.name}[{params}] {' '.join([name(v) for v in self.operands(eqn)])}")
        lines.append("out " + " ".join(map(name, jaxpr.outvars)))
        return "\n".join(lines)

    def unused(self, eqn: Any) -> bool:
        """Return whether an equation is left out of the text: none, but in subclasses."""
        return False

    def operands(self, eqn: Any) -> Sequence[Any]:
        """Return the operands of an equation that are written: all, but in subclasses."""
        return eqn.invars

    def literal(self, v: Any) -> str:
        """Return a literal operand as text; with `fold`, a scalar without its type, as sizes are written."""
        if self.fold and not v.aval.shape:
            value = np.asarray(v.val)
            if self.erase and kind_of(value.dtype) == "f":
                return f"lit({str(_as_float32(value)).removesuffix('.0')})"
            return f"lit({self.value(v.val).removesuffix('.0')})"
        return f"lit({self.value(v.val)}:{self.aval(v.aval)})"

    def params(self, eqn: Any) -> str:
        """Return the parameters of an equation as text, sorted, without those that do not matter (`IGNORED`)."""
        ignored, param = self.IGNORED, self.param
        return ",".join([f"{k}={param(v)}" for k, v in sorted(identifying_params(eqn).items()) if k not in ignored])

    def aval(self, aval: Any) -> str:
        """Return the type of an array as text, kept for the next time."""
        entry = self.types.get(id(aval))
        if entry is None:
            entry = self.types[id(aval)] = aval, self.type(aval)
        return entry[1]

    def type(self, aval: Any) -> str:
        """Return the type of an array as text: `float64[n,3]`."""
        shape = ",".join(self.dims(d) for d in getattr(aval, "shape", ()))
        dtype = getattr(aval, "dtype", None)
        return f"{'?' if dtype is None else kind_of(dtype) if self.erase else _dtype_text(dtype)}[{shape}]"

    def value(self, value: Any) -> str:
        """Return a constant as text. Raises TraceError for a traced value, which a rule has closed over."""
        if isinstance(value, jax.core.Tracer):
            raise TraceError(
                "A custom rule closes over a traced value: its gradient there would silently be 0. "
                "Pass it as an argument."
            )
        array = data_of(value) if not isinstance(value, np.ndarray) else value
        if self.erase and kind_of(array.dtype) == "f":
            array = _as_float32(array)
            return f"float{array.shape}{array.tobytes().hex()}"
        if array.ndim == 0:
            return repr(array[()].item()) if array.dtype.kind in "biuf" else repr(value)
        return f"{array.dtype}{array.shape}{array.tobytes().hex()}"

    def param(self, value: Any) -> str:
        """Return the value of a parameter as text."""
        kind = type(value)
        if kind in _PLAIN:
            return str(value)
        if kind is tuple:
            return "(" + ",".join(map(self.param, value)) + ")"
        if kind is DimExpr:
            return self.dims(value)
        return remembered(self.others, value, self._param)

    def _param(self, value: Any) -> str:
        """Return a parameter's value as text: a size, a program, a tuple, a dtype, a function or something else."""
        if isinstance(value, np.generic):  # a number, never the name of its dtype
            value = value.item()
        if isinstance(value, DimExpr) or (isinstance(value, int) and not isinstance(value, bool)):
            return self.dims(value)
        if hasattr(value, "eqns") or hasattr(value, "jaxpr"):
            return f"{{{self.program(program_of(value))}}}"
        if isinstance(value, (tuple, list)):
            return "(" + ",".join(map(self.param, value)) + ")"
        if isinstance(value, (np.dtype, type)) or hasattr(value, "itemsize"):
            try:
                return kind_of(np.dtype(value)) if self.erase else str(np.dtype(value))
            except TypeError:
                return str(value)
        if callable(value):
            return "callable"
        return str(value)


_identities: Memo[Any, tuple[Any, int]] = Memo()


class _Identity(Serialiser):
    """Writes programs with a number for each function that they call back, so that two functions are told apart."""

    IGNORED = Serialiser.IGNORED | {"fwd_jaxpr_thunk", "out_trees"}

    def _param(self, value: Any) -> str:
        if callable(value) and not hasattr(value, "eqns") and not hasattr(value, "jaxpr"):
            return f"callable{_identity_number(value)}"
        return super()._param(value)


def identity(program: Program) -> str:
    """Return a text that is equal for two programs of one proof only if they compute the same function.

    Primitives that are not JAX's are numbered, as two of them may have one name.
    """
    foreign = [str(_identity_number(e.primitive)) for e in equations_of(program.jaxpr) if not genuine(e.primitive)]
    return " ".join([_Identity(str, False).program(program), *foreign])


def _identity_number(value: Any) -> int:
    """Return the number of an object in this proof, the same for functions made anew with equal parts (`as_made`)."""
    key = as_made(value)
    try:
        return _identities.table.setdefault(key, (value, len(_identities.table)))[1]
    except TypeError:  # it has no hash
        return _identities.table.setdefault(id(value), (value, len(_identities.table)))[1]


_LITERAL: Any = jex.Literal


_PLAIN = frozenset({int, bool, str, type(None)})
"""Types of parameters that are written as they are."""


def remembered(table: dict[int, tuple[Any, str]], key: Any, write: Callable[[Any], str]) -> str:
    """Return `write(key)`, computed once for each object; the table keeps it alive, so that its id stays its own."""
    entry = table.get(id(key))
    if entry is None:
        entry = table[id(key)] = key, write(key)
    return entry[1]


def _as_float32(array: np.ndarray) -> np.ndarray:
    """Return an array in float32; a number that is too large becomes infinite, as in a run."""
    with np.errstate(over="ignore"):
        return array.astype(np.float32)


@lru_cache(maxsize=64)
def _dtype_text(dtype: Any) -> str:
    return str(dtype)


def _one_slice(
    eqn: Any, vectors: Mapping[Any, Sequence[int]], dims: Callable[[Any], str]
) -> tuple[list[str], list[str], Sequence[int]] | None:
    """Return the bounds of the slice that a gather takes, and the axes that it drops.

    Return None unless it is one slice at a known index (in `vectors`) that is in bounds.
    """
    x, index = eqn.invars
    numbers, sizes = eqn.params["dimension_numbers"], [dims(n) for n in eqn.params["slice_sizes"]]
    dropped, places = numbers.collapsed_slice_dims, None if is_literal(index) else vectors.get(index)
    if places is None or numbers.operand_batching_dims or numbers.start_indices_batching_dims:
        return None
    if numbers.offset_dims != tuple(range(len(eqn.outvars[0].aval.shape))):
        return None
    start, ends = ["0"] * len(sizes), [dims(n) for n in x.aval.shape]
    for k, (size, end) in enumerate(zip(sizes, ends, strict=True)):
        place = dict(zip(numbers.start_index_map, places, strict=True)).get(k, 0)
        if size == end and place == 0:
            continue
        if not (size.isdigit() and end.isdigit() and 0 <= place <= int(end) - int(size)):
            return None
        start[k], ends[k] = str(place), str(place + int(size))
    return start, ends, dropped


def _is_whole(eqn: Any, dims: Callable[[Any], str]) -> bool:
    """Return whether an equation is a slice of all entries, which JAX makes where a size is symbolic."""
    if eqn.primitive.name != "slice" or any(k != 1 for k in eqn.params["strides"] or ()):
        return False
    sizes, ends = ([*map(dims, n)] for n in (eqn.invars[0].aval.shape, eqn.params["limit_indices"]))
    return sizes == ends and all(dims(n) == "0" for n in eqn.params["start_indices"])


def _between_wide_integers(eqn: Any) -> bool:
    """Return whether an equation casts between integers of 32 and 64 bits.

    JAX inserts such casts for indices, and only in 64-bit mode.
    """
    wide = (np.dtype("int32"), np.dtype("int64"))
    return (
        eqn.primitive.name == "convert_element_type"
        and eqn.params.get("new_dtype") in wide  # a user's primitive of this name has other parameters
        and eqn.invars[0].aval.dtype in wide
    )
