"""What the files of the project do when they are imported: those that code comes from, and that these hold or import.

What a module does when it is imported (it registers a class, wraps a function, computes a table) stands in no function
that a rule reaches. So each statement that runs then counts, in all of these files, with the project's functions that
it calls. What others do counts where a rule reaches it (`Identity`), and so do values; a name that is bound to a
function, a literal or a module does nothing.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from ._homes import UnknownError, home_of, package_state

_FROM_OUTSIDE = frozenset(
    "open read_text read_bytes load loadtxt fromfile memmap import_module __import__ exec eval".split()
)
"""What Python and numpy offer to read files, and code that no statement names."""
_RULES = frozenset("custom_vjp custom_jvp jit checkpoint remat declare".split())
"""What JAX and certgrad make of a function, in which nothing of it runs,"""
_GIVEN = frozenset("defvjp defjvp defjvps defvmap def_vmap".split())
"""and what gives its rules to it."""


def sources_of(modules: Iterable[str], own: frozenset[str], since: float) -> tuple[str, list[Any]]:
    """A digest of what these modules do when they are imported, with all of the project's that they lead to, and of the
    installed packages that any of these leads to; and the functions and classes of the project that are called then.

    Modules were imported at `since` or later, in seconds of the clock. Raises UnknownError for a file that was written
    after that, as nobody knows which of its texts was imported.
    """
    read, waiting, packages = dict[str, str](), list(modules), set[str]()
    called: dict[int, Any] = {}
    while waiting:
        name = waiting.pop()
        module = sys.modules.get(name)
        if name in read or module is None:
            continue
        if (home := home_of(name, own)) != "own":
            packages |= {name.partition(".")[0]} if home == "installed" else set()
            continue
        path = Path(getattr(module, "__file__", None) or "")
        if not (path.suffix == ".py" and path.is_file()):
            read[name] = ""
            waiting += _held(module)
            continue
        status = path.stat()
        if status.st_mtime >= since:
            raise UnknownError(f"{path.name} was written while it was in use")
        file = _read(path, status.st_mtime_ns, status.st_size)
        read[name] = file.runs
        called |= {id(f): f for n in sorted(file.calls) if _is_own(f := _meant(module, n), own)}
        waiting += [*_held(module), *_named(file.imports, module), name.rpartition(".")[0]]
    states = [(package, package_state(package)) for package in sorted(_with_what_they_use(packages))]
    ran = sorted(called.values(), key=lambda f: f"{f.__module__}.{getattr(f, '__qualname__', '')}")
    return _digest(repr([sorted(read.items()), states]).encode()), ran


def _is_own(value: Any, own: frozenset[str]) -> bool:
    """A function or class of the project, which may do anything where it is called."""
    return isinstance(value, type | FunctionType) and home_of(value.__module__ or "", own) == "own"


def _meant(module: ModuleType, name: str) -> Any:
    """What a dotted name means in a module; of a method its function."""
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return getattr(found, "__func__", found)


def _with_what_they_use(packages: set[str]) -> set[str]:
    found, waiting = set[str](), list(packages)
    while waiting:
        if (package := waiting.pop()) not in found:
            found.add(package)
            waiting += _used_by(package)
    return {package for package in found if getattr(sys.modules.get(package), "__file__", None)}


@lru_cache(maxsize=256)
def _used_by(package: str) -> frozenset[str]:
    """The installed packages of which its modules that are loaded hold something."""
    loaded = [m for name, m in list(sys.modules.items()) if name.partition(".")[0] == package and m is not None]
    names = {name for module in loaded for name in _held(module)}
    return frozenset(name.partition(".")[0] for name in names if home_of(name) == "installed")


@dataclass(frozen=True)
class _File:
    """What counts of a file."""

    runs: str
    """A digest of what runs when it is imported."""
    calls: frozenset[str]
    """The dotted names of what is called then."""
    imports: tuple[tuple[str, int], ...]
    """What its statements import, wherever they stand: names, with the dots before them."""


@lru_cache(maxsize=4096)
def _read(path: Path, time: int, size: int) -> _File:
    tree = ast.parse(path.read_bytes())
    if reads := next((name for name in _at_import(tree) if name in _FROM_OUTSIDE), ""):
        raise UnknownError(f"{path.name} uses {reads} when it is imported: what comes of it stands in no module")
    imports = tuple(dict.fromkeys(_imports(tree)))
    running = _Running().visit(tree)
    called = [n.func for n in ast.walk(running) if isinstance(n, ast.Call)]
    called += [base for n in ast.walk(running) if isinstance(n, ast.ClassDef) for base in n.bases]
    runs = ast.dump(running).encode(errors="surrogatepass")
    return _File(_digest(runs), frozenset(map(_dotted, called)), imports)


def _digest(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=20).hexdigest()


def _dotted(node: ast.AST) -> str:
    """The name of what is called; of what a call returns, the name of that."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    if isinstance(node, ast.Call | ast.Subscript):
        return _dotted(node.func if isinstance(node, ast.Call) else node.value)
    return node.id if isinstance(node, ast.Name) else ""


