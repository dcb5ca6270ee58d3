"""What binds the names of a module, a class or a function, by its text."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

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
