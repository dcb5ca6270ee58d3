"""The values of expressions in the text of a project, by reading it: plain values, functions, the rule itself."""

from __future__ import annotations

import ast
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from typing import Any

from certgrad.obligations.generality.syntax import name_of
from certgrad.rules.declared.structure import field_names
from certgrad.rules.subject.containers import classes_of
from certgrad.rules.subject.layers import bound_by, unwrapped
from certgrad.rules.syntax.files import File, conftests
from certgrad.rules.syntax.scopes import (
    Bound,
    Defined,
    Parameter,
    Part,
    Scope,
    defaults_of,
    full_path,
    parameters_of,
    returned_by,
)
from certgrad.rules.syntax.values import (
    RNG,
    Array,
    Path,
    Plain,
    Row,
    Value,
    arithmetic,
    attribute,
    compared,
    entry,
    items,
    method,
    negated,
    value_of_call,
)

MOST_STEPS = 100_000
"""At most this many expressions are evaluated for one rule."""
MOST_ROWS = 16
"""At most this many rows of a `parametrize` are read."""
DEEPEST = 4
"""Calls are followed through at most this many functions that pass their arguments on."""
_AS_IT_IS = frozenset(
    "jax.jit jax.grad jax.value_and_grad jax.checkpoint jax.remat jax.jacobian jax.jacrev jax.jacfwd jax.hessian "
    "jax.make_jaxpr equinox.filter_jit equinox.filter_grad equinox.filter_value_and_grad jax.custom_vjp "
    "jax.custom_jvp".split()
)
"""Transformations that take a function and return one of the same arguments."""
_MAPS = frozenset(("jax.vmap", "jax.pmap"))
_PARTIAL = "functools.partial"


class Rule:
    """The value of an expression that is the rule whose calls are collected."""


RULE = Rule()


@dataclass(frozen=True, eq=False)
class Function:
    """A function or lambda that the text defines, with the scope of its definition."""

    node: Defined
    scope: Scope


@dataclass(frozen=True)
class Arguments:
    """The arguments of a call; `whole` says whether all of them could be read."""

    args: tuple[Value, ...]
    named: Mapping[str, Value]
    whole: bool = True


@dataclass(frozen=True)
class Under:
    """A function under `vmap` or `partial`: the inner function, and its arguments from those of the outer one."""

    inner: Any
    arguments: Callable[[Arguments], Arguments]


