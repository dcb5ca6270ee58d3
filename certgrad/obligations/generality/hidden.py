"""Code that a trace does not show: it asks whether it is traced, or does not do the same every time.

Outside of `jit`, JAX runs a rule on arrays: code that asks whether a value is traced then does something else. Code
that counts its calls, remembers them, draws random numbers or looks at the clock need not do at run time what it did
while it was traced. So the source of a rule, and that of the functions outside the libraries that it names, is searched
for these. Code that catches an error which only a trace raises shows it to a trace of its own, which is watched.

Every door passes its subject through `untraceable` and `unlike_its_traces`: an audit of an op, a rule or two functions,
and the induction over a graph, whose subject reaches the rules of all its nodes.
"""

from __future__ import annotations

import ast
import os
import random
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, TypeGuard

import numpy as np

from certgrad._subject import Subject
from certgrad.errors import CertgradError
from certgrad.obligations import generality
from certgrad.obligations.generality.reach import code_in, loads, reachable, reachable_from, rules_in
from certgrad.obligations.generality.syntax import compared_by_identity, name_of, names_in, nodes_of, source_tree
from certgrad.obligations.generality.traces import Traces
from certgrad.obligations.tracing.jax_dimensions import Answers
from certgrad.obligations.tracing.jax_internals import from_library

INSTALLED = f"{os.sep}site-packages{os.sep}"
_QUESTIONS = frozenset(
    "Tracer is_concrete concrete_or_error ConcretizationTypeError TracerArrayConversionError "
    "TracerBoolConversionError TracerIntegerConversionError isscalar".split()
)
_OF_NUMBERS = frozenset("int float bool complex ndarray generic".split())
_OF_SHAPES = frozenset("shape ndim size len".split())
_CHANGES = frozenset("append add update pop popitem setdefault extend insert clear remove discard reverse sort".split())
_NEVER_THE_SAME = frozenset({"random", "secrets", "time", "uuid", "datetime", "numpy.random", "gc"})
"""Modules whose functions give other values in other calls."""
_GENERATORS = (random.Random, np.random.Generator, np.random.RandomState)


@dataclass(frozen=True)
class Hidden:
    """Why code may do something else where it runs than in its traces."""

    reason: str
    anywhere: bool = False
    """Whether the reason is in code that the subject names, so that it holds whatever is traced, at any sizes."""


def hidden_from_a_trace(
    subject: Subject, functions: Sequence[FunctionType], answers: Sequence[Answers] = ()
) -> Hidden | None:
    """Return why one of these functions, which the subject's code reaches, may do something else than in a trace.

    Return None if nothing says so. `answers` are what code was told in the traces, by which a test with `isinstance`
    that met no traced value is allowed.
    """
    for plain in functions:
        tree = source_tree(plain)
        if reason := _hidden_in_code(plain, tree):
            return Hidden(reason, anywhere=plain in reachable(subject))
        questions = _QUESTIONS & {n for names in loads(plain.__code__) for n in names}
        if questions and not _asked_of_nothing_traced(plain, answers):
            question = f"{plain.__name__} asks whether a value is traced ({min(questions)})"
            return Hidden(f"{question}: where none is, it may do other things")
    comparisons = [c for f in functions if (tree := source_tree(f)) is not None for c in _same_objects(tree, f)]
    if comparison := _comparing(subject, comparisons):
        question = f"{comparison.function.__name__} asks whether {' and '.join(comparison.sides)} are one object"
        return Hidden(f"{question}: they are where an array is given twice", comparison.function in reachable(subject))
    catching = {c for f in functions for c in code_in(f.__code__) if c.co_exceptiontable}
    if caught := _caught_tracing_error(subject, catching):
        return Hidden(f"{caught[0]} catches {caught[1]}, which the trace raised: where it runs it may do other things")
    return None


def _hidden_in_code(plain: FunctionType, tree: ast.AST | None) -> str:
    """Return why one function may do something else than in a trace, by its source alone; "" if nothing says so."""
    name = plain.__name__
    if named := sorted(q for q in _QUESTIONS if any(q in str(a) for a in plain.__annotations__.values())):
        return f"{name} is annotated with {named[0]}, and what checks types asks for it: arrays have another type"
    if tree is None:
        return ""
    if changed := min(_outliving(tree, plain), default=""):
        return f"{name} changes {changed}, which outlives the call: it may do other things in later calls"
    if source := min(_never_the_same(tree, plain), default=""):
        return f"{name} calls {source}, which gives another value each time: it may do other things in later calls"
    if _asks_for_a_type(tree):
        return f"{name} compares the type of a value: a trace has other types, so it may do other things"
    return ""


