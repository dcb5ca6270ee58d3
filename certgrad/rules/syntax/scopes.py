"""What names mean in Python source: the one expression that a name is bound to in its scope."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from .files import File
from .values import Path, Value

Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_CHANGES = frozenset("append extend insert pop remove clear resize".split())
"""Methods that change a list, so that it is no longer what its name was bound to."""


@dataclass(frozen=True)
class Part:
    """One of the `count` entries to which an expression is unpacked: b is entry 1 of 2 in `a, b = pair()`."""

    of: ast.expr
    place: int
    count: int


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function, whose value a call gives."""


Bound = ast.expr | Defined | Path | Part | Parameter | None
"""What a name is bound to; None if that is not one expression."""


@dataclass(eq=False)
class Scope:
    """A module, function, class or comprehension, with the known values of its parameters in `given`."""

    node: ast.AST
    outer: Scope | None
    file: File
    given: Mapping[str, Value] = field(default_factory=dict)

    def bound(self, name: str) -> tuple[Scope, Bound] | None:
        """Return the innermost scope that binds a name, and what it is bound to; None if no scope binds it."""
        scope: Scope | None = self
        while scope is not None:
            names = bindings(scope.node)
            if name in names and not (isinstance(scope.node, ast.ClassDef) and scope is not self):
                return scope, names[name]
            scope = scope.outer
        return None


@lru_cache(maxsize=4096)
def bindings(scope: ast.AST) -> Mapping[str, Bound]:
    """Return the names that a scope binds, each with what it is bound to.

    That is None for a name that is bound twice, declared global or nonlocal, or bound in a way that is not followed.
    """
    out: dict[str, Bound] = dict.fromkeys(parameters_of(scope), Parameter()) if isinstance(scope, Defined) else {}
    for name, bound in _bindings(scope):
        out[name] = None if name in out else bound
    inner = (node for node in ast.walk(scope) if isinstance(node, (ast.Global, ast.Nonlocal)))
    return {**out, **dict.fromkeys(name for node in inner for name in node.names)}


def _bindings(scope: ast.AST) -> Iterator[tuple[str, Bound]]:
    """Yield each name that a scope binds, as often as it does, with what it is bound to; None if that is not followed.

    Names that inner scopes bind are left out.
    """
    body = getattr(scope, "body", None)  # an expression for a lambda, and None for a comprehension
    waiting: list[ast.AST] = [*body] if isinstance(body, list) else [body] if isinstance(body, ast.expr) else []
    waiting += [generator.target for generator in getattr(scope, "generators", ())]
    while waiting:
        node = waiting.pop()
        match node:
            case (
                ast.Assign(targets=[target], value=ast.expr() as value)
                | ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value)
            ):
                yield from _assigned(target, value)
                waiting += [value, target] if isinstance(target, (ast.Attribute, ast.Subscript)) else [value]
            case ast.AnnAssign(target=ast.Name(), value=None):
                pass
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name, node
            case ast.ClassDef():
                yield node.name, None
            case ast.Import() | ast.ImportFrom():
                yield from _imported(node)
            case ast.Lambda():
                pass
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                waiting += [inner.target for inner in ast.walk(node) if isinstance(inner, ast.NamedExpr)]
            case _:
                yield from _bound_otherwise(node)
                waiting += ast.iter_child_nodes(node)


def _bound_otherwise(node: ast.AST) -> Iterator[tuple[str, None]]:
    """Yield the names that a statement binds, or an expression changes, in ways that are not followed."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.ExceptHandler(name=str(name)):
            yield name, None
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name, None
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in _CHANGES:
            yield from ((name, None),) * 2


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, Bound]]:
    """Yield the names that an assignment binds: to the value, or to an entry of it; to None for nested targets."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, (ast.Tuple, ast.List)):
        for place, entry in enumerate(target.elts):
            if isinstance(entry, ast.Name):
                yield entry.id, Part(value, place, len(target.elts))
            else:
                yield from ((n.id, None) for n in ast.walk(entry) if isinstance(n, ast.Name))


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Bound]]:
    """Yield the names that an import binds, each with its path: `a.b` for a module, `a.b:c` for `from a.b import c`."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            top = alias.name.partition(".")[0]
            yield (alias.asname, Path(alias.name)) if alias.asname else (top, Path(top))
        return
    for alias in node.names:
        yield alias.asname or alias.name, Path(f"{'.' * node.level}{node.module or ''}:{alias.name}")


def full_path(path: Path, file: File) -> Path | None:
    """Return the absolute path of an imported name: `pkg.a.b` for `.a:b` in `pkg`; None if it leads out of it."""
    module, colon, name = path.name.partition(":")
    if not colon:
        return path
    if module.startswith("."):
        try:
            module = importlib.util.resolve_name(module, file.package)
        except ImportError:
            return None
    return Path(f"{module}.{name}")


def parameters_of(function: Defined) -> list[str]:
    """Return the names of all parameters of a function."""
    a = function.args
    return [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg)))]


def defaults_of(function: Defined) -> Iterator[tuple[str, ast.expr]]:
    """Yield the parameters that have a default, each with the expression of the default."""
    a = function.args
    positional = [*a.posonlyargs, *a.args]
    yield from ((p.arg, d) for p, d in zip(positional[len(positional) - len(a.defaults) :], a.defaults, strict=True))
    yield from ((p.arg, d) for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True) if d is not None)


def returned_by(function: Defined, by_yield: bool = False) -> ast.expr | None:
    """Return the expression that a function returns; with `by_yield`, the one that a fixture yields counts as well.

    None is returned if there is not exactly one `return` or `yield`, or if it has no expression. Inner functions are
    left out.
    """
    if isinstance(function, ast.Lambda):
        return function.body
    out: list[Any] = []
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom)):
            out.append(node.value if by_yield or isinstance(node, ast.Return) else None)
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)
    return out[0] if len(out) == 1 else None
