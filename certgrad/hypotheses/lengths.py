"""Conditions that compare an argument with a size of its signature: `label < v` of `"n v, n:int"`.

A condition is text until it is read, and is read where only the arrays are known. So each size is written as the length
of an axis that has it (`logits.shape[1]`), once, where the signature is known.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence

Axes = Mapping[str, Sequence[str]]
"""By array the sizes of its axes as they are written; `*s` for any number of axes."""

_SIZE = re.compile(r"(?:([1-9]\d*)\*)?([A-Za-z_]\w*)(?:([+-])(\d+))?")
"""A size that tells the number that its name stands for: `n`, `2*n`, `n+1`, `2*n-1`."""


def in_lengths(texts: Sequence[str], axes: Axes, taken: Collection[str] = ()) -> tuple[str, ...]:
    """The conditions with the sizes that they name written as lengths; those that no axis tells stay as they are.

    An array, or a number with a name that is `taken`, comes before a size of its name.
    """
    lengths = {name: text for name, text in _lengths(axes).items() if name not in axes and name not in taken}
    return tuple(_written(text, lengths) for text in texts)


def _written(text: str, lengths: Mapping[str, str]) -> str:
    try:
        parsed = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text  # whoever reads it says what is wrong
    if not any(isinstance(node, ast.Name) and node.id in lengths for node in ast.walk(parsed)):
        return text

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return ast.parse(lengths[node.id], mode="eval").body if node.id in lengths else node

    return ast.unparse(Fill().visit(parsed))


def _lengths(axes: Axes) -> dict[str, str]:
    """By size how it is read off an array: a bare name before an expression."""
    found: dict[str, tuple[bool, str]] = {}
    for array, sizes in axes.items():
        stars = [k for k, size in enumerate(sizes) if size.startswith("*")]
        for k, size in enumerate(sizes):
            match = _SIZE.fullmatch(size)
            if match is None or (stars and stars[0] < k < stars[-1]):
                continue
            times, name, sign, shift = match.groups()
            place = k if not stars or k < stars[0] else k - len(sizes)
            text = f"{array}.shape[{place}]"
            if shift:
                text = f"({text} {'-' if sign == '+' else '+'} {shift})"
            if times:
                text = f"{text} / {times}"
            bare = times is None and shift is None
            if name not in found or (bare and not found[name][0]):
                found[name] = bare, text
    return {name: text for name, (_, text) in found.items()}
