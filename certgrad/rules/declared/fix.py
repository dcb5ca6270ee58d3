"""Declarations written beside rules, marked as inferred: `@certgrad.declare("n d, d", inferred=True)`.

Of a declaration that its author wrote, only `domain=`, `surrogate=` and the mark on what is added to them change.
Everything else in the file stays as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from certgrad.process.files import write_atomically

from .declaration import SURROGATE, Declaration
from .written import UnwritableError, call, python

_MAKERS = frozenset(("custom_vjp", "custom_jvp", "custom_gradient"))
"""The decorators above which a declaration is written, as the objects that they make take attributes."""
_OUTERMOST = "certgrad"


@dataclass(frozen=True)
class Beside:
    """What to write beside the function that begins in a line: a whole declaration, or additions to one."""

    line: int
    declared: Declaration
    whole: bool = True
    """Whether it is a whole declaration."""


def write(file: Path, wanted: Sequence[Beside]) -> set[int]:
    """Write declarations into a file, and return the lines of the functions that have theirs now, or had it before.

    Raises OSError if the file cannot be read or written.
    """
    source = file.read_bytes()
    changed, done = with_declarations(source, wanted)
    if changed != source:
        write_atomically(file, changed)
    return done


def with_declarations(source: bytes, wanted: Sequence[Beside]) -> tuple[bytes, set[int]]:
    """Return the source with declarations, and the original lines of the functions that have theirs in it.

    A declaration is left out if it cannot be written: the function is no `def`, its own declaration is written in a way
    that takes no addition, or `certgrad` is another object in the file. `import certgrad` is added if it is missing.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return source, set()
    changed: bytes = source
    done: set[int] = set()
    module = _name_of_certgrad(tree, min((addition.line for addition in wanted), default=0))
    imported = bool(module)
    module = module or (_OUTERMOST if not _is_bound(tree, _OUTERMOST) else "")
    # From the last line to the first, so that the lines of the functions that are left do not move.
    for addition in sorted(wanted, key=lambda addition: -addition.line):
        written = _with_declaration(changed, addition, module)
        if written is not None:
            changed = written
            done.add(addition.line)
    if changed == source or imported:
        return changed, done
    with_import = _with_import(changed)
    return (source, set()) if with_import is None else (with_import, done)


def _with_declaration(source: bytes, one: Beside, module: str) -> bytes | None:
    """Return the source with one declaration or addition; None if it cannot be written.

    `module` is the name of certgrad in the file; "" if it has none. A declaration that is marked as inferred as a whole
    is replaced; one that the author wrote is only added to.
    """
    function = _function(ast.parse(source), one.line)
    if function is None:
        return None
    present = _declaration(function)
    if present is None or _is_marked(present):
        try:
            text = call(one.declared, module) if module and one.whole else ""
        except UnwritableError:
            text = ""
        if not text:
            return None
        changed = _inserted(source, function, text) if present is None else _replaced(source, present, text)
        return changed if _same_but(source, changed, one.line, text) else None
    if one.whole or not (present.args or present.keywords) or any(k.arg is None for k in present.keywords):
        return None
    return _added_to(source, present, one)


def _added_to(source: bytes, own: ast.Call, one: Beside) -> bytes | None:
    """Return the source with conditions and a surrogate added to the declaration `own`, marked as inferred.

    None is returned if the keywords of the declaration are no literal texts, or if another part of the file would
    change. Conditions that it has already are not added, nor is a surrogate if it has one.
    """
    present = {k.arg: _texts(k.value) for k in own.keywords if k.arg in ("domain", SURROGATE, "inferred")}
    if any(texts is None for texts in present.values()):
        return None
    domain, marked = present.get("domain") or [], present.get("inferred") or []
    new = [c for c in one.declared.conditions if c not in domain]
    reason = one.declared.surrogate if SURROGATE not in present else ""
    if not new and not reason:
        return source
    values = {"domain": python([*domain, *new])} if new else {}
    values |= {SURROGATE: python(reason)} if reason else {}
    values["inferred"] = f"[{', '.join(map(python, [*marked, *new, *([SURROGATE] if reason else [])]))}]"
    changed = _with_keywords(source, own, values)
    return changed if _same_but(source, changed, one.line) else None


