"""Conditions that compare an argument with a size of its signature: `label < v` of `"n v, n:int"`.

A condition is text until it is read, and is read where only the arrays are known. So each size is written as the length
of an axis that has it (`logits.shape[1]`), once, where the signature is known.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence

from certgrad.signatures.sizes import Size, Star

Axes = Mapping[str, Sequence[Size | Star]]
"""The sizes of the axes of each array, by its name."""


def in_lengths(texts: Sequence[str], axes: Axes, taken: Collection[str] = ()) -> tuple[str, ...]:
    """Return the conditions with sizes written as lengths of axes; a size that no axis gives stays as it is.

    An array, or a number with a name that is `taken`, comes before a size of its name.
    """
    lengths = {name: text for name, text in _lengths(axes).items() if name not in axes and name not in taken}
    return tuple(_substitute_lengths(text, lengths) for text in texts)


def _substitute_lengths(text: str, lengths: Mapping[str, str]) -> str:
    """Return the text with lengths in the place of sizes; a text that is no formula, or names none, as it is."""
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
    """Return the expression for each size: the length of an axis, preferably one whose length is the size alone."""
    expressions: dict[str, tuple[bool, str]] = {}
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
            is_bare_name = size.name is not None
            if name not in expressions or (is_bare_name and not expressions[name][0]):
                expressions[name] = is_bare_name, text
    return {name: text for name, (_, text) in expressions.items()}
