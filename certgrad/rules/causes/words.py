"""Steps of a program in words: what they compute, and the line that they come from."""

from __future__ import annotations

import linecache
import re
from pathlib import Path
from typing import Any

from certgrad.jaxpr import kinds
from certgrad.obligations.tracing.jax_internals import source_place

_OWN = Path(__file__).parents[2]
_NAMED = re.compile(r"\w+ *=")
LONGEST = 80
"""Characters of a quoted expression; a longer one is not quoted."""
_WORDS = {
    "reduce_sum": "sum",
    "reduce_max": "maximum",
    "reduce_min": "minimum",
    "dot_general": "product",
    "cumsum": "cumulative sum",
    "integer_pow": "power",
    "pow": "power",
    "div": "quotient",
    "mul": "product",
    "add": "sum",
    "sub": "difference",
    "max": "maximum",
    "min": "minimum",
    "log1p": "logarithm",
    "log": "logarithm",
    "exp": "exponential",
    "logistic": "sigmoid",
    "sqrt": "root",
    "rsqrt": "inverse root",
    "broadcast_in_dim": "broadcast",
    "select_n": "choice",
    "neg": "negative",
    "abs": "magnitude",
    **dict.fromkeys(kinds.COMPARES, "comparison"),
    **dict.fromkeys(kinds.LOGIC, "condition"),
    "iota": "range of indices",
    "dim_as_value": "size",
    "dynamic_slice": "slice",
    "rem": "remainder",
    "convert_element_type": "conversion",
    "transpose": "transposition",
    "concatenate": "concatenation",
    "scatter-add": "scattered sum",
    "add_any": "sum",
    "custom_jvp_call": "function with a rule of its own",
    "custom_vjp_call": "function with a rule of its own",
    "custom_linear_solve": "solution of a linear system",
    "triangular_solve": "solution of a triangular system",
}


def word_of(primitive: str) -> str:
    """Return a word for a primitive: `reduce_sum` is a sum."""
    return _WORDS.get(primitive, primitive)


def place_in_users_code(eqn: Any) -> tuple[str, int, int, int]:
    """Return the file, line and columns of the code that made an equation; ("", 0, 0, 0) if it is certgrad's own."""
    place = source_place(eqn)
    return ("", 0, 0, 0) if Path(place[0]).is_relative_to(_OWN) else place


def place_of_step(eqn: Any) -> str:
    """Return where the user's code makes an equation, as ` in line 3 of f.py (`x * y`)`; "" if that is not known."""
    file, line, start, end = place_in_users_code(eqn)
    if not file:
        return ""
    text = _expression(linecache.getline(file, line), start, end)
    shown = f" (`{text}`)" if 0 < len(text) < LONGEST else ""
    return f" in line {line} of {Path(file).name}{shown}"


def _expression(text: str, start: int, end: int) -> str:
    """Return the text between two columns of a line; without columns, or if the line only assigns it, the line."""
    line = text.encode()
    before, after = (part.decode(errors="replace").strip() for part in (line[:start], line[end:]))
    if end <= start or (not after and _NAMED.fullmatch(before)):
        return text.strip()
    return line[start:end].decode(errors="replace").strip()
