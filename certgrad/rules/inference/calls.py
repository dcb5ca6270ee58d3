"""The arguments with which a project calls a rule, as far as the text of the calls says them.

The rule's module, the others of its project and its tests are read as syntax, and nothing is executed. A call is read
if its callee is the rule, also under `jit`, `vmap`, `grad` or `partial`, or a function of the project that hands its
arguments on. An argument is read if its value is plain (`syntax/values.py`). What cannot be read is no evidence.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path as FilePath
from typing import Any

from certgrad.obligations.generality.syntax import names_in
from certgrad.rules.finding.find import FoundRule
from certgrad.rules.subject.layers import bound_by, plain_function, unwrapped
from certgrad.rules.subject.layers import parameters_of as parameters_of_rule
from certgrad.rules.syntax.files import File, files_beside
from certgrad.rules.syntax.scopes import COMPREHENSIONS, Defined, Scope, parameters_of
from certgrad.rules.syntax.values import Path, Plain, Value, given_kind, items, named_parts, rank_of

from .call_expressions import DEEPEST, MOST_ROWS, MOST_STEPS, Arguments, Expressions, Function, Rule, Under

MOST_TEXT = 2**21
"""At most this many bytes of the files that name a rule are parsed for it."""
MOST_CALLS = 64
"""At most this many calls of a rule are read."""
MOST_NAMES = 12
"""At most this many names, of a rule and of functions that call it, are followed."""
_CALLS = frozenset(("jax.vjp", "jax.linearize", "jax.eval_shape"))
"""Functions that call their first argument with the others."""
_CALLS_WITH_TUPLE = frozenset(("jvp", "check_grads", "check_vjp", "check_jvp"))
"""Functions, by the last part of the name, that call their first argument with the entries of the second."""


@dataclass(frozen=True)
class Given:
    """What could be read of an argument in a call."""

    rank: int | None = None
    kind: str | None = None
    """The dtype as a signature writes it: empty for floats, `:int`, `:bool`."""
    value: Plain | None = None
    """The value, if it is a literal."""


@dataclass(frozen=True)
class Call:
    """A call of a rule: its place, without the line, and the arguments that could be read, by name."""

    where: str
    given: tuple[tuple[str, Given], ...]

    def of(self, name: str) -> Given:
        """Return what could be read of an argument; a `Given()` without content if nothing."""
        return dict(self.given).get(name, Given())


_READ: dict[int, tuple[Any, tuple[Call, ...]]] = {}


def calls_of(found: FoundRule) -> tuple[Call, ...]:
    """Return the calls of a rule that could be read, each once, those of its own module first.

    They are read once for each rule; () if the module has no Python file.
    """
    cached = _READ.get(id(found.rule))
    if cached is None or cached[0] is not found.rule:
        home = found.name.partition(":")[0]
        file = getattr(sys.modules.get(home), "__file__", None) or ""
        try:
            calls = _Reader(found.rule, home, FilePath(file)).calls() if file.endswith(".py") else ()
        except (RecursionError, OSError):
            calls = ()
        cached = _READ[id(found.rule)] = found.rule, calls
    return cached[1]


class _Reader:
    """Reads the calls of one rule that a module defines."""

    def __init__(self, rule: Any, home: str, file: FilePath) -> None:
        self.texts = Expressions(rule, home, files_beside(file))
        self.parameters = _places(rule)
        self.names: set[str] = set()
        """Names of the rule in its module and the packages of that, and of functions that call it."""
        self.homes: set[str] = set()
        """The last parts of the names of modules that define the rule or such a function."""
        for place, module in self.texts.modules.items():
            if names := [name for name, value in list(vars(module).items()) if self.texts.is_rule(value)]:
                self.names.update(names)
                self.homes.update((module.__name__.rpartition(".")[2], FilePath(place).stem))
        self.read: dict[Call, None] = {}
        self.where = ""

    def calls(self) -> tuple[Call, ...]:
        """Return all calls that can be read, at most `MOST_CALLS`."""
        if not (self.names and self.parameters):
            return ()
        self._add_wrappers()
        bytes_left = MOST_TEXT
        for file in self._naming():
            bytes_left -= len(file.text)
            if bytes_left < 0 or len(self.read) >= MOST_CALLS:
                break
            self._visit([*file.tree.body], Scope(file.tree, None, file))
        return (*islice(self.read, MOST_CALLS),)

    def _naming(self) -> Iterator[File]:
        """Yield the files that can name the rule: its modules, and files that import one of these."""
        texts = [name.encode() for name in self.names]
        offering = (self.texts.files[place] for place in self.texts.modules)
        homes = self.homes | {f.last_name for f in offering if any(t in f.text for t in (*texts, b"import *"))}
        for file in self.texts.files.values():
            imported = file.last_name in homes or not homes.isdisjoint(file.imports)
            if imported and any(text in file.text for text in texts):
                yield file

    def _add_wrappers(self) -> None:
        """Add the names of functions that name the rule: a call of such a function may call the rule."""
        for file in [*self._naming()]:
            functions = [f for f in file.tree.body if isinstance(f, ast.FunctionDef) and not f.name.startswith("test")]
            wrappers = [f.name for f in functions if names_in(f) & self.names]
            if wrappers and len(self.names) < MOST_NAMES:
                self.names.update(wrappers)
                self.homes.add(file.last_name)

    def _visit(self, nodes: Sequence[ast.AST], scope: Scope, deep: int = 0, marks: Sequence[ast.expr] = ()) -> None:
        """Read the calls in statements, and in functions defined there that name the rule.

        Args:
            nodes: the statements.
            scope: the scope that they stand in.
            deep: the number of calls that were followed to reach them; functions are entered at 0 alone.
            marks: the decorators of the class around them.
        """
        waiting = [*reversed(nodes)]  # a stack: calls are read in the order of the text
        while waiting:
            node = waiting.pop()
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                waiting += [*node.decorator_list, *node.args.defaults]
                if deep == 0 and names_in(node) & self.names:
                    self._enter(node, scope, [*marks, *node.decorator_list])
            elif isinstance(node, ast.ClassDef):
                self._visit(node.body, Scope(node, scope, scope.file), deep, node.decorator_list)
            elif isinstance(node, (ast.Lambda, *COMPREHENSIONS)):
                # Nothing is known of a lambda's parameters; a depth of 1 keeps functions in it from being entered.
                given = dict.fromkeys(parameters_of(node)) if isinstance(node, ast.Lambda) else {}
                self._visit([*ast.iter_child_nodes(node)], Scope(node, scope, scope.file, given), max(deep, 1))
            else:
                if isinstance(node, ast.Call):
                    self._call(node, scope, deep)
                waiting += reversed([*ast.iter_child_nodes(node)])

    def _enter(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope, marks: Sequence[ast.expr]) -> None:
        """Read the calls in a function, once for each row of values that pytest passes to it."""
        outer_place = self.where
        self.where = outer_place or f"{node.name} in {scope.file.path.name}"
        for given in islice(self.texts.given_by_pytest(node, scope, marks), MOST_ROWS):
            self._visit(node.body, Scope(node, scope, scope.file, given))
        self.where = outer_place

    def _call(self, node: ast.Call, scope: Scope, deep: int) -> None:
        """Read one call, which may be of the rule, of a function that calls it, or of a transformation of one."""
        target = self.texts.value(node.func, scope)
        if isinstance(target, (Rule, Function, Under)):
            self._invoke(target, self.texts.arguments(node, scope), scope, deep)
        elif isinstance(target, Path) and node.args:
            given = self.texts.arguments(node, scope)
            if target.name in _CALLS and given.args:
                self._invoke(given.args[0], Arguments(given.args[1:], {}, given.whole), scope, deep)
            elif target.name.rpartition(".")[2] in _CALLS_WITH_TUPLE and len(given.args) > 1:
                self._invoke(given.args[0], Arguments(items(given.args[1]), {}), scope, deep)

    def _invoke(self, target: Value, given: Arguments, scope: Scope, deep: int) -> None:
        """Note a call of the rule, or read the calls that a function makes with the arguments `given`."""
        if isinstance(target, Under):
            self._invoke(target.inner, target.arguments(given), scope, deep)
        elif isinstance(target, Rule):
            self._note(given, scope)
        elif isinstance(target, Function) and deep < DEEPEST and self._leads_on(target.node, given):
            inner = self.texts.scope_in_call(target, given)
            if inner is not None:
                body = target.node.body
                with self.texts.entering(target.node):
                    self._visit(body if isinstance(body, list) else [body], inner, deep + 1)

    def _leads_on(self, node: Defined, given: Arguments) -> bool:
        """Return whether a function may call the rule: it names the rule, or gets a function as an argument."""
        if node in self.texts.entered or self.texts.steps > MOST_STEPS:
            return False
        handed = [*given.args, *given.named.values()]
        return bool(names_in(node) & self.names) or any(isinstance(v, (Rule, Function, Under)) for v in handed)

    def _note(self, given: Arguments, scope: Scope) -> None:
        """Keep a call of the rule with the arguments that could be read; nothing if there are none."""
        values = {**dict(zip(self.parameters, given.args, strict=False)), **given.named}
        read = {part: _as_given(v) for name, value in values.items() for part, v in named_parts(name, value)}
        known_args = tuple((name, given_value) for name, given_value in read.items() if given_value != Given())
        if known_args:
            self.read.setdefault(Call(self.where or scope.file.path.name, known_args))


def _as_given(value: Value) -> Given:
    return Given(rank_of(value), given_kind(value), value if isinstance(value, Plain) else None)


def _places(rule: Any) -> list[str]:
    """Return the names of a rule's positional arguments without those that its partials bind; [] if unreadable."""
    custom = unwrapped(rule)
    try:
        parameters = parameters_of_rule(custom, plain_function(custom)).values()
    except (TypeError, ValueError):
        return []
    count, named = bound_by(rule)
    places = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [name for name in places[count:] if name not in named]
