"""Python code while it is written: lines, the names of values, sizes as expressions."""

from __future__ import annotations

import base64
import keyword
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from certgrad.errors import UsageError
from certgrad.exports._flat import Atom, Constant, Flat, Step
from certgrad.signatures.sizes import parse_size

Rule = Callable[["Code", Step, list[str]], "str | list[str]"]
"""Writes a step: takes the code, the step and the names of its operands; returns an expression, or one for each result.
"""
RESERVED = frozenset("torch base64 device floordiv mod max min sizes left seeds lambda".split()) | {*keyword.kwlist}
_OWN = re.compile(r"(v|seed|body|test|branch)\d+\w*|_.*")
"""Names that the written code uses itself, and that arguments and dimensions must not have."""


@dataclass
class Code:
    """The lines of a file while it is written. `constants` are arrays, which stand before the functions."""

    table: Mapping[str, str | Rule]
    """How each primitive is written: a template with places for its operands, or a rule."""
    where: Callable[[Step], str]
    sizes: Mapping[str, str]
    """The name of each dimension in the code."""
    lines: list[str] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    constants: dict[Any, tuple[str, str]] = field(default_factory=dict)
    helpers: set[str] = field(default_factory=set)
    depth: int = 1
    place: str = ""

    def line(self, text: str, comment: str = "") -> None:
        indent = "    " * self.depth
        note = " ".join(comment.split())  # a name that the code may have given itself, on one line
        self.lines.append(f"{indent}{text}" + (f"  # {note}" if note else ""))

    def helper(self, name: str, *args: Any) -> str:
        """Return a call of a helper as text, and note that the file needs the helper."""
        self.helpers.add(name)
        return f"{name}({', '.join(map(str, args))})"

    # --- sizes

    def size(self, size: int | str) -> str:
        """Return a dimension as an expression in Python."""
        return str(size) if isinstance(size, int) else parse_size(size).renamed(self.sizes).code

    def shape(self, sizes: Sequence[int | str]) -> str:
        return listed([self.size(s) for s in sizes])

    # --- operands

    def read(self, atom: Atom) -> str:
        """Return an expression for an operand as a tensor."""
        return self.names[id(atom)] if not isinstance(atom, Constant) else self.tensor(atom)

    def tensor(self, atom: Constant) -> str:
        """Return an expression for a constant as a tensor on the device of the arguments.

        An array of equal entries is filled with their number; any other array is stored once in the file, in base64.
        """
        data, dtype = atom.data, dtype_of(atom.dtype)
        if data.size and (data == data.flat[0]).all():
            entry = number(data.flat[0].item())
            return f"torch.full({tuple(map(int, data.shape))}, {entry}, dtype={dtype}, device=device)"
        key = str(data.dtype), data.shape, data.tobytes()
        if key not in self.constants:
            bits = base64.b64encode(np.ascontiguousarray(data).tobytes()).decode()
            from_bytes = f'torch.frombuffer(bytearray(base64.b64decode("{bits}")), dtype={dtype}).reshape({data.shape})'
            empty = f"torch.empty({data.shape}, dtype={dtype})"
            self.constants[key] = f"_C{len(self.constants)}", from_bytes if data.size else empty
        return f"{self.constants[key][0]}.to(device)"

    def operand(self, step: Step, k: int) -> str:
        """Return an expression for an operand of arithmetic: a plain number for a constant scalar beside a tensor."""
        atom = step.inputs[k]
        others = [a for a in step.inputs if not isinstance(a, Constant)]
        if isinstance(atom, Constant) and not atom.rank and others:
            return f"({number(atom.data.item())})" if atom.data.item() < 0 else number(atom.data.item())
        return self.read(atom)

    # --- programs

    def write(self, flat: Flat, guard: Callable[[Step], str] = lambda step: "") -> list[str]:
        """Write the steps of a program whose inputs have names, and return the names of its outputs.

        `guard` gives the condition under which a step is computed, as an expression; "" where it is always computed.
        Steps in a row with equal conditions stand below one `if`.
        """
        last, depth = "", self.depth
        for step in flat.steps:
            if (condition := guard(step)) != last:
                self.depth = depth
                if condition:
                    self.line(f"if {condition}:")
                    self.depth += 1
                last = condition
            self.place = self.where(step)
            row = self.table.get(step.primitive)
            if row is None:
                raise unwritten(self.place, step.primitive, "has no counterpart in PyTorch")
            if isinstance(row, str):
                written: Any = row.format(*(self.operand(step, k) for k in range(len(step.inputs))))
            else:
                written = row(self, step, [self.read(a) for a in step.inputs])
            names = [f"v{v.number}" for v in step.outputs]
            self.names.update((id(v), n) for v, n in zip(step.outputs, names, strict=True))
            if isinstance(written, str):
                self.line(
                    f"{', '.join(names)} = {written}" if len(names) == 1 else f"[{', '.join(names)}] = {written}",
                    self.place,
                )
            else:
                for name, expression in zip(names, written, strict=True):
                    self.line(f"{name} = {expression}", self.place)
        self.depth = depth
        return [self.read(a) for a in flat.outputs]

    def function(self, flat: Flat, title: str) -> str:
        """Write a program that a step runs as a nested function named `title`, and return that name."""
        names = [f"v{v.number}" for v in flat.inputs]
        self.names.update((id(v), n) for v, n in zip(flat.inputs, names, strict=True))
        place = self.place
        self.line(f"def {title}({', '.join(names)}):")
        self.depth += 1
        outputs = self.write(flat)
        self.line(f"return [{', '.join(outputs)}]")
        self.depth -= 1
        self.place = place
        return title


def call(name: str) -> Rule:
    """Return the rule that writes a call of a function of torch on all operands."""
    return lambda c, step, xs: f"{name}({', '.join(xs)})"


def int_tuple(values: Any) -> tuple[int, ...]:
    """Return integers of any type as a tuple of Python's own."""
    return tuple(int(v) for v in values)


def listed(parts: Sequence[str]) -> str:
    """Return expressions as the text of a tuple."""
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def number(value: Any) -> str:
    """Return a number as Python writes it; infinities and NaN as torch names them."""
    if isinstance(value, float) and not math.isfinite(value):
        return "torch.nan" if math.isnan(value) else ("torch.inf" if value > 0 else "-torch.inf")
    return repr(value)


def dtype_of(dtype: Any) -> str:
    """Return torch's name of a dtype: `torch.float32`."""
    name = str(np.dtype(dtype))
    return f"torch.{name}"


def own_names(names: Sequence[str], taken: Sequence[str] = ()) -> list[str]:
    """Return distinct names, changed where one means something else in the file: `max` becomes `max_`, `v1` `xv1`."""
    used = {*RESERVED, *taken}
    unique_names = []
    for name in names:
        while name in used or _OWN.fullmatch(name):
            name = f"x{name}" if _OWN.fullmatch(name) else f"{name}_"
        unique_names.append(name)
        used.add(name)
    return unique_names


def unwritten(where: str, primitive: str, why: str) -> UsageError:
    """Return the error about a primitive that cannot be written: where it stands, why, and what to do instead."""
    return UsageError(
        f"{where}: {primitive} {why}. Write that line of the function with other operations, or call the compiled "
        "graph from a program that uses JAX."
    )
