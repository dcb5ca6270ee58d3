"""Assumed bounds written down: `domain=` in the decorator `certgrad.declare` of a rule."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

from certgrad.process.files import write_atomically


def declared(file: Path, line: int, name: str, conditions: Sequence[str]) -> bool:
    """Write conditions into the declaration of the function `name`, whose first line this is, and say whether there is
    one that takes them. Nothing else in the file changes.

    Raises OSError where the file cannot be read or written.
    """
    source = file.read_bytes()
    changed = with_domain(source, line, name, conditions)
    if changed is None:
        return False
    write_atomically(file, changed)
    return True


def with_domain(source: bytes, line: int, name: str, conditions: Sequence[str]) -> bytes | None:
    """The source with `domain=` of conditions, beside those that stand there, in the declaration of a function.

    None where it has no decorator `declare`, or one whose domain is no text and no list of texts.
    """
    try:
        call = _declaration(ast.parse(source), line, name)
    except (SyntaxError, ValueError):
        return None
    if call is None or not (call.args or call.keywords) or any(k.arg is None for k in call.keywords):
        return None
    domain = next((k.value for k in call.keywords if k.arg == "domain"), None)
    if domain is None:
        last = max(
            (*call.args, *(k.value for k in call.keywords)), key=lambda node: (node.end_lineno, node.end_col_offset)
        )
        end = _offset(source, last.end_lineno, last.end_col_offset)
        changed = source[:end] + f", domain={_texts(conditions)}".encode() + source[end:]
    elif (before := _said(domain)) is not None:
        start = _offset(source, domain.lineno, domain.col_offset)
        end = _offset(source, domain.end_lineno, domain.end_col_offset)
        changed = source[:start] + _texts([*before, *conditions]).encode() + source[end:]
    else:
        return None
    return changed if _as_meant(source, changed, line, name) else None


def _declaration(module: ast.Module, line: int, name: str) -> ast.Call | None:
    """The decorator `declare` of the function of a name that begins in a line."""
    for node in ast.walk(module):
        if not isinstance(node, ast.FunctionDef) or node.name != name:
            continue
        if min([node.lineno, *(d.lineno for d in node.decorator_list)]) != line:
            continue
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call):
                made = decorator.func
                if "declare" in (getattr(made, "attr", ""), getattr(made, "id", "")):
                    return decorator
    return None


def _said(domain: ast.expr) -> list[str] | None:
    """The conditions that a domain says; None where it is no text and no list of texts."""
    parts = domain.elts if isinstance(domain, ast.List | ast.Tuple) else [domain]
    texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return texts if len(texts) == len(parts) else None


def _texts(conditions: Sequence[str]) -> str:
    quoted = [f'"{text}"' for text in conditions]
    return quoted[0] if len(quoted) == 1 else f"[{', '.join(quoted)}]"


def _offset(source: bytes, line: int | None, column: int | None) -> int:
    """Where a place of a syntax tree is in the source: its columns count bytes."""
    lines = source.splitlines(keepends=True)
    return sum(map(len, lines[: (line or 1) - 1])) + (column or 0)


def _as_meant(before: bytes, after: bytes, line: int, name: str) -> bool:
    """The source parses, and but for the domain of the declaration it is the same program."""
    trees = []
    for source in (before, after):
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            return False
        call = _declaration(tree, line, name)
        if call is None:
            return False
        call.keywords = [k for k in call.keywords if k.arg != "domain"]
        trees.append(ast.dump(tree))
    return trees[0] == trees[1]
