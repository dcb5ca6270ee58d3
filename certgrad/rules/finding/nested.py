"""Rules that the text of a module makes: inside functions, at each call, or in a statement that runs at its import."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from certgrad.rules.subject.layers import parts_of_rule, unwrapped, unwrapped_safely

MAKERS = frozenset("custom_vjp custom_jvp custom_gradient filter_custom_vjp filter_custom_jvp".split())
"""Names of the functions in JAX, Equinox and Flax that make rules."""
_ASK = {"isinstance", "issubclass"}
AT_EACH_CALL = "it makes a rule at each call; with certgrad.declare on it, it is audited as it runs"
UNDER_NO_NAME = "a rule is made here by the text of the module, and none of its variables leads to it"


@dataclass(frozen=True)
class Maker:
    """A function or statement that makes a rule: its name, its line, and the reason why that rule is not audited."""

    name: str
    line: int
    reason: str


def makers_in(module: ModuleType, rules: Mapping[str, Any]) -> Iterator[Maker]:
    """Yield the functions and statements of a module that make rules by its text, and made none of `rules`.

    `rules` are the rules that were found, by their names in the module.
    """
    tree = _parsed(getattr(module, "__file__", None) or "")
    constructors = _names_of_makers(tree)
    made_by = {name: _outer_functions(rule) for name, rule in rules.items()}
    known_makers = {outer for functions in made_by.values() for outer in functions}
    functions = {
        name: node.lineno
        for name, node in _functions(tree, "")
        if any(_makes(inner, constructors) for part in node.body for inner in ast.walk(part))
    }
    yield from (Maker(name, line, AT_EACH_CALL) for name, line in functions.items() if name not in known_makers)
    statements = list(_statements(tree, "", constructors))
    # A rule whose name matches no function and no statement was made by a statement without its name: a loop, or a call
    # that registers it. For n such rules the first n statements without a match are taken to have made them.
    written = {*functions, *(name for name, _ in statements)}
    unexplained = [n for n, outer in made_by.items() if not (outer & written or any(_leads(w, n) for w in written))]
    to_pass_over = len(unexplained)
    for name, line in statements:
        if name in known_makers or any(_leads(name, rule) for rule in rules) or _alias(module, name, rules):
            continue
        if to_pass_over:
            to_pass_over -= 1
            continue
        yield Maker(name, line, UNDER_NO_NAME)


def _outer_functions(rule: Any) -> set[str]:
    """Return the qualified names of the outermost functions that contain the functions of a rule.

    If these are methods of an object, also the `__init__` of its class, which may have made the rule.
    """
    custom = unwrapped(rule)
    owners = [getattr(getattr(custom, name, None), "__self__", None) for name in ("fun", "fwd", "bwd", "jvp")]
    constructors = {
        f"{type(owner).__qualname__}.__init__" for owner in owners if not isinstance(owner, type | ModuleType | None)
    }
    return constructors | {part.__qualname__.partition(".<locals>")[0] for part in parts_of_rule(custom)}


def _leads(name: str, rule: str) -> bool:
    """Return whether `rule` is the name of a variable, or of something in the variable."""
    return rule == name or rule.startswith((f"{name}.", f"{name}["))


def _alias(module: ModuleType, name: str, rules: Mapping[str, Any]) -> bool:
    """Return whether a variable of the module holds one of the rules, which has another name there."""
    custom = unwrapped_safely(vars(module).get(name))
    return custom is not None and any(custom is unwrapped(rule) for rule in rules.values())


def makes_rules(file: str) -> bool:
    """Return whether a file makes derivative rules, by its text."""
    tree = _parsed(file)
    makers = _names_of_makers(tree)
    return any(_makes(node, makers) for node in ast.walk(tree))


def _parsed(file: str) -> ast.Module:
    """Return the syntax tree of a file; an empty one if it cannot be read, or names no function that makes rules."""
    try:
        text = Path(file).read_bytes()
        if any(name.encode() in text for name in MAKERS):
            return ast.parse(text)
    except (OSError, SyntaxError, ValueError):
        pass
    return ast.Module([], [])


def _names_of_makers(tree: ast.AST) -> frozenset[str]:
    """Return the names of functions that make rules in a text, with its aliases: `from jax import custom_vjp as c`."""
    names = set(MAKERS)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {alias.asname for alias in node.names if alias.name in MAKERS and alias.asname}
        elif isinstance(node, ast.Assign) and _is_maker(node.value, frozenset(names)):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return frozenset(names)


def _is_maker(node: ast.AST, makers: frozenset[str]) -> bool:
    """Return whether an expression is a function that makes rules, or a `partial` of one."""
    if isinstance(node, ast.Call) and "partial" in (getattr(node.func, "id", ""), getattr(node.func, "attr", "")):
        return bool(node.args) and _names(node.args[0], makers)
    return _names(node, makers)


def _statements(tree: ast.AST, prefix: str, makers: frozenset[str]) -> Iterator[tuple[str, int]]:
    """Yield the name and line of each statement that makes a rule when its module is imported.

    The name is that of the variable or function that it defines, or else one of the function that makes the rule.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if any(_names(inner, makers) for decorator in node.decorator_list for inner in ast.walk(decorator)):
                yield f"{prefix}{node.name}", node.lineno
        elif isinstance(node, ast.ClassDef):
            yield from _statements(node, f"{prefix}{node.name}.", makers)
        elif any(isinstance(child, (ast.stmt, ast.excepthandler)) for child in ast.iter_child_nodes(node)):
            yield from _statements(node, prefix, makers)
        elif isinstance(node, ast.Assign) and _is_maker(node.value, makers):
            continue
        elif isinstance(node, ast.stmt) and any(_makes(inner, makers) for inner in ast.walk(node)):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            named = [inner.id for t in targets if t is not None for inner in ast.walk(t) if isinstance(inner, ast.Name)]
            yield f"{prefix}{named[0]}" if named else f"<statement>.{_first_maker(node, makers)}", node.lineno


def _first_maker(node: ast.AST, makers: frozenset[str]) -> str:
    inner = next(n for n in ast.walk(node) if _names(n, makers))
    return inner.id if isinstance(inner, ast.Name) else inner.attr if isinstance(inner, ast.Attribute) else ""


def _functions(tree: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield the functions at the top of a module and in its classes, each with its qualified name."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield f"{prefix}{node.name}", node
        elif isinstance(node, (ast.If, ast.For, ast.Try, ast.ExceptHandler, ast.With)):
            yield from _functions(node, prefix)


def _makes(node: ast.AST, makers: frozenset[str]) -> bool:
    """Return whether a node calls a function in `makers`, is decorated by one, or passes one as an argument."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return any(_names(d, makers) for d in node.decorator_list)
    if not isinstance(node, ast.Call) or (isinstance(node.func, ast.Name) and node.func.id in _ASK):
        return False
    return _names(node.func, makers) or any(_names(a, makers) for a in node.args)


def _names(node: ast.AST, makers: frozenset[str]) -> bool:
    return (isinstance(node, ast.Name) and node.id in makers) or (
        isinstance(node, ast.Attribute) and node.attr in MAKERS
    )