def function_at(source: bytes, line: int) -> tuple[int, int] | None:
    """Return the first and last line of the function that begins in a line; None if none does, or on a syntax error."""
    try:
        function = _function(ast.parse(source), line)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return (line, function.end_lineno or line) if function is not None else None


def _function(module: ast.Module, line: int) -> ast.FunctionDef | None:
    """Return the function whose first decorator, or `def`, is in a line; None if there is not just one."""
    functions = [n for n in ast.walk(module) if isinstance(n, ast.FunctionDef) and _first_line(n) == line]
    return functions[0] if len(functions) == 1 else None


def _first_line(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(d.lineno for d in node.decorator_list)])


def _declaration(function: ast.FunctionDef) -> ast.Call | None:
    """Return the decorator `declare(…)` of a function; None if it has none."""
    calls = (d for d in function.decorator_list if isinstance(d, ast.Call))
    return next((c for c in calls if "declare" in (getattr(c.func, "attr", ""), getattr(c.func, "id", ""))), None)


def _is_marked(own: ast.Call) -> bool:
    """Return whether a declaration is marked as inferred as a whole: `inferred=True`."""
    mark = next((k.value for k in own.keywords if k.arg == "inferred"), None)
    return isinstance(mark, ast.Constant) and mark.value is True


def _texts(said: ast.expr) -> list[str] | None:
    """Return the texts of an argument that is a literal text or a list of such; None for any other expression."""
    parts = said.elts if isinstance(said, ast.List | ast.Tuple) else [said]
    texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return texts if len(texts) == len(parts) else None


def _inserted(source: bytes, function: ast.FunctionDef, text: str) -> bytes:
    """Return the source with a decorator above the one that makes the rule, or above the `def` if no decorator does."""
    makers = (d for d in function.decorator_list if _names(d) & _MAKERS)
    line = next((d.lineno for d in makers), function.lineno)
    lines = source.splitlines(keepends=True)
    below = lines[line - 1]
    indentation = below[: len(below) - len(below.lstrip(b" \t\f"))]
    lines.insert(line - 1, indentation + f"@{text}".encode() + _line_end(below))
    return b"".join(lines)


def _names(node: ast.AST) -> set[str]:
    return {getattr(n, "attr", "") or getattr(n, "id", "") for n in ast.walk(node)}


def _line_end(line: bytes) -> bytes:
    return b"\r\n" if line.endswith(b"\r\n") else b"\n"


def _replaced(source: bytes, node: ast.expr, text: str) -> bytes:
    """Return the source with an expression replaced by `text`, unless both are the same code."""
    if ast.dump(node) == ast.dump(ast.parse(text, mode="eval").body):
        return source
    return spliced(source, [(start_of(source, node), end_of(source, node), text)])


def _with_keywords(source: bytes, own: ast.Call, values: Mapping[str, str]) -> bytes:
    """Return the source with these values for keywords of the call `own`: in place of old values, or at its end."""
    old_values = {k.arg: k.value for k in own.keywords if k.arg in values}
    last = max((*own.args, *(k.value for k in own.keywords)), key=lambda node: end_of(source, node))
    added = "".join(f", {name}={value}" for name, value in values.items() if name not in old_values)
    splices = [(end_of(source, last), end_of(source, last), added)]
    splices += [(start_of(source, node), end_of(source, node), values[str(name)]) for name, node in old_values.items()]
    return spliced(source, splices)


def spliced(source: bytes, splices: Sequence[tuple[int, int, str]]) -> bytes:
    """Return the source with splices (start, end, text) made: `text` replaces the bytes from `start` up to `end`."""
    changed = source
    # From the last to the first, so that the offsets of the splices that are left do not move.
    for start, end, text in sorted(splices, key=lambda splice: splice[:2], reverse=True):
        changed = changed[:start] + text.encode() + changed[end:]
    return changed


def start_of(source: bytes, node: ast.expr) -> int:
    """Return the offset of an expression's start in the source."""
    return _offset(source, node.lineno, node.col_offset)


