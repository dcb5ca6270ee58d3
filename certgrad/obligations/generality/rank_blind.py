"""Whether an op's own code can behave differently at a rank that was not traced.

A trace does not show that code read a rank. So the source of the op's functions, and of the functions outside JAX and
numpy that they name, is searched: a value counts as rank-dependent if it comes from `ndim`, `len` or an axis argument,
directly, through assignments, or through a parameter of another searched function. Code that branches on such a value,
or that catches errors, is sensitive to ranks, and a claim about it lists the ranks that were traced. JAX's and numpy's
own functions count as uniform in rank.
"""

from __future__ import annotations

import ast
import hashlib
import linecache
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import FunctionType, MethodType
from typing import Any

import jax

from certgrad._subject import Subject, is_op
from certgrad.jaxpr.closures import captured

from .rank_flow import RANK_READERS, RankFlow, beyond_what_is_shown, followed, reads_rank_openly
from .reach import LIBRARIES, loads, named_in, reachable
from .syntax import given_to, library_call, name_of, names_in, nodes_of, parameters_of, source_tree, with_ancestors

REFLECTION = {"eval", "exec", "getattr", "__class__", "vars", "globals", "locals", "__getattribute__", "str", "repr"}


@lru_cache(maxsize=512)
def rank_sensitive(op: Subject, located: tuple[str, ...] = ()) -> str:
    """Return why the op's code may depend on rank, or "". `located` names arguments that are axis positions."""
    return _sensitive(op, {*RANK_READERS, *located}, "a rank or an axis", reads_rank_openly)


@lru_cache(maxsize=512)
def dtype_sensitive(op: Subject) -> str:
    """Return why the op's code may depend on dtypes beyond the two that are compared, or ""."""
    sources = {"dtype", "itemsize", "finfo", "issubdtype", "result_type"}
    reason = _sensitive(op, sources, "a dtype", _reads_dtype_openly)
    return reason if "dtype" in reason else ""


def searched(op: Subject) -> str:
    """Return a digest of all that the searches here read: while it stays the same, so do their answers."""
    digest = hashlib.blake2b(digest_size=20)
    for function in reachable(op):
        code = function.__code__
        named = [(*_origin(type(value)), *_origin(value)) for value in named_in(function)]
        values = [*map(function.__globals__.get, loads(code)[0]), *captured(function)]
        numbers = [value for value in values if isinstance(value, int)]
        place = (*_origin(function), code.co_firstlineno, _text_digest(code.co_filename), named, numbers)
        digest.update(repr(place).encode(errors="surrogatepass"))
        digest.update(code.co_code)
    return digest.hexdigest()


def _origin(value: Any) -> tuple[Any, Any]:
    return getattr(value, "__module__", None), getattr(value, "__qualname__", None)


@lru_cache(maxsize=256)
def _text_digest(file: str) -> str:
    return hashlib.blake2b("".join(linecache.getlines(file)).encode(errors="surrogatepass")).hexdigest()


