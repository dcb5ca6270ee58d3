"""What expressions in the text of a project lead to: values, functions, the rule whose calls are looked for."""

from __future__ import annotations

import ast
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from types import ModuleType
from typing import Any

from certgrad.obligations.generality.syntax import name_of

from ._call_files import File, conftests
from ._call_scopes import Defined, Parameter, Part, Scope, defaults_of, full_path, parameters_of, returned_by
from ._call_values import (
    RNG,
    Array,
    Path,
    Plain,
    Row,
    Value,
    arithmetic,
    attribute,
    called,
    compared,
    items,
    method,
)
from ._containers import classes_of
from ._layers import bound_by, unwrapped
from ._structure import field_names

MOST_STEPS = 100_000
"""So many expressions are evaluated for one rule."""
MOST_ROWS = 16
"""So many rows of a `parametrize` are read."""
DEEPEST = 4
"""So many functions hand on what they are called with."""
_AS_IT_IS = frozenset(
    "jax.jit jax.grad jax.value_and_grad jax.checkpoint jax.remat jax.jacobian jax.jacrev jax.jacfwd jax.hessian "
    "jax.make_jaxpr equinox.filter_jit equinox.filter_grad equinox.filter_value_and_grad jax.custom_vjp "
    "jax.custom_jvp".split()
)
"""What takes a function and gives one of the same arguments."""
_MAPS = frozenset(("jax.vmap", "jax.pmap"))
_PARTIAL = "functools.partial"


class Rule:
    """The rule, where an expression leads to it."""


RULE = Rule()


@dataclass(frozen=True, eq=False)
class Function:
    """A function that the text defines."""

    node: Defined
    scope: Scope


@dataclass(frozen=True)
class Under:
    """A function under a transformation: of `vmap` the axes, of `partial` what it gives."""

    inner: Any
    axes: Value = None
    mapped: bool = False
    args: tuple[Value, ...] = ()
    named: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True)
class Arguments:
    """Those of a call. `whole` says that no others are given in a way that cannot be read."""

    args: tuple[Value, ...]
    named: Mapping[str, Value]
    whole: bool = True


