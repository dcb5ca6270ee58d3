"""Whether the import of a module changes anything beyond the project.

If an import only makes objects of the project, all that it does can be read in these objects afterwards. An import that
puts a function into a library, or registers something there, may change what a rule does, though no name in the rule
leads to it.

What is read is the source of the statements that run at the import, and of the functions of the project that these call
or hand on (to a call, as an argument), with all functions inside. A name that is bound once means what it means in the
module after the import. Whatever is not known to be harmless counts as an effect, so that an unknown call may cost an
entry of the cache, and never serves a wrong one.
"""

from __future__ import annotations

import ast
import builtins
import functools
import sys
from collections.abc import Callable, Iterable, Sequence
from enum import EnumMeta, IntEnum
from importlib.util import resolve_name
from types import FunctionType, MethodType, ModuleType
from typing import Any

import jax
import numpy as np

from certgrad.jaxpr.closures import captured, closed_over
from certgrad.obligations.generality.syntax import tree_of_code

from ._bindings import FUNCTIONS, Argument, Scope, bindings, makes_a_table, methods_in, returns_its_own, targets
from ._harmless import (
    DEFINE_RULES,
    FUNCTION_ATTRIBUTES,
    METHODS,
    REGISTERED,
    TAKES_FUNCTIONS,
    calls,
    decorates,
    is_keeper,
    is_listed,
    is_pure,
    is_super_call,
    keeps,
    sets_array_entries,
)
from ._homes import home_of
from ._outside import import_reads, tells

_TABLES = (dict, list, set)
_UNKNOWN = object()

TreeOf = Callable[[str], ast.Module | None]
"""tree_of(module) returns the syntax tree of a module of the project; None where it has no text."""


class _EffectError(Exception):
    """Code may change something beyond the project; the message says what."""


def effect_of(module: str, own: frozenset[str], tree_of: TreeOf) -> tuple[str, str]:
    """Return what the import of a module may do beyond the project, and what it may read there; "" for nothing.

    The packages in `own` are the project's; `tree_of` returns the syntax tree of a module of the project.
    """
    imported, tree = sys.modules.get(module), tree_of(module)
    if imported is None or tree is None:
        return "" if imported is not None and hasattr(imported, "__path__") else "it has no text", ""
    reader = _Reader(own, tree_of)
    try:
        reader.read(tree.body, Scope(vars(imported)))
    except _EffectError as error:
        return str(error), ""
    except Exception as error:  # an object may answer any question with an error
        return f"it cannot be read: {type(error).__name__}", ""
    return "", reader.reads


class _Use(IntEnum):
    """How a called function uses its arguments."""

    KEPT = 0
    """An argument is not called."""
    CALLED = 1
    """An argument may be called if it is a function."""
    ALL_CALLED = 2
    """An argument may be called whatever it is, and so may functions that it holds."""