def end_of(source: bytes, node: ast.expr) -> int:
    """Return the offset of an expression's end in the source."""
    return _offset(source, node.end_lineno, node.end_col_offset)


def _offset(source: bytes, line: int | None, column: int | None) -> int:
    """Return the offset in bytes of a line and column of a syntax tree, whose columns count bytes."""
    lines = source.splitlines(keepends=True)
    return sum(map(len, lines[: (line or 1) - 1])) + (column or 0)


def _same_but(before: bytes, after: bytes, line: int, text: str = "") -> bool:
    """Return whether both sources are the same program but for the declaration of the function that begins in `line`.

    With `text`, the declaration of the second source has to be `text`, and all of it may differ. Without, only its
    `domain`, `surrogate` and `inferred` may.
    """
    trees = []
    for source in (before, after):
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            return False
        function = _function(tree, line)
        declaration = _declaration(function) if function is not None else None
        if source is after and (declaration is None or (text and ast.dump(declaration) != _dumped(text))):
            return False
        if function is not None and declaration is not None and text:
            function.decorator_list.remove(declaration)
        elif declaration is not None:
            declaration.keywords = [k for k in declaration.keywords if k.arg not in ("domain", SURROGATE, "inferred")]
        trees.append(ast.dump(tree))
    return trees[0] == trees[1]


def _dumped(text: str) -> str:
    return ast.dump(ast.parse(text, mode="eval").body)


def _name_of_certgrad(tree: ast.Module, above: int) -> str:
    """Return the name under which a module imports certgrad above a line, if it is bound to nothing else, or ""."""
    imports = (node for node in tree.body if isinstance(node, ast.Import) and node.lineno < above)
    aliases = [a for node in imports for a in node.names if _is_of(a.name, _OUTERMOST)]
    names = (a.asname or _OUTERMOST for a in aliases if a.name == _OUTERMOST or not a.asname)
    return next((name for name in names if not _is_bound(tree, name)), "")


def _is_bound(tree: ast.Module, name: str) -> bool:
    """Return whether a name is bound to something other than certgrad anywhere in a module."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                bound = [a.asname or a.name.partition(".")[0] for a in node.names if not _is_of(a.name, _OUTERMOST)]
            case ast.ImportFrom():
                bound = [a.asname or a.name for a in node.names]
            case ast.Name():
                bound = [] if isinstance(node.ctx, ast.Load) else [node.id]
            case ast.keyword() | ast.alias():
                bound = []
            case _:
                bound = [str(getattr(node, part, "")) for part in ("name", "arg")]
        if name in bound:
            return True
    return False


def _is_of(module: str, package: str) -> bool:
    return module.partition(".")[0] == package


def _with_import(source: bytes) -> bytes | None:
    """Return the source with `import certgrad` added to the imports at its top.

    The line goes before the first `import jax…`, or else after the last import. None is returned if there is no import
    at the top, or if the result is not the same program with that import, as where imports share a line.
    """
    tree = ast.parse(source)
    imports = []
    for k, node in enumerate(tree.body):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.append((k, node))
        elif not (k == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            break
    if not imports:
        return None
    plain = ((k, node) for k, node in imports if isinstance(node, ast.Import))
    of_jax = ((k, node, node.lineno) for k, node in plain if any(_is_of(a.name, "jax") for a in node.names))
    last_place, last = imports[-1]
    k, node, line = next(of_jax, (last_place + 1, last, (last.end_lineno or 0) + 1))
    lines = source.splitlines(keepends=True)
    lines.insert(line - 1, b"import certgrad" + _line_end(lines[node.lineno - 1]))
    changed = b"".join(lines)
    try:
        after = ast.parse(changed)
    except (SyntaxError, ValueError):
        return None
    # Without the added import the program has to be the old one; it is not where a line holds several statements.
    added = after.body.pop(k) if k < len(after.body) else None
    is_the_import = isinstance(added, ast.Import) and [a.name for a in added.names] == [_OUTERMOST]
    return changed if is_the_import and ast.dump(after) == ast.dump(tree) else None