class Expressions:
    """Evaluates expressions in the files of a project, as far as their text says what they are."""

    def __init__(self, rule: Any, home: str, files: Sequence[File]) -> None:
        """`home` is the module of the rule. It and the packages that it is in are imported, and asked for names."""
        self.rule, self.custom = rule, unwrapped(rule)
        self._partly_given = bound_by(rule) != (0, frozenset())
        self.files = {file.name: file for file in files}
        parts = home.split(".")
        names = [".".join(parts[:k]) for k in range(len(parts), 0, -1)]
        homes = {getattr(sys.modules.get(name), "__file__", None) or "": name for name in names}
        self.modules: dict[str, ModuleType] = {
            place: sys.modules[name] for file, name in homes.items() if (place := os.path.realpath(file)) in self.files
        }
        """The module of the rule and its packages, by the full paths of their files."""
        several = Counter(file.module for file in files)
        self.named = {file.module: file for file in files if several[file.module] == 1}
        self.named |= {module.__name__: self.files[place] for place, module in self.modules.items()}
        """The files by the names of their modules."""
        self.steps = 0
        self.entered: list[ast.AST] = []
        """The functions whose calls are being read."""
        self._named: set[tuple[int, str]] = set()

    def is_rule(self, value: Any) -> bool:
        """The rule itself, or `jit` of it."""
        for _ in range(4):
            if value is self.rule or (value is self.custom and not self._partly_given):
                return True
            if type(value).__name__ != "PjitFunction":
                return False
            value = getattr(value, "__wrapped__", None)
        return False

    def arguments(self, node: ast.Call, scope: Scope) -> Arguments:
        """What a call gives, up to the first that cannot be counted."""
        args: list[Value] = []
        for one in node.args:
            if isinstance(one, ast.Starred):
                row = items(self.value(one.value, scope))
                if not row:
                    return Arguments(tuple(args), {}, whole=False)
                args += row
            else:
                args.append(self.value(one, scope))
        named = {k.arg: self.value(k.value, scope) for k in node.keywords if k.arg is not None}
        return Arguments(tuple(args), named, all(k.arg is not None for k in node.keywords))

    # --- what names and expressions are ---

    def scope_in_call(self, target: Function, given: Arguments) -> Scope | None:
        """The scope of a function in a call; None where it does not take these arguments."""
        a = target.node.args
        places = [p.arg for p in (*a.posonlyargs, *a.args)]
        names = parameters_of(target.node)
        if (len(given.args) > len(places) and a.vararg is None) or any(n not in names for n in given.named):
            return None
        values: dict[str, Value] = dict.fromkeys(names)
        if given.whole:
            values |= {name: self.value(default, target.scope) for name, default in defaults_of(target.node)}
        values |= {**dict(zip(places, given.args, strict=False)), **given.named}
        if a.vararg is not None and given.whole:
            values[a.vararg.arg] = Row(given.args[len(places) :])
        return Scope(target.node, target.scope, target.scope.file, values)

    def value(self, node: ast.expr, scope: Scope) -> Value:
        """What an expression is; None where its text does not say it."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            return None
        if isinstance(node, ast.Constant):
            return Plain(node.value) if type(node.value) in (int, float, bool, str, type(None)) else None
        if isinstance(node, ast.Name):
            return self._name(node.id, scope)
        if isinstance(node, ast.Attribute):
            return self._attribute(self.value(node.value, scope), node.attr)
        if isinstance(node, (ast.Tuple, ast.List)):
            return self._row(node, scope)
        if isinstance(node, ast.Dict):
            keys = tuple(k.value for k in node.keys if isinstance(k, ast.Constant) and isinstance(k.value, str))
            return Row(tuple(self.value(v, scope) for v in node.values), keys) if len(keys) == len(node.keys) else None
        if isinstance(node, ast.Lambda):
            return Function(node, scope)
        if isinstance(node, ast.UnaryOp):
            return _negated(node.op, self.value(node.operand, scope))
        if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.MatMult):
            left, right = self.value(node.left, scope), self.value(node.right, scope)
            return arithmetic(left, right, isinstance(node.op, ast.Div), isinstance(node.op, ast.Add))
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return compared(self.value(node.left, scope), self.value(node.comparators[0], scope))
        if isinstance(node, ast.Subscript):
            return self._entry(self.value(node.value, scope), node.slice, scope)
        return self._result(node, scope) if isinstance(node, ast.Call) else None

    def _name(self, name: str, scope: Scope) -> Value:
        place = scope.bound(name)
        if place is None:
            return Path(name) if name in ("float", "int", "len", "bool") else None
        home, bound = place
        if isinstance(bound, Parameter):
            value = home.given.get(name)
            return Path(RNG) if value is None and name == RNG else value
        if home.outer is None and self.is_rule(vars(self.modules.get(home.file.name, ast)).get(name)):
            return RULE
        if isinstance(bound, Defined):
            plain = isinstance(bound, ast.Lambda) or all(self._keeps_arguments(d, home) for d in bound.decorator_list)
            return Function(bound, home) if plain else None
        if isinstance(bound, Path):
            path = full_path(bound, home.file)
            return self._offered(path) if path is not None else None
        key = id(home), name
        expression = bound.of if isinstance(bound, Part) else bound
        if expression is None or key in self._named:
            return None
        self._named.add(key)
        try:
            value = self.value(expression, home)
        finally:
            self._named.discard(key)
        if isinstance(bound, Part):
            return items(value)[bound.place] if len(items(value)) == bound.count else None
        return value

    def _keeps_arguments(self, decorator: ast.expr, scope: Scope) -> bool:
        """What is decorated takes the arguments of its definition."""
        node = decorator
        if isinstance(node, ast.Call):
            partial = self.value(node.func, scope) == Path(_PARTIAL) and node.args
            node = node.args[0] if partial else node.func
        path = self.value(node, scope)
        return isinstance(path, Path) and path.name in _AS_IT_IS

    def _offered(self, path: Path) -> Value:
        """What a path leads to: the rule, a function of the project, or what a library offers under it."""
        module, _, name = path.name.rpartition(".")
        file = self.named.get(module)
        if file is None or path.name in self.named:
            return path
        scope, key = Scope(file.tree, None, file), (id(file), name)
        if scope.bound(name) is None or key in self._named:
            return None
        self._named.add(key)
        try:
            return self._name(name, scope)
        finally:
            self._named.discard(key)

    def _attribute(self, value: Value, name: str) -> Value:
        if isinstance(value, Path):
            return self._offered(Path(f"{value.name}.{name}"))
        if isinstance(value, Row):
            return _named_part(value, name)
        return attribute(value, name) if isinstance(value, Array) else None

    def _row(self, node: ast.Tuple | ast.List, scope: Scope) -> Value:
        values: list[Value] = []
        for one in node.elts:
            if isinstance(one, ast.Starred):
                value = self.value(one.value, scope)
                if not items(value):
                    return None
                values += items(value)
            else:
                values.append(self.value(one, scope))
        if isinstance(node, ast.Tuple) and all(isinstance(v, Plain) for v in values):
            return Plain(tuple(v.value for v in values))
        return Row(tuple(values))

    def _entry(self, value: Value, index: ast.expr, scope: Scope) -> Value:
        """What an index picks: of a tuple an entry or several, of an array one with fewer or more axes."""
        if isinstance(value, Array):
            parts = index.elts if isinstance(index, ast.Tuple) else [index]
            steps = [self._axes_added(part, scope) for part in parts]
            if value.rank is None or None in steps:
                return None
            rank = value.rank + sum(s for s in steps if s is not None)
            return Array(rank, value.kind) if rank >= 0 else None
        if isinstance(value, Row) and isinstance(index, ast.Constant) and isinstance(index.value, str):
            return _named_part(value, index.value)
        row = items(value)
        if isinstance(index, ast.Slice):
            ends = [None if e is None else self._integer(e, scope) for e in (index.lower, index.upper, index.step)]
            given = [e is not None for e in (index.lower, index.upper, index.step)]
            return Row(row[slice(*ends)]) if row and given == [k is not None for k in ends] else None
        place = self._integer(index, scope)
        return row[place] if place is not None and -len(row) <= place < len(row) else None

    def _axes_added(self, index: ast.expr, scope: Scope) -> int | None:
        if isinstance(index, ast.Slice) or (isinstance(index, ast.Constant) and index.value is Ellipsis):
            return 0
        value = self.value(index, scope)
        if value == Plain(None):
            return 1
        return -1 if self._integer(index, scope) is not None else None

    def _integer(self, node: ast.expr, scope: Scope) -> int | None:
        value = self.value(node, scope)
        return value.value if isinstance(value, Plain) and type(value.value) is int else None

    def _result(self, node: ast.Call, scope: Scope) -> Value:
        """What a call returns; of a transformation, the function under it."""
        given = self.arguments(node, scope)
        if isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value, scope)
            if isinstance(base, Array):
                return method(base, node.func.attr, given.args, given.named) if given.whole else None
        target = self.value(node.func, scope)
        if isinstance(target, Path):
            made = self._transformed(target.name, given)
            return made if made is not None else called(target.name, given.args, given.named) if given.whole else None
        if isinstance(target, Function) and target.node not in self.entered and len(self.entered) < DEEPEST:
            inner, result = self.scope_in_call(target, given), returned_by(target.node)
            if inner is not None and result is not None:
                self.entered.append(target.node)
                try:
                    return self.value(result, inner)
                finally:
                    self.entered.pop()
        return self._object(node, given) if target is None and given.whole else None

    def _object(self, node: ast.Call, given: Arguments) -> Value:
        """An object of a named tuple or a dataclass that the rule's code or module names."""
        kind = self._classes.get(name_of(node.func))
        values = {**dict(zip(field_names(kind), given.args, strict=False)), **given.named}
        return Row(tuple(values.values()), tuple(values)) if kind is not None else None

    @cached_property
    def _classes(self) -> Mapping[str, type]:
        return classes_of(self.rule)

    def _transformed(self, path: str, given: Arguments) -> Value:
        inner = given.args[0] if given.args else None
        if not isinstance(inner, (Rule, Function, Under)):
            return None
        if path in _MAPS:
            if not given.whole or {*given.named} - {"in_axes", "out_axes"} or len(given.args) > 3:
                return None
            axes = given.named.get("in_axes", given.args[1] if len(given.args) > 1 else Plain(0))
            return Under(inner, axes, mapped=True)
        if path == _PARTIAL:
            return Under(inner, args=given.args[1:], named=(*given.named.items(),)) if given.whole else None
        return inner if path in _AS_IT_IS else None

    # --- what pytest gives ---

    def given_by_pytest(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope, marks: Sequence[ast.expr]
    ) -> Iterator[dict[str, Value]]:
        """The parameters of a function that nobody calls: rows of `parametrize`, fixtures, defaults."""
        rows = [rows for mark in marks if (rows := self._rows(mark, scope)) is not None]
        names = {name for some in rows for name in some[0]}
        given: dict[str, Value] = dict.fromkeys(parameters_of(node))
        given |= {name: self.value(default, scope) for name, default in defaults_of(node)}
        given |= {name: self._fixture(name, scope) for name in given if given[name] is None and name not in names}
        for chosen in product(*(some for some in rows if some)):
            yield given | {name: value for one in chosen for name, value in one.items() if name in given}

    def _rows(self, mark: ast.expr, scope: Scope) -> list[dict[str, Value]] | None:
        """The rows of a `parametrize`; None for another decorator."""
        if not isinstance(mark, ast.Call) or len(mark.args) < 2:
            return None
        if self.value(mark.func, scope) != Path("pytest.mark.parametrize"):
            return None
        names = self.value(mark.args[0], scope)
        text = names.value if isinstance(names, Plain) else None
        named = (
            [n.strip() for n in text.split(",")]
            if isinstance(text, str)
            else [one.value for one in items(names) if isinstance(one, Plain)]
        )
        listed = mark.args[1].elts if isinstance(mark.args[1], (ast.List, ast.Tuple)) else None
        values = items(self.value(mark.args[1], scope)) if listed is None else [self._row_of(e, scope) for e in listed]
        rows = [(v,) if len(named) == 1 else items(v) for v in values][:MOST_ROWS]
        unknown: dict[str, Value] = dict.fromkeys(named)
        return [dict(zip(named, row, strict=True)) if len(row) == len(named) else unknown for row in rows] or [unknown]

    def _row_of(self, node: ast.expr, scope: Scope) -> Value:
        """A row of values, also as `pytest.param` says it."""
        if isinstance(node, ast.Call) and self.value(node.func, scope) == Path("pytest.param"):
            values = tuple(self.value(one, scope) for one in node.args)
            return values[0] if len(values) == 1 else Row(values)
        return self.value(node, scope)

    def _fixture(self, name: str, scope: Scope) -> Value:
        """What a fixture returns, in the file or in a `conftest.py` above it."""
        for file in (scope.file, *conftests(scope.file, self.files)):
            module = Scope(file.tree, None, file)
            place = module.bound(name)
            node = place[1] if place is not None else None
            if not isinstance(node, ast.FunctionDef) or not any(
                self._is_fixture(d, module) for d in node.decorator_list
            ):
                continue
            result = returned_by(node, by_yield=True)
            if result is None or node in self.entered:
                return None
            self.entered.append(node)
            given = {n: self._fixture(n, module) for n in parameters_of(node)}
            try:
                return self.value(result, Scope(node, module, file, given))
            finally:
                self.entered.pop()
        return None

    def _is_fixture(self, decorator: ast.expr, scope: Scope) -> bool:
        node = decorator.func if isinstance(decorator, ast.Call) else decorator
        return self.value(node, scope) == Path("pytest.fixture")