class Expressions:
    """Evaluates expressions in the files of a project, as far as their text says what they are."""

    def __init__(self, rule: Any, home: str, files: Sequence[File]) -> None:
        """Take the rule, the name `home` of its module, and the files of its project.

        The module and its packages are imported already: names in them are looked up in the objects.
        """
        self.rule, self.custom = rule, unwrapped(rule)
        self._partly_given = bound_by(rule) != (0, frozenset())
        self.files = {file.name: file for file in files}
        parts = home.split(".")
        modules = (sys.modules.get(".".join(parts[:k])) for k in range(len(parts), 0, -1))
        places = {os.path.realpath(getattr(m, "__file__", None) or ""): m for m in modules if m is not None}
        self.modules = {place: module for place, module in places.items() if place in self.files}
        """The module of the rule and its packages, by the full paths of their files."""
        counts = Counter(file.module for file in files)
        self.named = {file.module: file for file in files if counts[file.module] == 1}
        self.named |= {module.__name__: self.files[place] for place, module in self.modules.items()}
        """The files by the names of their modules."""
        self.steps = 0
        self.entered: list[ast.AST] = []
        """The functions whose bodies are being read, the innermost last."""
        self._named: set[tuple[int, str]] = set()
        """The names that are being followed, by their scopes: names may be defined by each other."""

    def is_rule(self, value: Any) -> bool:
        """Return whether a value is the rule itself, or `jit` of it."""
        for _ in range(4):
            if value is self.rule or (value is self.custom and not self._partly_given):
                return True
            if type(value).__name__ != "PjitFunction":
                return False
            value = getattr(value, "__wrapped__", None)
        return False

    @contextmanager
    def entering(self, node: ast.AST) -> Iterator[None]:
        """Note, inside of the context, that the body of a function is being read."""
        self.entered.append(node)
        try:
            yield
        finally:
            self.entered.pop()

    def arguments(self, node: ast.Call, scope: Scope) -> Arguments:
        """Return the arguments of a call, up to the first starred one of unknown length."""
        args, whole = self._each(node.args, scope)
        named = {k.arg: self.value(k.value, scope) for k in node.keywords if k.arg is not None} if whole else {}
        return Arguments(args, named, whole and all(k.arg is not None for k in node.keywords))

    def _each(self, nodes: Sequence[ast.expr], scope: Scope) -> tuple[tuple[Value, ...], bool]:
        """Return the values of expressions, starred ones unpacked, and whether all of them could be read."""
        values: list[Value] = []
        for node in nodes:
            row = items(self.value(node.value, scope)) if isinstance(node, ast.Starred) else (self.value(node, scope),)
            if not row:
                return tuple(values), False
            values += row
        return tuple(values), True

    # --- what names and expressions are ---

    def scope_in_call(self, target: Function, given: Arguments) -> Scope | None:
        """Return the scope of a function's body in a call; None if it does not take these arguments."""
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
        """Return the value of an expression; None if its text does not say it, or too much was read already.

        Nothing is executed: numbers and texts are known as they are, arrays by their rank and dtype.
        """
        self.steps += 1
        if self.steps > MOST_STEPS:
            return None
        match node:
            case ast.Constant(value=literal):
                return Plain(literal) if isinstance(literal, (int, float, str, type(None), type(...))) else None
            case ast.Name(id=name):
                return self._name(name, scope)
            case ast.Attribute(value=of, attr=name):
                whole = self.value(of, scope)
                path = Path(f"{whole.name}.{name}") if isinstance(whole, Path) else None
                return attribute(whole, name) if path is None else self._offered(path)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                values, all_read = self._each(parts, scope)
                literal = isinstance(node, ast.Tuple) and all(isinstance(v, Plain) for v in values)
                sequence = Plain(tuple(v.value for v in values)) if literal else Row(values)
                return sequence if all_read else None
            case ast.Dict(keys=keys, values=parts):
                names = tuple(k.value for k in keys if isinstance(k, ast.Constant) and isinstance(k.value, str))
                return Row(tuple(self.value(v, scope) for v in parts), names) if len(names) == len(keys) else None
            case ast.Lambda():
                return Function(node, scope)
            case ast.UnaryOp(op=operator, operand=of):
                return negated(self.value(of, scope), operator)
            case ast.BinOp(left=left, op=operator, right=right):
                return arithmetic(self.value(left, scope), operator, self.value(right, scope))
            case ast.Compare(left=left, ops=[_], comparators=[right]):
                return compared(self.value(left, scope), self.value(right, scope))
            case ast.Subscript(value=of, slice=index):
                return entry(self.value(of, scope), self.value(index, scope))
            case ast.Slice(lower=lower, upper=upper, step=step):
                ends = (Plain(None) if e is None else self.value(e, scope) for e in (lower, upper, step))
                return slice(*(e.value if isinstance(e, Plain) else ... for e in ends))
            case ast.Call():
                return self._result(node, scope)
        return None

    def _name(self, name: str, scope: Scope) -> Value:
        place = scope.bound(name)
        if place is None:
            return Path(name) if name in ("float", "int", "len", "bool") else None
        key = id(place[0].node), name
        if key in self._named:
            return None
        self._named.add(key)
        try:
            return self._bound(name, *place)
        finally:
            self._named.discard(key)

    def _bound(self, name: str, home: Scope, bound: Bound) -> Value:
        """Return the value of a name by its binding in the scope `home`; None if it is not known."""
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
        if isinstance(bound, Part):
            row = items(self.value(bound.of, home))
            return row[bound.place] if len(row) == bound.count else None
        return self.value(bound, home) if bound is not None else None

    def _keeps_arguments(self, decorator: ast.expr, scope: Scope) -> bool:
        """Return whether a decorator returns a function of the same arguments: `jit`, or a partial of it."""
        node = decorator
        if isinstance(node, ast.Call):
            node = node.args[0] if node.args and self.value(node.func, scope) == Path(_PARTIAL) else node.func
        path = self.value(node, scope)
        return isinstance(path, Path) and path.name in _AS_IT_IS

    def _offered(self, path: Path) -> Value:
        """Return the value at a path: the rule, a function of the project, or for a library the path itself."""
        module, _, name = path.name.rpartition(".")
        file = self.named.get(module)
        return path if file is None or path.name in self.named else self._name(name, Scope(file.tree, None, file))

    def _result(self, node: ast.Call, scope: Scope) -> Value:
        """Return the value of a call; for a call of a transformation, the transformed function."""
        given = self.arguments(node, scope)
        if isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value, scope)
            if isinstance(base, Array):
                return method(base, node.func.attr, given.args, given.named) if given.whole else None
        target = self.value(node.func, scope)
        if isinstance(target, Path):
            transformed = self._transformed(target.name, given)
            return (
                value_of_call(target.name, given.args, given.named)
                if transformed is None and given.whole
                else transformed
            )
        if isinstance(target, Function):
            return self._returned(target.node, self.scope_in_call(target, given))
        return self._object(node, given) if target is None and given.whole else None

    def _returned(self, node: Defined, scope: Scope | None, by_yield: bool = False) -> Value:
        """Return what a function returns, or a fixture yields, in the scope of a call; None if it is not known."""
        result = returned_by(node, by_yield)
        if scope is None or result is None or node in self.entered or len(self.entered) >= DEEPEST:
            return None
        with self.entering(node):
            return self.value(result, scope)

    def _object(self, node: ast.Call, given: Arguments) -> Value:
        """Return a named tuple or dataclass, of a class that the rule's code or module names, as a row; else None."""
        kind = self._classes.get(name_of(node.func))
        values = {**dict(zip(field_names(kind), given.args, strict=False)), **given.named}
        return Row(tuple(values.values()), tuple(values)) if kind is not None else None

    @cached_property
    def _classes(self) -> Mapping[str, type]:
        return classes_of(self.rule)

    def _transformed(self, path: str, given: Arguments) -> Value:
        """Return the result of a transformation, or of `pytest.param`; None for another call."""
        inner, rest = (given.args[0], given.args[1:]) if given.args else (None, ())
        if path == "pytest.param":
            return inner if len(given.args) == 1 else Row(given.args)
        if not isinstance(inner, (Rule, Function, Under)):
            return None
        if path in _MAPS:
            readable = given.whole and not {*given.named} - {"in_axes", "out_axes"} and len(rest) < 3
            axes = given.named.get("in_axes", rest[0] if rest else Plain(0))
            return Under(inner, partial(_mapped_arguments, axes)) if readable else None
        if path == _PARTIAL:
            return Under(inner, partial(_concatenated_arguments, Arguments(rest, given.named))) if given.whole else None
        return inner if path in _AS_IT_IS else None

    # --- what pytest gives ---

    def given_by_pytest(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope, marks: Sequence[ast.expr]
    ) -> Iterator[dict[str, Value]]:
        """Yield the values of a test's parameters: from rows of `parametrize`, fixtures and defaults."""
        rows = [rows for mark in marks if (rows := self._rows(mark, scope)) is not None]
        names = {name for table in rows for name in table[0]}
        given: dict[str, Value] = dict.fromkeys(parameters_of(node))
        given |= {name: self.value(default, scope) for name, default in defaults_of(node)}
        given |= {name: self._fixture(name, scope) for name in given if given[name] is None and name not in names}
        for chosen in product(*(table for table in rows if table)):
            yield given | {name: value for row in chosen for name, value in row.items() if name in given}

    def _rows(self, mark: ast.expr, scope: Scope) -> list[dict[str, Value]] | None:
        """Return the rows of a `parametrize`; None for another decorator."""
        if not isinstance(mark, ast.Call) or len(mark.args) < 2:
            return None
        if self.value(mark.func, scope) != Path("pytest.mark.parametrize"):
            return None
        names = self.value(mark.args[0], scope)
        text = names.value if isinstance(names, Plain) else None
        parts = text.split(",") if isinstance(text, str) else [n.value for n in items(names) if isinstance(n, Plain)]
        named = [str(n).strip() for n in parts]
        values = items(self.value(mark.args[1], scope))
        rows = [(v,) if len(named) == 1 else items(v) for v in values][:MOST_ROWS]
        unknown: dict[str, Value] = dict.fromkeys(named)
        return [dict(zip(named, row, strict=True)) if len(row) == len(named) else unknown for row in rows] or [unknown]

    def _fixture(self, name: str, scope: Scope) -> Value:
        """Return the value of a fixture in the file or in a `conftest.py` above it; None if it is not known."""
        for file in (scope.file, *conftests(scope.file, self.files)):
            module = Scope(file.tree, None, file)
            place = module.bound(name)
            node = place[1] if place is not None else None
            if not isinstance(node, ast.FunctionDef):
                continue
            marks = (self.value(getattr(d, "func", d), module) for d in node.decorator_list)
            if Path("pytest.fixture") not in marks:
                continue
            if node in self.entered:  # the fixture takes, and overrides, one of its own name further up
                return None
            with self.entering(node):
                given = {n: self._fixture(n, module) for n in parameters_of(node)}
            return self._returned(node, Scope(node, module, file, given), by_yield=True)
        return None


def _concatenated_arguments(first: Arguments, given: Arguments) -> Arguments:
    """Return the arguments of a partial, `first`, followed by those of its call."""
    return Arguments((*first.args, *given.args), {**first.named, **given.named}, given.whole)


def _mapped_arguments(axes: Value, given: Arguments) -> Arguments:
    """Return the arguments that `vmap` with `in_axes` = `axes` passes to its function."""
    each = items(axes) or (axes,) * len(given.args)
    if len(each) != len(given.args):
        each = (None,) * len(given.args)
    args = tuple(_mapped(value, axis) for value, axis in zip(given.args, each, strict=True))
    return Arguments(args, {name: _mapped(value, Plain(0)) for name, value in given.named.items()}, given.whole)


def _mapped(value: Value, axis: Value) -> Value:
    """Return an argument without the axis that `vmap` maps; None if it is not known."""
    if axis == Plain(None):
        return value
    if not isinstance(value, Array) or not value.rank or not (isinstance(axis, Plain) and type(axis.value) is int):
        return None
    return Array(value.rank - 1, value.kind)
