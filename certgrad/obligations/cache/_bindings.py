"""What binds the names of a module, a class or a function, by its text, and what they mean where code runs."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from ._harmless import DEFINE_RULES

FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_DISPLAYS = ast.Dict | ast.List | ast.Set | ast.DictComp | ast.ListComp | ast.SetComp
_MAKE_TABLES = frozenset("dict list set defaultdict OrderedDict deque Counter".split())


def arguments_of(node: ast.AST) -> list[str]:
    """The names of a function's arguments, but for those that take several."""
    if not isinstance(node, FUNCTIONS):
        return []
    return [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]


@lru_cache(maxsize=4096)
def bindings(tree: ast.AST) -> Mapping[str, Sequence[ast.AST]]:
    """Return the statements that bind each name of a module, a class or a function; those in a loop count twice."""
    bound: dict[str, list[ast.AST]] = {}
    imported: set[str] = set()

    def add(name: str, *nodes: ast.AST) -> None:
        bound.setdefault(name, []).extend(nodes)

    def visit(node: ast.AST, times: int) -> None:
        """Add what a node binds, each as often as it may run: twice inside a loop."""
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                same = isinstance(node, ast.Import) and not alias.asname  # `import a` and `import a.b` bind the same
                if not (same and name in imported):
                    add(name, *[node] * times)
                imported.update([name] if same else [])
            return
        if isinstance(node, FUNCTIONS | ast.ClassDef):
            if not isinstance(node, ast.Lambda):
                add(node.name, *[node] * times)
            for inner in ast.walk(node):  # `global x` inside
                if isinstance(inner, ast.Global):
                    for name in inner.names:
                        add(name, inner)
            for decorator in getattr(node, "decorator_list", ()):
                visit(decorator, times)
            return
        if isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) for t in node.targets):
            for target in node.targets:
                add(target.id, *[node.value] * times)  # type: ignore[attr-defined]
            visit(node.value, times)
            return
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if node.value is not None:
                add(node.target.id, *[node.value] * times)
                visit(node.value, times)
            return
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            add(node.id, node, node)
        if isinstance(node, ast.ExceptHandler) and node.name:
            add(node.name, node, node)
        if isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
            add(node.name, node, node)
        loop = isinstance(node, ast.For | ast.AsyncFor | ast.While)
        for child in ast.iter_child_nodes(node):
            visit(child, 2 if loop else times)

    body = getattr(tree, "body", tree)
    for node in body if isinstance(body, list) else [body]:
        visit(node, 1)
    return bound


@lru_cache(maxsize=4096)
def methods_in(tree: ast.Module) -> frozenset[str]:
    """The names of the methods of all classes in a module."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return frozenset(inner.name for node in classes for inner in node.body if isinstance(inner, ast.FunctionDef))


def targets(node: ast.AST) -> Iterator[ast.AST]:
    """Yield each part of what a statement assigns to or deletes."""
    waiting: list[ast.AST | None] = []
    if isinstance(node, ast.Assign | ast.Delete):
        waiting = [*node.targets]
    elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For | ast.AsyncFor | ast.comprehension):
        waiting = [node.target]
    elif isinstance(node, ast.withitem):
        waiting = [node.optional_vars]
    while waiting:
        target = waiting.pop()
        if isinstance(target, ast.Tuple | ast.List):
            waiting += target.elts
        elif isinstance(target, ast.Starred):
            waiting.append(target.value)
        elif target is not None:
            yield target


@lru_cache(maxsize=4096)
def parts_of_rules(node: ast.AST) -> frozenset[ast.AST]:
    """Return the functions inside of a function that it only gives to rules (`rule.defvjp(fwd, bwd)`)."""
    if not isinstance(node, FUNCTIONS):
        return frozenset()
    inside = [*ast.walk(node)]
    calls = [n for n in inside if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
    calls = [n for n in calls if n.func.attr in DEFINE_RULES]  # type: ignore[attr-defined]
    given = [value for n in calls for value in (*n.args, *(k.value for k in n.keywords))]
    times_given = Counter(n.id for n in given if isinstance(n, ast.Name))
    times_read = Counter(n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    named = [n for n in inside if isinstance(n, ast.FunctionDef) and n is not node]
    parts = [n for n in named if n.name in times_given and times_read[n.name] == times_given[n.name]]
    return frozenset([*parts, *(n for n in given if isinstance(n, ast.Lambda))])


def makes_a_table(node: ast.AST) -> bool:
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _MAKE_TABLES
    return named or isinstance(node, _DISPLAYS)


def returns_its_own(node: ast.AST | None) -> bool:
    """Return whether a function returns only its arguments or what is written inside of it, and nothing that it looks
    up.
    """
    if not isinstance(node, ast.FunctionDef):
        return False
    own = {*arguments_of(node)}
    bound = bindings(node)
    own |= {name for name, nodes in bound.items() if name not in own and all(isinstance(n, FUNCTIONS) for n in nodes)}
    returned = [n.value for n in _without_functions(node) if isinstance(n, ast.Return)]
    return all(isinstance(v, ast.Lambda) or (isinstance(v, ast.Name) and v.id in own) for v in returned if v)


def _without_functions(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, FUNCTIONS | ast.ClassDef):
            yield child
            yield from _without_functions(child)


@dataclass(frozen=True, eq=False)
class Argument:
    """An argument of a function."""

    of: ast.AST


@dataclass(frozen=True)
class Scope:
    """The meaning of names where code runs."""

    names: Mapping[str, Any]
    """The variables of the module, and what a function closes over."""
    local: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """What binds the variables of functions and classes,"""
    enclosing: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """and those of functions alone, which functions inside see."""
    whole: bool = False
    """The bodies of functions are read as well: they may be called."""
    parts: frozenset[ast.AST] = frozenset()
    """Of these functions those that are only given to rules."""

    @property
    def module(self) -> str:
        return str(self.names.get("__name__"))

    def inside(self, node: ast.AST, whole: bool) -> Scope:
        """The scope inside of a function or class."""
        arguments: dict[str, list[Any]] = {}
        if isinstance(node, FUNCTIONS):
            arguments = {name: [Argument(node)] for name in arguments_of(node)}
            arguments |= {one.arg: [None] for one in (node.args.vararg, node.args.kwarg) if one is not None}
        bound = bindings(node)
        outside = {n for inner in ast.walk(node) if isinstance(inner, ast.Global) for n in inner.names}
        inner = {name: [*arguments.get(name, ()), *bound.get(name, ())] for name in {*arguments, *bound} - outside}
        local = {**self.enclosing, **inner}
        enclosing = local if isinstance(node, FUNCTIONS) else self.enclosing
        return replace(self, local=local, enclosing=enclosing, whole=whole, parts=parts_of_rules(node))