def _asked_of_nothing_traced(function: FunctionType, answers: Sequence[Answers]) -> bool:
    """Return whether, in all traces, the function used `isinstance` only on values that are not traced.

    These values are the same where the function runs, as they come from no argument. So it does the same there.
    """
    tree, codes = source_tree(function), {*code_in(function.__code__)}
    if tree is None or not answers or not all(heard.never(function, codes) for heard in answers):
        return False
    if "isinstance" in _locals(function.__code__):
        return False
    # The one question that is heard is `isinstance(x, Tracer)`: any other use of these names counts as a question.
    classes = {id(n) for call in ast.walk(tree) if _is_question(call) for n in _classes(call.args[1])}
    named = [n for n in ast.walk(tree) if isinstance(n, (ast.Name, ast.Attribute)) and name_of(n) in _QUESTIONS]
    return all(name_of(n) == "Tracer" and id(n) in classes for n in named)


def _is_question(node: ast.AST) -> TypeGuard[ast.Call]:
    """Return whether a node is a call of `isinstance` with two arguments."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
        and len(node.args) == 2
    )


def _classes(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the classes in the second argument of `isinstance`: one alone, or several in a tuple or joined by `|`."""
    if isinstance(node, ast.Tuple):
        yield from (n for part in node.elts for n in _classes(part))
    elif isinstance(node, ast.BinOp):
        yield from (*_classes(node.left), *_classes(node.right))
    else:
        yield node


def _never_the_same(tree: ast.AST, function: FunctionType) -> Iterator[str]:
    """Yield the names in code by which it reaches what draws random numbers or tells the time."""
    values = _values(function)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in values and node.id not in function.__code__.co_varnames:
            value = values[node.id]
            module = getattr(value, "__name__" if isinstance(value, ModuleType) else "__module__", None)
            if str(module) in _NEVER_THE_SAME or isinstance(getattr(value, "__self__", value), _GENERATORS):
                yield node.id
        elif isinstance(node, ast.Attribute) and node.attr == "random" and isinstance(node.value, ast.Name):
            if values.get(node.value.id) is np:
                yield f"{node.value.id}.random"


def _asks_for_a_type(tree: ast.AST) -> bool:
    """Return whether code compares a value's type with one that no traced value has, or by name, or by `match`.

    Such are `type(x) == int`, `type(x).__name__ == "…"`, `issubclass(type(x), ndarray)` and `case float():`.
    """
    nodes = nodes_of(tree)
    matches = [n for n in nodes if isinstance(n, ast.Match) and names_in(n.subject).isdisjoint(_OF_SHAPES)]
    patterns = [p for n in matches for case in n.cases for p in ast.walk(case.pattern)]
    if any(isinstance(p, ast.MatchClass) and name_of(p.cls) in _OF_NUMBERS for p in patterns):
        return True
    asking = [n for n in nodes if isinstance(n, ast.Compare) or _calls(n, "issubclass")]
    return any(
        not names.isdisjoint({"type", "__class__"}) and not names.isdisjoint({"int", "ndarray", "__name__"})
        for names in map(names_in, asking)
    )


