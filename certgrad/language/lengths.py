"""Conditions that compare an argument with a size of its signature: `label < v` of `"n v, n:int"`.

A condition is text until it is read, and is read where only the arrays are known. So each size is written as the length
of an axis that has it (`logits.shape[1]`), once, where the signature is known.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence

from certgrad.signatures.sizes import Size, Star

Axes = Mapping[str, Sequence[Size | Star]]
"""By array the sizes of its axes."""


def in_lengths(texts: Sequence[str], axes: Axes, taken: Collection[str] = ()) -> tuple[str, ...]:
    """The conditions with the sizes that they name written as lengths; those that no axis tells stay as they are.

    An array, or a number with a name that is `taken`, comes before a size of its name.
    """
    lengths = {name: text for name, text in _lengths(axes).items() if name not in axes and name not in taken}
    return tuple(_substitute_lengths(text, lengths) for text in texts)


def _substitute_lengths(text: str, lengths: Mapping[str, str]) -> str:
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
    """Return, by size, the expression that reads it off an array, a bare name first."""
    found: dict[str, tuple[bool, str]] = {}
    for array, sizes in axes.items():
        stars = [k for k, size in enumerate(sizes) if isinstance(size, Star)]
        for k, size in enumerate(sizes):
            if isinstance(size, Star) or size.of_one_name is None or (stars and stars[0] < k < stars[-1]):
                continue
            times, name, shift = size.of_one_name
            place = k if not stars or k < stars[0] else k - len(sizes)
            text = f"{array}.shape[{place}]"
            if shift:
                text = f"({text} {'-' if shift > 0 else '+'} {abs(shift)})"
            if times != 1:
                text = f"{text} / {times}"
            bare = size.name is not None
            if name not in found or (bare and not found[name][0]):
                found[name] = bare, text
    return {name: text for name, (_, text) in found.items()}
