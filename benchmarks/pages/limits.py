"""The page on the limits of a search, `docs/limits.md`. `python -m benchmarks.pages.limits` prints it."""

import ast
from collections.abc import Iterator
from pathlib import Path

from certgrad.report.markdown import code, tabulated

PACKAGES = ("exact", "graph", "obligations", "rules")
"""The packages that search: for proofs, points, shapes and causes."""
_PRINT = ("graph/builder", "graph/tape", "graph/views", "graph/wording", "obligations/wording")
"""Folders whose numbers say how something is printed."""
_ENCODE = ("exact/_primes", "obligations/assume/signs", "obligations/tracing/random_bits")
"""Modules whose numbers stand for something: moduli, signs as bits, rotations of a generator."""
_WORDS = ("BITS", "FORMAT", "PRECISION")
"""The last words of names of numbers of bits, and of versions of a format."""

_INTRODUCTION = """\
# The limits of a search

`python -m benchmarks.pages.limits > docs/limits.md` writes this page. Do not edit it by hand.

A search for a proof, a point, a shape or a cause ends somewhere. These are the numbers at which it does, each with what
it limits and what happens when it is reached. Where a limit of a proof is reached, there is no proof; where one of a
check is reached, less was checked.

Listed is every number in capitals at the top of a module of the packages that search, but for numbers of bits, versions
of formats, numbers that stand for something (signs, moduli), and what says how a text or a drawing looks."""


def limits() -> Iterator[tuple[str, str, str, str]]:
    """Yield the module, the names, the value and the docstring ("" without one) of each limit."""
    root = Path(__file__).parents[2] / "certgrad"
    for file in sorted(file for package in PACKAGES for file in (root / package).rglob("*.py")):
        module = file.relative_to(root).with_suffix("").as_posix()
        if module.startswith(_PRINT) or module in _ENCODE:
            continue
        body = ast.parse(file.read_text(encoding="utf-8")).body
        for statement, below in zip(body, [*body[1:], ast.Pass()], strict=True):
            if not isinstance(statement, ast.Assign) or not _is_numbers(statement.value):
                continue
            names = [n.id for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
            if all(name.isupper() and not name.endswith(_WORDS) for name in names):
                yield module, ", ".join(names), ast.unparse(statement.value), _docstring(below).replace("|", "\\|")


def _is_numbers(value: ast.expr) -> bool:
    """Return whether an expression is a number, or a tuple of such, by literals and arithmetic."""
    match value:
        case ast.Constant(value=number):
            return type(number) in (int, float)
        case ast.Tuple(elts=parts):
            return bool(parts) and all(map(_is_numbers, parts))
        case ast.BinOp(left=left, right=right):
            return _is_numbers(left) and _is_numbers(right)
        case ast.UnaryOp(operand=operand):
            return _is_numbers(operand)
    return False


def _docstring(below: ast.stmt) -> str:
    match below:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return " ".join(text.split())
    return ""


def render() -> str:
    """The page."""
    parts = [_INTRODUCTION]
    for package in PACKAGES:
        rows = [
            (code(f"{module.removeprefix(f'{package}/')}.{names}"), value, text)
            for module, names, value, text in limits()
            if module.startswith(f"{package}/")
        ]
        parts.append(f"## {code(f'certgrad/{package}/')}\n\n{tabulated(('limit', 'value', 'what it limits'), rows)}")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    print(render(), end="")