def _sensitive(op: Subject, sources: set[str], what: str, openly: Callable[[str, ast.AST, RankFlow], bool]) -> str:
    """Return why an op's code may depend on `what`, such as its ranks, which it reads by `sources`; "" where it cannot.

    `openly(name, tree, flow)` says whether one function uses what it reads by `sources` only where it cannot matter.
    """
    trees: dict[str, ast.FunctionDef | ast.Lambda] = {}
    large: dict[str, frozenset[str]] = {}
    for function in reachable(op):
        if any(_keeps_traces(value) for value in named_in(function)):
            return "an object of the op's own is called, whose code is not searched"
        name = getattr(function, "__name__", "a function")
        tree = source_tree(function)
        if tree is None:
            return f"the source of {name} is not readable"
        if names_in(tree) & REFLECTION:
            return f"{name} can hide what it reads"
        while name in trees and trees[name] is not tree:  # another function of this name
            name += "′"
        trees[name] = tree
        large[name] = beyond_what_is_shown(function, tree)
    # Calls carry ranks from function to function: the flow grows until one more step adds nothing.
    flow = RankFlow(frozenset(), {}, {})
    while (next_flow := followed(trees, flow, large)) != flow:
        flow = next_flow
    for name, tree in trees.items():
        function_name = name.rstrip("′")
        if _branches_on(tree, sources):
            return f"{function_name} branches on {what}"
        if any(isinstance(node, (ast.Try, ast.TryStar)) for node in nodes_of(tree)) or "suppress" in names_in(tree):
            return f"{function_name} catches errors, and {what} may raise one"
        if not openly(name, tree, flow):
            return f"{function_name} uses {what} as a value"
    for name, tree in trees.items():
        for callee, parameters in _called_with(tree, sources, trees):
            if _branches_on(trees[callee], sources | parameters):
                return f"{name.rstrip('′')} passes {what} to {callee}, which branches"
    return ""


_MAKES_ARRAYS = frozenset("zeros ones full empty array asarray zeros_like ones_like full_like finfo iinfo".split())
"""Functions of numpy that take a dtype for what they make."""
_LIMITS = frozenset({"eps", "max", "min", "tiny", "smallest_normal"})
"""Limits of a dtype that differ between float32 and float64, so that a program which uses them is another one."""
_LIMITED = frozenset({"finfo", "iinfo"})