def _named_part(value: Row, name: str) -> Value:
    return dict(zip(value.names, value.items, strict=False)).get(name)


def _negated(operator: ast.unaryop, value: Value) -> Value:
    if isinstance(value, Plain) and isinstance(operator, ast.USub) and type(value.value) in (int, float):
        return Plain(-value.value)
    return value if isinstance(value, Array) and isinstance(operator, (ast.USub, ast.Invert)) else None


def inside(under: Under, given: Arguments) -> Arguments:
    """The arguments that a function under a transformation is called with."""
    if not under.mapped:
        return Arguments((*under.args, *given.args), {**dict(under.named), **given.named}, given.whole)
    each = items(under.axes) or (under.axes,) * len(given.args)
    if len(each) != len(given.args):
        each = (None,) * len(given.args)
    args = tuple(_mapped(value, axis) for value, axis in zip(given.args, each, strict=True))
    return Arguments(args, {name: _mapped(value, Plain(0)) for name, value in given.named.items()}, given.whole)


def _mapped(value: Value, axis: Value) -> Value:
    """What `vmap` hands on of an argument, along an axis of it."""
    if axis == Plain(None):
        return value
    if not isinstance(value, Array) or not value.rank or not (isinstance(axis, Plain) and type(axis.value) is int):
        return None
    return Array(value.rank - 1, value.kind)