class _Running(ast.NodeTransformer):
    """Leaves of a module what may do something when it is imported."""

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.AST]:
        """Its decorators and defaults."""
        given = [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
        running = [self.visit(one) for one in given if not (_makes_a_rule(one) or _literal(one))]
        return [ast.Expr(ast.Call(one, [], []) if one in node.decorator_list else one) for one in running]

    visit_FunctionDef = _function
    visit_AsyncFunctionDef = _function

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        given = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        return ast.Tuple([ast.Constant("lambda"), *map(self.visit, given)], ast.Load())

    def visit_Import(self, node: ast.Import) -> None:
        """The file of what it imports is read for itself."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """As an import."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if _literal(node.value) or _gives_rules(node.value) else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        bound = all(isinstance(target, ast.Name) for target in node.targets)
        return None if bound and _literal(node.value) else self.generic_visit(node)


def _literal(node: ast.AST) -> bool:
    kinds = ast.Constant | ast.Tuple | ast.List | ast.Dict | ast.Set | ast.UnaryOp | ast.expr_context | ast.unaryop
    return all(isinstance(part, kinds) for part in ast.walk(node))


def _named_last(node: ast.AST) -> str:
    """The last part of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _makes_a_rule(node: ast.AST) -> bool:
    """`jax.custom_vjp`, `partial(jax.jit, static_argnums=0)`, `certgrad.declare("n -> n")`."""
    if not isinstance(node, ast.Call):
        return _named_last(node) in (*_RULES, *_GIVEN)
    first, *rest = node.args or [ast.Name("")]
    given = [*rest, *(k.value for k in node.keywords)]
    if _named_last(node.func) == "partial":
        return _makes_a_rule(first) and all(map(_literal, given))
    return _named_last(node.func) in _RULES and all(map(_literal, [*(node.args and [first]), *given]))


def _gives_rules(node: ast.AST) -> bool:
    """`f.defvjp(fwd, bwd)`."""
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _named_last(node.func) in _GIVEN
    given = [*node.args, *(k.value for k in node.keywords)] if isinstance(node, ast.Call) and called else []
    return called and all(isinstance(one, ast.Name | ast.Lambda) or _literal(one) for one in given)


def _at_import(node: ast.AST) -> Iterator[str]:
    """The names that code uses which runs when its module is imported, but for what it calls."""
    if isinstance(node, ast.Name):
        yield node.id
    if isinstance(node, ast.Attribute):
        yield node.attr
    inside = "body" if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) else ""
    for name, value in ast.iter_fields(node):
        if name != inside:
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, ast.AST):
                    yield from _at_import(one)


def _imports(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            yield base, node.level
            yield from ((f"{base}.{alias.name}".strip("."), node.level) for alias in node.names)


def _named(imports: Iterable[tuple[str, int]], module: ModuleType) -> Iterator[str]:
    package = getattr(module, "__package__", None) or ""
    for name, level in imports:
        try:
            yield importlib.util.resolve_name("." * level + name, package) if level else name
        except ImportError:  # it leads nowhere, here too
            continue


def _held(module: ModuleType) -> Iterator[str]:
    """The modules that a module has under some name, and those of its functions, classes and objects."""
    for value in list(vars(module).values()):
        yield value.__name__ if isinstance(value, ModuleType) else _home(value)


def _home(value: Any) -> str:
    try:
        own = getattr(value, "__module__", None)
    except Exception:  # an object may answer any question with an error
        own = None
    return own if isinstance(own, str) else str(type(value).__module__)