def _reads_dtype_openly(name: str, tree: ast.AST, known: RankFlow) -> bool:
    """Return whether a function only hands dtypes on to the libraries, and limits of a dtype to traced arithmetic.

    Limits are what `finfo` or `iinfo` returns, of which only those in `_LIMITS` may be used.
    """
    for node, above in with_ancestors(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("dtype", "itemsize"):
            if not library_call(above, also=("astype",)) or node.attr == "itemsize" or not _makes_arrays(above):
                return False
        elif isinstance(node, ast.Attribute) and not names_in(node.value).isdisjoint({"dtype", *_LIMITED}):
            of_limits = isinstance(node.value, ast.Call) and name_of(node.value.func) in _LIMITED
            if of_limits and (node.attr not in _LIMITS or not _stays_in_the_program(above)):
                return False
            if not of_limits and node.attr in ("itemsize", "num", "char", "kind"):
                return False
    return True


def _makes_arrays(above: Sequence[ast.AST]) -> bool:
    """Return whether the nearest call around a dtype is not numpy's, or makes an array of that dtype.

    `above` are the syntax nodes around the dtype, the outermost first.
    """
    call = next(a for a in reversed(above) if isinstance(a, ast.Call))
    return not library_call([call], of=("np",)) or name_of(call.func) in _MAKES_ARRAYS


def _stays_in_the_program(above: Sequence[ast.AST]) -> bool:
    """Return whether a value that code reads shows in the jaxpr, so that where it differs the programs differ.

    `above` are the syntax nodes around it, the outermost first. An argument of a function of JAX's shows; a value that
    is assigned, divided with `//` or `%`, or passed elsewhere may not.
    """
    for outer in reversed(above):
        if isinstance(outer, ast.Call):
            return library_call([outer], of=("jnp", "lax", "jax"))
        if isinstance(outer, ast.Assign) or (
            isinstance(outer, ast.BinOp) and isinstance(outer.op, (ast.FloorDiv, ast.Mod))
        ):
            return False
    return True


def _tainted(tree: ast.AST, sources: set[str]) -> set[str]:
    """Return the sources, and all variables assigned from expressions that mention a source or such a variable."""
    out = set(sources)
    while True:
        assigned = {n for value, targets in _assignments(tree) if value & out for n in targets}
        if assigned <= out:
            return out
        out |= assigned


@lru_cache(maxsize=1024)
def _assignments(tree: ast.AST) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Return, for each assignment and each loop, the names in the value and the assigned names."""
    out: list[tuple[frozenset[str], frozenset[str]]] = []
    for node in nodes_of(tree):
        if isinstance(node, ast.Assign):
            value, targets = node.value, node.targets
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
            value, targets = node.value, [node.target]
        elif isinstance(node, (ast.For, ast.comprehension)):
            value, targets = node.iter, [node.target]
        else:
            continue
        out.append((names_in(value), frozenset().union(*map(names_in, targets))))
    return tuple(out)


def _branches_on(tree: ast.AST, sources: set[str]) -> bool:
    """Return whether code chooses by a value made of `sources`: in a test, a comparison, a table or an index."""
    tainted = _tainted(tree, sources)
    for node in nodes_of(tree):
        tests: list[ast.AST] = []
        if isinstance(node, (ast.If, ast.IfExp, ast.While, ast.Assert)):
            tests = [node.test]
        elif isinstance(node, (ast.Compare, ast.Match, ast.Dict, ast.Try)):
            tests = [node]
        elif isinstance(node, ast.comprehension):
            tests = list(node.ifs)
        elif isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
            tests = [node.slice] if getattr(node.value, "attr", "") != "shape" else []
        if any(_depends(t, tainted) for t in tests):
            return True
    return False


def _depends(test: ast.AST, tainted: set[str]) -> bool:
    """Return whether a test may depend on the tainted names: `x is None` and `isinstance` do not, other `is` do."""
    if isinstance(test, ast.BoolOp):
        return any(_depends(v, tainted) for v in test.values)
    if isinstance(test, ast.Compare) and all(isinstance(op, (ast.Is, ast.IsNot)) for op in test.ops):
        return not all(isinstance(c, ast.Constant) and c.value is None for c in test.comparators)
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "isinstance":
        return False
    return bool(names_in(test) & tainted)


def _called_with(
    tree: ast.AST, sources: set[str], trees: Mapping[str, ast.FunctionDef | ast.Lambda]
) -> Iterator[tuple[str, set[str]]]:
    """Yield functions that are called with arguments made of `sources`, each with the parameters that receive them.

    All parameters count where the call does not show which one receives it (`f(*axes)`).
    """
    tainted = _tainted(tree, sources)
    for node in nodes_of(tree):
        if not isinstance(node, ast.Call):
            continue
        for callee in names_in(node.func) & trees.keys():
            parameters = {n for n, a in given_to(trees[callee], node) if names_in(a) & tainted}
            if parameters:
                yield callee, parameters | ({*parameters_of(trees[callee])} if "" in parameters else set())


# Functions that keep traces in a cache. Of JAX's own functions only those are listed that ask about sizes that matter.
_CACHING = set(
    """
    jit pjit checkpoint remat custom_jvp custom_vjp custom_gradient closed_call named_call scan cond switch while_loop
    fori_loop map associative_scan linear_call custom_root custom_linear_solve lru_cache cache eval_jaxpr
    linalg det slogdet
    """.split()
)


@lru_cache(maxsize=512)
def traced_every_time(op: Subject) -> bool:
    """Return whether no code of the op's own is traced through JAX's caches, which would hide the questions it asks."""
    for f in reachable(op):
        if {n for names in loads(f.__code__) for n in names} & _CACHING:
            return False
        if any(map(_keeps_traces, named_in(f))):
            return False
    return True


def _keeps_traces(value: Any) -> bool:
    """Return whether a value is an object of no library that may remember its traces, such as a jitted function.

    Functions, methods, classes, ops and custom rules are none.
    """
    module = (getattr(value, "__module__", None) or "builtins").split(".")[0]
    if module in LIBRARIES or isinstance(value, (FunctionType, MethodType, type)):
        return False
    # A call of an op, or of a custom rule, is traced anew each time, and what it runs is reached.
    return not (is_op(value) or isinstance(value, (jax.custom_jvp, jax.custom_vjp)))