def _calls(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and name_of(node.func) == name


@dataclass(frozen=True)
class _Comparison:
    """A comparison by `is` of two local values: an array that a call is given twice is two tracers in a trace."""

    function: FunctionType
    sides: tuple[str, str]
    lines: range


def _same_objects(tree: ast.AST, function: FunctionType) -> Iterator[_Comparison]:
    """Yield the comparisons by `is` in a function of two of its local variables, or of entries of these."""
    local = {*_locals(function.__code__)}
    for left, right in compared_by_identity(tree):
        roots = [n.value if isinstance(n, ast.Subscript) else n for n in (left, right)]
        if all(isinstance(n, ast.Name) and n.id in local for n in roots):
            lines = range(left.lineno, (right.end_lineno or right.lineno) + 1)
            yield _Comparison(function, (ast.unparse(left), ast.unparse(right)), lines)


def _comparing(subject: Subject, comparisons: Sequence[_Comparison]) -> _Comparison | None:
    """Return the first comparison whose line runs while the subject is traced; None where none does.

    Until code runs such a comparison, it does the same whichever of its values are one object. So where no trace runs
    one, no call does.
    """
    if not comparisons:
        return None
    at = {(code, line): c for c in comparisons for code in code_in(c.function.__code__) for line in c.lines}
    executed: list[_Comparison] = []

    def note_line(frame: FrameType, event: str, value: Any) -> Any:
        if event == "line" and (comparison := at.get((frame.f_code, frame.f_lineno))) is not None:
            executed.append(comparison)
        return note_line

    _traced_again(subject, {code for code, _ in at}, note_line)
    return executed[0] if executed else None


def _traced_again(subject: Subject, codes: Collection[CodeType], local: Callable[..., Any]) -> None:
    """Trace the subject at symbolic sizes and at numbers, in both dtypes; `local` traces the frames of these codes.

    `local` is a local trace function, as `sys.settrace` describes it.
    """
    traces = Traces(subject)
    with _following(codes, local):
        for family in traces.families:
            instance = family.prove[0]
            for sizes in ({}, generality.decisions.concrete(instance)):
                for wide in (True, False):
                    with suppress(CertgradError):
                        traces.at(instance, sizes, wide)


@contextmanager
def _following(codes: Collection[CodeType], local: Callable[..., Any]) -> Iterator[None]:
    """Have `local`, a local trace function as for `sys.settrace`, follow the frames of this code in the context."""
    before = sys.gettrace()
    sys.settrace(lambda frame, event, value: local if frame.f_code in codes else None)
    try:
        yield
    finally:
        sys.settrace(before)


# --- errors that are caught ------------------------------------------------------------------------------------------


_Raised = tuple[CodeType, int, str]
"""The code that an error reaches, the line there, and the name of the error's class."""


def _caught_tracing_error(subject: Subject, codes: Collection[CodeType]) -> tuple[str, str] | None:
    """Return the name of a function that catches an error which only traces raise, and the name of the error's class.

    Return None if there is none. Such an error is about symbolic sizes or tracers, or it is not raised at the same line
    where the sizes are numbers: numpy does not name the symbol in its errors.
    """
    if not codes:
        return None
    traces = Traces(subject)

    def errors_reaching(numbers: bool) -> dict[_Raised, bool]:
        with _watched(codes) as errors:
            for family in traces.families:
                instance = family.prove[0]
                with suppress(CertgradError):
                    traces.at(instance, generality.decisions.concrete(instance) if numbers else {})
        return errors

    symbolic = errors_reaching(numbers=False)
    at_numbers = errors_reaching(numbers=True) if symbolic and not any(symbolic.values()) else {}
    of_tracing_alone = (at for at, of_tracing in symbolic.items() if of_tracing or at not in at_numbers)
    return next(((code.co_name, kind) for code, _, kind in of_tracing_alone), None)


@contextmanager
def _watched(codes: Collection[CodeType]) -> Iterator[dict[_Raised, bool]]:
    """Yield a dictionary that fills with errors that reach these codes, each with whether it is one of tracing."""
    seen: dict[_Raised, bool] = {}

    def note_error(frame: FrameType, event: str, value: Any) -> Any:
        if event == "exception" and not issubclass(value[0], (StopIteration, ImportError)):
            at = frame.f_code, frame.f_lineno, value[0].__name__
            seen[at] = seen.get(at, False) or _of_tracing(value[1], value[2])
        return note_error

    with _following(codes, note_error):
        yield seen


def _of_tracing(error: BaseException, traceback: Any) -> bool:
    """Return whether a trace raised the error because it has symbols in place of sizes and of values."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    from_jax = traceback is not None and from_library(traceback.tb_frame.f_code.co_filename)
    return from_jax or any(word in str(error) for word in ("_DimExpr", "Tracer"))


# --- what outlives a call --------------------------------------------------------------------------------------------


def _outliving(tree: ast.AST, function: FunctionType) -> Iterator[str]:
    """Yield the names of objects that a function changes and that outlive its call.

    These are what it declares global or nonlocal, and names of no local variable of which it sets or deletes an entry
    or an attribute, or calls a method that changes a table (`memory.append(x)`).
    """
    local, values = set(_locals(function.__code__)), _values(function)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            yield from (n for n in node.names if n not in local)
        targets: list[ast.expr] = []
        if isinstance(node, (ast.Assign, ast.Delete)):
            targets = node.targets
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            targets = [node.target]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES:
            # Arrays have methods of these names too, which change nothing: only tables of the function's module count.
            owner = node.func.value
            if isinstance(owner, ast.Name) and isinstance(values.get(owner.id), (list, dict, set)):
                targets = [node.func]
        for target in targets:
            root = target  # of `memory[k].value = x` it is `memory`
            while isinstance(root, (ast.Subscript, ast.Attribute)):
                root = root.value
            if root is not target and isinstance(root, ast.Name) and root.id not in local:
                yield root.id


def _locals(code: CodeType) -> Iterator[str]:
    yield from (*code.co_varnames, *code.co_cellvars)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _locals(constant)


def _values(function: FunctionType) -> Mapping[str, Any]:
    """Return the values of the names in a function that are not its own variables: globals, and what it closes over."""
    values = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # a cell is empty before its variable is assigned
            values[name] = cell.cell_contents
    return values


def untraceable(subject: Subject) -> str:
    """Return why no trace of the subject could say what runs, or ""."""
    if subject.is_op or not subject.params or not (why := generality.open_code.tells_apart(subject)):
        return ""
    return f"{' and '.join(subject.params)} cannot be left open: {why}; give values by certgrad.each"


def unlike_its_traces(subject: Subject, programs: Iterable[Any], answers: Sequence[Answers] = ()) -> Hidden | None:
    """Return why the subject may do something else where it runs than in these programs (jaxprs of it); None if not.

    `answers` are what its code was told in its traces, if that was recorded in all of them.
    """
    rules = [rule for jaxpr in programs for rule in rules_in(jaxpr)]
    functions = dict.fromkeys(reachable_from([*rules, *subject.code]))
    if subject.rules_of_nodes:  # a graph: of installed packages only the code of the nodes' rules counts
        of_rules = {*reachable_from(rules)}
        functions = {f: None for f in functions if f in of_rules or INSTALLED not in f.__code__.co_filename}
    return hidden_from_a_trace(subject, [*functions], answers)
