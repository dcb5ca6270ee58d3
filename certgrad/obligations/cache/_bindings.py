"""Which statements bind the names of a module, a class or a function, and what names mean where code runs."""

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
    """Return the names of a function's arguments, without `*args` and `**kwargs`; [] for a node that is no function."""
    if not isinstance(node, FUNCTIONS):
        return []
    return [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]


@lru_cache(maxsize=4096)
def bindings(tree: ast.AST) -> Mapping[str, Sequence[ast.AST]]:
    """Return the nodes that bind each name of a module, a class or a function: the statement, or the value assigned.

    So a name with one node in its list has one meaning. Listed twice is a binding that may run several times, as in a
    loop, and one whose value no single node gives: unpacking, `except … as`, a pattern. Further imports of one module
    by one name are left out.
    """
    bound: dict[str, list[ast.AST]] = {}
    imported: set[str] = set()

    def add(name: str, *nodes: ast.AST) -> None:
        bound.setdefault(name, []).extend(nodes)

    def visit(node: ast.AST, times: int) -> None:
        """Add what a node binds, `times` times: 1, or 2 inside a loop. Bodies of functions and classes are left out."""
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                plain = isinstance(node, ast.Import) and not alias.asname  # `import a` and `import a.b` both bind a
                if not (plain and name in imported):
                    add(name, *[node] * times)
                imported.update([name] if plain else [])
            return
        if isinstance(node, FUNCTIONS | ast.ClassDef):
            if not isinstance(node, ast.Lambda):
                add(node.name, *[node] * times)
            for inner in ast.walk(node):  # `global x` inside binds a name of the module
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
    """Return the names of the methods of all classes in a module."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return frozenset(inner.name for node in classes for inner in node.body if isinstance(inner, ast.FunctionDef))


def targets(node: ast.AST) -> Iterator[ast.AST]:
    """Yield each target that a statement assigns to or deletes: of `a, (b.c, *d) = x` the nodes of a, b.c and d."""
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
    """Return the functions inside of a function that it only gives to rules (`rule.defvjp(fwd, bwd)`).

    Such a function is read nowhere else by its name, or is a lambda in the call. Empty for other nodes than functions.
    """
    if not isinstance(node, FUNCTIONS):
        return frozenset()
    nodes = [*ast.walk(node)]
    calls = [n for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
    calls = [n for n in calls if n.func.attr in DEFINE_RULES]  # type: ignore[attr-defined]
    arguments = [value for n in calls for value in (*n.args, *(k.value for k in n.keywords))]
    times_given = Counter(n.id for n in arguments if isinstance(n, ast.Name))
    times_read = Counter(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef) and n is not node]
    parts = [n for n in functions if n.name in times_given and times_read[n.name] == times_given[n.name]]
    return frozenset([*parts, *(n for n in arguments if isinstance(n, ast.Lambda))])


def makes_a_table(node: ast.AST) -> bool:
    """Return whether an expression makes a new dictionary, list or set: `{}`, `[]`, `dict(…)`, `deque(…)`."""
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _MAKE_TABLES
    return named or isinstance(node, _DISPLAYS)


def returns_its_own(node: ast.AST | None) -> bool:
    """Return whether a function returns only its arguments, functions inside of it, or nothing: no value looked up."""
    if not isinstance(node, ast.FunctionDef):
        return False
    names = {*arguments_of(node)}
    bound = bindings(node)
    names |= {
        name for name, nodes in bound.items() if name not in names and all(isinstance(n, FUNCTIONS) for n in nodes)
    }
    returned = [n.value for n in _without_functions(node) if isinstance(n, ast.Return)]
    return all(isinstance(v, ast.Lambda) or (isinstance(v, ast.Name) and v.id in names) for v in returned if v)


def _without_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes inside of a node, but for functions and classes and what is in them."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, FUNCTIONS | ast.ClassDef):
            yield child
            yield from _without_functions(child)


@dataclass(frozen=True, eq=False)
class Argument:
    """An argument, as what binds a name; `of` is the function that has it."""

    of: ast.AST


@dataclass(frozen=True)
class Scope:
    """The meaning of names where code runs."""

    names: Mapping[str, Any]
    """The variables of the module, and what a function closes over."""
    local: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """By name, what binds the variables of the functions and classes around the code: nodes, or arguments."""
    enclosing: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """The part of `local` that a function inside sees: the variables of functions, not of classes."""
    whole: bool = False
    """Whether the bodies of functions are read as well, as these may be called."""
    parts: frozenset[ast.AST] = frozenset()
    """The functions inside that are only given to rules (see `parts_of_rules`)."""

    @property
    def module(self) -> str:
        return str(self.names.get("__name__"))

    def inside(self, node: ast.AST, whole: bool) -> Scope:
        """Return the scope inside of a function or class; `whole` is that of the new scope."""
        arguments: dict[str, list[Any]] = {}
        if isinstance(node, FUNCTIONS):
            arguments = {name: [Argument(node)] for name in arguments_of(node)}
            arguments |= {a.arg: [None] for a in (node.args.vararg, node.args.kwarg) if a is not None}
        bound = bindings(node)
        outside = {n for inner in ast.walk(node) if isinstance(inner, ast.Global) for n in inner.names}
        inner = {name: [*arguments.get(name, ()), *bound.get(name, ())] for name in {*arguments, *bound} - outside}
        local = {**self.enclosing, **inner}
        enclosing = local if isinstance(node, FUNCTIONS) else self.enclosing
        return replace(self, local=local, enclosing=enclosing, whole=whole, parts=parts_of_rules(node))