class _Reader:
    """Reads code, and raises _EffectError at the first thing in it that is not known to be harmless."""

    def __init__(self, own: frozenset[str], tree_of: TreeOf) -> None:
        self.own, self.tree_of = own, tree_of
        self.calling: dict[ast.AST, bool] = {}
        """The functions that were read, each with whether it calls, or hands on, its arguments."""
        self.takers: set[ast.AST] = set()
        """The functions that were seen to call, or hand on, an argument while they were read."""
        self.parts: list[tuple[ast.AST, Scope]] | None = []
        """Functions that were given to rules, and are not run by any call so far; None once a call may run a rule."""
        self.reads = ""
        """What is read of the outside, in words: the first such thing; "" for nothing."""

    def read(self, nodes: Iterable[ast.AST], scope: Scope) -> None:
        for node in nodes:
            self._node(node, scope)

    def _node(self, node: ast.AST, scope: Scope) -> None:
        """Read what a node of syntax does when it runs. Raises _EffectError for a change beyond the project."""
        if isinstance(node, ast.Import | ast.ImportFrom):
            self.reads = self.reads or import_reads(node, lambda name: self._is_known(name, scope))
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            self._reads(node, scope)
        if isinstance(node, FUNCTIONS):
            a = node.args
            annotated = [x.annotation for x in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if x]
            # Defaults, annotations and decorators run where the function is defined.
            at_once = [*a.defaults, *a.kw_defaults, *annotated, getattr(node, "returns", None)]
            self.read(filter(None, at_once), scope)
            for decorator in getattr(node, "decorator_list", ()):
                self._call(decorator, [node], scope)
            if node in scope.parts and self.parts is not None and not any(map(self._is_method, DEFINE_RULES)):
                self.parts.append((node, scope))
            elif scope.whole:  # every other function counts as called; elsewhere a body does not run here
                self._body(node, scope)
        elif isinstance(node, ast.ClassDef):
            self._class(node, scope)
        elif scope.whole and isinstance(node, ast.Name | ast.Attribute) and self._names_own(node, scope):
            self._handed([node], scope, _Use.CALLED)  # a function that is named may be returned, and called later
        elif isinstance(node, ast.Call):
            arguments = [*node.args, *(k.value for k in node.keywords)]
            self.read(arguments, scope)
            self._call(node.func, arguments, scope)
        else:
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                self._adds_to(node.target.id, scope)
            for target in targets(node):
                if isinstance(target, ast.Attribute | ast.Subscript) and not self._is_own(target.value, scope):
                    raise _EffectError(f"it changes {ast.unparse(target)}")
            self.read(ast.iter_child_nodes(node), scope)

    def _reads(self, node: ast.Name | ast.Attribute, scope: Scope) -> None:
        """Note in `reads` if a name or attribute, which is not called here, is of the outside."""
        value = self._value(node, scope)
        if value is _UNKNOWN and isinstance(node, ast.Name) and node.id not in scope.local:
            value = scope.names.get(node.id)  # bound again, perhaps to the same
        if module := tells(value):
            self.reads = self.reads or f"it reads {module}"

    def _is_known(self, name: str, scope: Scope) -> bool | None:
        """Return whether the meaning of a name is known; None where it has none after the import."""
        if scope.local or scope.whole or not self._is_bound_once(name, scope):
            return False
        return True if name in scope.names or name == "*" else None

    def _body(self, node: ast.AST, scope: Scope) -> bool:
        """Read a function's body once; return whether it calls, or passes on, its arguments."""
        if node not in self.calling:
            self.calling[node] = True  # until all of it is read: it may call itself
            inner = scope.inside(node, whole=True)
            self.read([node.body] if isinstance(node, ast.Lambda) else node.body, inner)  # type: ignore[attr-defined]
            self.calling[node] = node in self.takers
            if self.calling[node]:  # the arguments that it calls may be its defaults
                self._handed([*node.args.defaults, *node.args.kw_defaults], scope, _Use.ALL_CALLED)  # type: ignore[attr-defined]
        return self.calling[node]

    def _run_rules(self) -> None:
        """Read the functions that were given to rules, as a call may run a rule, and differentiate it."""
        parts, self.parts = self.parts or [], None
        for node, scope in parts:
            self._body(node, scope)

    # --- what is changed ---

    def _adds_to(self, name: str, scope: Scope) -> None:
        """Read `x += …`, which changes a table in place. Raises _EffectError unless x was made here, or is no table."""
        tree = self.tree_of(scope.module)
        bound = scope.local.get(name, bindings(tree).get(name, []) if tree is not None else [])
        values = [value for value in bound if not isinstance(value, ast.Name)]
        plain = ast.Constant | ast.UnaryOp | ast.BinOp | ast.JoinedStr | ast.Tuple
        if not (values and all(isinstance(value, plain) or makes_a_table(value) for value in values)):
            raise _EffectError(f"it changes {name}")

    def _is_own(self, node: ast.expr, scope: Scope) -> bool:
        """Return whether the object that gets an attribute or an entry was made by the project."""
        root = node
        while isinstance(root, ast.Attribute | ast.Subscript):
            root = root.value
        if not isinstance(root, ast.Name):
            return False
        if root.id in scope.local:
            bound = scope.local[root.id]
            return root is node and (root.id in ("self", "cls") or all(map(makes_a_table, bound)))
        value = self._value(node, scope)
        if isinstance(value, FunctionType | ModuleType | type):
            return self._owns(value)
        if isinstance(value, _TABLES):
            return self._writes_table(node, scope)
        return isinstance(value, np.ndarray) or (value is not _UNKNOWN and self._owns(type(value)))

    def _writes_table(self, node: ast.expr, scope: Scope) -> bool:
        """Return whether a table, given by a name or attribute, is made in a module of the project or a class of it."""
        if isinstance(node, ast.Name):
            return self._table_in(scope.module, node.id)
        holder = self._value(node.value, scope) if isinstance(node, ast.Attribute) else None
        if isinstance(holder, ModuleType):
            return self._table_in(holder.__name__, node.attr)  # type: ignore[attr-defined]
        if not (isinstance(holder, type) and self._owns(holder)):
            return False
        tree = self.tree_of(holder.__module__)
        classes = [n for n in ast.walk(tree or ast.Module([], [])) if isinstance(n, ast.ClassDef)]
        bound = [b for n in classes if n.name == holder.__name__ for b in bindings(n).get(node.attr, [])]  # type: ignore[attr-defined]
        return bool(bound) and all(map(makes_a_table, bound))

    def _table_in(self, module: str, name: str) -> bool:
        """Return whether a name in a module of the project is bound to new tables only, there or where it is from."""
        tree = self.tree_of(module) if home_of(module, self.own) == "own" else None
        bound = bindings(tree).get(name, []) if tree is not None else []
        if len(bound) == 1 and isinstance(bound[0], ast.ImportFrom):
            original = next(a.name for a in bound[0].names if (a.asname or a.name) == name)
            package = getattr(sys.modules.get(module), "__package__", None)
            try:
                return self._table_in(resolve_name("." * bound[0].level + (bound[0].module or ""), package), original)
            except ImportError:
                return False
        return bool(bound) and all(map(makes_a_table, bound))

    # --- what is called ---

    def _call(self, callee: ast.expr, given: Sequence[ast.AST], scope: Scope) -> None:
        """Read a call of an expression, and what it may do with the arguments in `given`."""
        if isinstance(callee, ast.Call):
            self._node(callee, scope)
            self._call_of_result(callee, given, scope)
            return
        if isinstance(callee, ast.Name) and callee.id in scope.local:
            self._handed(given, scope, self._local(callee.id, scope))
            return
        value = self._value(callee, scope)
        if isinstance(callee, ast.Attribute):
            if not is_listed(value):
                self._node(callee.value, scope)
            harmless = callee.attr in METHODS and not self._is_method(callee.attr)
            if value is _UNKNOWN and (harmless or is_super_call(callee) or sets_array_entries(callee)):
                self._handed(given, scope, _Use.KEPT if callee.attr in TAKES_FUNCTIONS else _Use.CALLED)
                return
            if isinstance(getattr(value, "__self__", None), _TABLES) and not self._writes_table(callee.value, scope):
                raise _EffectError(f"it changes {ast.unparse(callee.value)}")
        if not self._registers(value, given, scope):
            self._handed(given, scope, self._run(value, ast.unparse(callee)))

    def _call_of_result(self, made: ast.Call, given: Sequence[ast.AST], scope: Scope) -> None:
        """Read a call of what another call, `made`, returns: `partial(f, x)(y)`, `jit(f)(x)`, a decorator's result."""
        keywords = [k.value for k in made.keywords]
        value = self._value(made.func, scope)
        if value is functools.partial and made.args:
            self._call(made.args[0], [*made.args[1:], *given, *keywords], scope)
        elif keeps(value):
            arguments = [*made.args, *keywords]
            if not (decorates(value) or all(self._is_option(a, scope) for a in arguments)):
                self._handed([*arguments, *given], scope, _Use.ALL_CALLED)
        elif isinstance(value, FunctionType) and self._owns(value) and returns_its_own(tree_of_code(value.__code__)):
            self._handed([*made.args, *keywords, *given], scope, self._result_use(value))
        else:
            raise _EffectError(f"it calls what {ast.unparse(made.func)} returns")

    def _is_option(self, node: ast.AST, scope: Scope) -> bool:
        """Return whether an argument is no function of the project, and holds none."""
        if isinstance(node, ast.Tuple | ast.List | ast.Dict | ast.Call):
            made_by = self._value(node.func, scope) if isinstance(node, ast.Call) else None
            parts = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr | ast.keyword)]
            parts = [n.value if isinstance(n, ast.keyword) else n for n in parts]
            return (made_by is None or keeps(made_by)) and all(self._is_option(part, scope) for part in parts)
        value = self._value(node, scope)
        harmless = value is not _UNKNOWN and (not callable(value) or keeps(value) or is_pure(value))
        return isinstance(node, ast.Constant | ast.UnaryOp) or (harmless and not isinstance(value, _TABLES))

    def _result_use(self, value: FunctionType) -> _Use:
        """Read a function whose result is called; return how it, or a function inside of it, uses its arguments."""
        node = tree_of_code(value.__code__)
        self._function(value)
        self._run_rules()
        functions = [n for n in ast.walk(node) if isinstance(n, FUNCTIONS)] if node is not None else []
        return _Use.ALL_CALLED if any(self.calling.get(n, True) for n in functions) else _Use.KEPT

    def _is_method(self, name: str) -> bool:
        """Return whether a class of the project has a method of this name."""
        modules = [n for n in list(sys.modules) if n.partition(".")[0] in self.own]
        return any(name in methods_in(tree) for n in modules if (tree := self.tree_of(n)) is not None)

    def _local(self, name: str, scope: Scope) -> _Use:
        """Read the call of a local variable, and return how it uses its arguments.

        An argument that is called makes its function a taker; that the argument calls none itself is seen where it is
        handed on (`_handed`). Raises _EffectError for other variables than arguments and functions.
        """
        for bound in scope.local[name]:
            if isinstance(bound, Argument):
                if self.calling.get(bound.of) is False:  # earlier calls were read as if it called no argument
                    raise _EffectError(f"it calls {name} in a rule")
                self.takers.add(bound.of)
            elif not isinstance(bound, FUNCTIONS):
                raise _EffectError(f"it calls {name}, which it computes")
        if functions := [bound for bound in scope.local[name] if isinstance(bound, FUNCTIONS)]:
            self._run_rules()
        return _Use.ALL_CALLED if any(self.calling.get(function, True) for function in functions) else _Use.KEPT

    def _handed(self, given: Iterable[ast.AST | None], scope: Scope, use: _Use) -> None:
        """Read what arguments may do that a call uses in this way.

        A function that may be called with anything (`ALL_CALLED`) must be known, and call none of its own arguments.
        """
        strict = use is _Use.ALL_CALLED
        for argument in given:
            if isinstance(argument, ast.Name | ast.Attribute):
                self._named(argument, scope, use)
            elif isinstance(argument, FUNCTIONS) and use is not _Use.KEPT:
                if self._body(argument, scope) and strict:
                    raise _EffectError("it hands on a function that calls what it is given")
            elif strict and argument is not None and not isinstance(argument, FUNCTIONS):
                self._written(argument, scope)

    def _named(self, node: ast.Name | ast.Attribute, scope: Scope, use: _Use) -> None:
        """Read what an argument may do that is a name or an attribute."""
        strict, shown = use is _Use.ALL_CALLED, ast.unparse(node)
        if isinstance(node, ast.Name) and node.id in scope.local:
            if use is not _Use.KEPT:
                self._run_rules()
            if strict and self._local(node.id, scope) is _Use.ALL_CALLED:
                raise _EffectError(f"it hands on {shown}, which calls what it is given")
            return
        value = self._value(node, scope)
        if isinstance(value, ModuleType) or (strict and value is _UNKNOWN):
            raise _EffectError(f"it hands on {shown}")
        if use is not _Use.KEPT and callable(value) and value is not _UNKNOWN and not keeps(value):
            if self._run(value, shown) is _Use.ALL_CALLED and strict:
                raise _EffectError(f"it hands on {shown}, which calls what it is given")

    def _written(self, node: ast.AST, scope: Scope) -> None:
        """Read an argument that is neither a name nor a function: what it holds, or returns, may be called."""
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            self._handed(node.elts, scope, _Use.ALL_CALLED)
        elif isinstance(node, ast.Dict):
            self._handed([*node.keys, *node.values], scope, _Use.ALL_CALLED)
        elif isinstance(node, ast.IfExp):
            self._handed([node.body, node.orelse], scope, _Use.ALL_CALLED)
        elif isinstance(node, ast.Call):
            made_by = self._value(node.func, scope)
            if keeps(made_by):
                self._handed([*node.args, *(k.value for k in node.keywords)], scope, _Use.ALL_CALLED)
            elif not is_pure(made_by) or made_by in (getattr, next, iter, super):
                raise _EffectError(f"it hands on what {ast.unparse(node.func)} returns")
        elif not isinstance(node, ast.Constant | ast.JoinedStr | ast.Compare | ast.BinOp | ast.UnaryOp):
            raise _EffectError(f"it hands on {ast.unparse(node)}")

    def _run(self, value: Any, name: str) -> _Use:
        """Read a call of a value, and return how it uses its arguments. Raises _EffectError for an unknown value.

        `name` is how messages call it. Of a class the methods are read by which Python makes an object, and those that
        Python may call without a call in the code.
        """
        if keeps(value):
            return _Use.KEPT
        if isinstance(value, MethodType) and isinstance(value.__func__, FunctionType):
            value = value.__func__
        if isinstance(value, functools.partial):
            callables = [v for v in (value.func, *value.args, *value.keywords.values()) if callable(v)]
            if isinstance(value.func, ModuleType) or any(self._run(v, name) is _Use.ALL_CALLED for v in callables):
                raise _EffectError(f"it calls {name}")
            return _Use.ALL_CALLED
        if isinstance(value, type) and self._owns(value):
            maker: type = type(value)
            uses = [self._hook(kind, hook) for kind in value.__mro__ for hook in ("__new__", "__init__", "__setattr__")]
            uses += [self._hook(kind, hook) for kind in value.__mro__ if self._owns(kind) for hook in _unasked(kind)]
            return max([*uses, *(self._hook(kind, "__call__") for kind in maker.__mro__)])
        if isinstance(value, FunctionType) and self._owns(value):
            return self._function(value)
        functions = [] if self._owns(type(value)) else [getattr(value, name, None) for name in FUNCTION_ATTRIBUTES]
        if functions := [f for f in functions if isinstance(f, FunctionType) and self._owns(f)]:
            return max([self._function(function) for function in functions])
        if isinstance(getattr(value, "__self__", None), _TABLES):
            return _Use.KEPT
        if value is _UNKNOWN or not is_pure(value) or any(callable(v) and self._owns(v) for v in captured(value)):
            raise _EffectError(f"it calls {name}")
        return _Use.ALL_CALLED if calls(value) else _Use.CALLED

    def _function(self, function: FunctionType) -> _Use:
        """Read a function of the project; return how it uses its arguments."""
        if function.__code__.co_filename.startswith("<"):  # generated, as for dataclasses
            return _Use.KEPT
        node = tree_of_code(function.__code__)
        if node is None:
            raise _EffectError(f"it calls {function.__qualname__}, of which there is no text")
        calling = self._body(node, Scope({**function.__globals__, **dict(closed_over(function))}))
        return _Use.ALL_CALLED if calling else _Use.KEPT

    # --- classes ---

    def _class(self, node: ast.ClassDef, scope: Scope) -> None:
        """Read what runs when a class is made: its decorators, its bases' hooks, its metaclass and its body."""
        for decorator in node.decorator_list:
            self._call(decorator, [node], scope)
        self.read([*node.bases, *(k.value for k in node.keywords)], scope)
        makers = [self._value(k.value, scope) for k in node.keywords if k.arg == "metaclass"]
        for base in node.bases:
            kind = self._value(base.value if isinstance(base, ast.Subscript) else base, scope)
            if getattr(kind, "__module__", "") in ("typing", "typing_extensions"):
                continue
            if not isinstance(kind, type):
                raise _EffectError(f"it makes a class of {ast.unparse(base)}")
            makers.append(type(kind))
            for ancestor in kind.__mro__:
                self._hook(ancestor, "__init_subclass__")
        for maker in makers:
            if not isinstance(maker, type):
                raise _EffectError(f"nobody knows what makes the class {node.name}")
            for ancestor in maker.__mro__:
                for name in ("__new__", "__init__", "__prepare__"):
                    self._hook(ancestor, name)
        body_scope = scope.inside(node, scope.whole)
        self.read(node.body, body_scope)
        for inner in node.body:  # members of an enumeration are made with the class
            if isinstance(inner, FUNCTIONS) and any(issubclass(m, EnumMeta) for m in makers if isinstance(m, type)):
                self._body(inner, body_scope)

    def _hook(self, kind: type, name: str) -> _Use:
        """Read the method `name` of a class, which Python calls itself; return how it uses its arguments.

        Raises _EffectError for a method of another library than those that are known to be harmless.
        """
        member = vars(kind).get(name)
        function = getattr(member, "__func__", getattr(member, "fget", member))
        if isinstance(function, FunctionType) and self._owns(function):
            return self._function(function)
        maker = function if isinstance(function, FunctionType) else kind
        if member is not None and not (is_pure(maker) or maker.__module__ in ("builtins", "abc") or is_keeper(maker)):
            raise _EffectError(f"it makes a class or an object by {kind.__module__}.{kind.__qualname__}")
        return _Use.KEPT

    # --- what is known ---

    def _owns(self, value: Any) -> bool:
        module = value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", None))
        return home_of(module, self.own) == "own"

    def _names_own(self, node: ast.AST, scope: Scope) -> bool:
        """Return whether an expression names a function or class of the project that is no local variable."""
        if isinstance(node, ast.Name) and node.id in scope.local:
            return False  # the body of a local function is read where it is defined
        value = self._value(node, scope)
        return callable(value) and self._owns(value)

    def _registers(self, value: Any, given: Sequence[ast.AST], scope: Scope) -> bool:
        """Return whether a call registers a class of the project with JAX, or configures JAX: both are in the key."""
        if getattr(value, "__self__", None) is jax.config:
            return getattr(value, "__name__", "") == "update"
        name = getattr(value, "__name__", "")
        if name not in REGISTERED or value is not getattr(jax.tree_util, name) or not given:
            return False
        return isinstance(given[0], ast.ClassDef) or self._owns(self._value(given[0], scope))

    def _value(self, node: ast.AST, scope: Scope) -> Any:
        """Return the value of a dotted name; `_UNKNOWN` where it may change over time, or a look-up may run code."""
        if isinstance(node, ast.Name):
            if node.id in scope.local or not self._is_bound_once(node.id, scope):
                return _UNKNOWN
            return scope.names.get(node.id, getattr(builtins, node.id, _UNKNOWN))
        if not isinstance(node, ast.Attribute):
            return _UNKNOWN
        value = self._value(node.value, scope)
        if isinstance(value, ModuleType | type) or value is jax.config or isinstance(value, _TABLES):
            return getattr(value, node.attr, _UNKNOWN)
        method = getattr(type(value), node.attr, None)
        if value is _UNKNOWN or not (self._owns(type(value)) and isinstance(method, FunctionType)):
            return _UNKNOWN
        return MethodType(method, value)

    def _is_bound_once(self, name: str, scope: Scope) -> bool:
        """Return whether at most one statement of the module binds a name, of `from … import *` too."""
        tree = self.tree_of(scope.module)
        if tree is None:
            return False
        bound = bindings(tree)
        several_stars = name not in bound and name in scope.names and len(bound.get("*", ())) > 1
        return len(bound.get(name, ())) <= 1 and not several_stars


_SHOWN = frozenset("__init__ __new__ __setattr__ __repr__ __str__ __hash__ __call__ __init_subclass__".split())


def _unasked(kind: type) -> list[str]:
    """Return the methods of a class that Python may call where the code has no call: operators, properties."""
    special = [
        name for name, member in vars(kind).items() if isinstance(member, FunctionType) and name.startswith("__")
    ]
    hooks = [name for name in ("__post_init__", "__check_init__", "__set_name__") if name in vars(kind)]
    properties = [name for name, member in vars(kind).items() if isinstance(member, property)]
    return [name for name in dict.fromkeys([*special, *hooks, *properties]) if name not in _SHOWN]
