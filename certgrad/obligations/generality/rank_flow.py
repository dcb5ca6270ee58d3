"""The flow of ranks, and of lists of axes made of ranks, through an op's code.

Code may give a rank to an axis argument of JAX's functions, which are uniform in axes. A rank that is a number in
arithmetic, an index, or beside a number that none of the traced ranks reaches, may make a difference at a rank that was
not traced.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType

from certgrad.jaxpr.closures import closed_over

from .syntax import given_to, is_whole_number, library_call, name_of, names_in, nodes_of, with_ancestors

RANK_READERS = frozenset({"ndim", "len"})
"""The names by which code reads a rank: `x.ndim`, `len(x.shape)`."""


@dataclass(frozen=True)
class RankFlow:
    """Which functions return ranks or lists of axes, and which variables hold such values."""

    returning: frozenset[str]
    """The functions that return ranks or lists of axes."""
    ranks: Mapping[str, frozenset[str]]
    """For each function, its variables and parameters that hold ranks or lists of axes."""
    large: Mapping[str, frozenset[str]]
    """For each function, the names of whole numbers beyond the traced ranks."""


def followed(
    trees: Mapping[str, ast.FunctionDef | ast.Lambda], known: RankFlow, large: Mapping[str, frozenset[str]]
) -> RankFlow:
    """Return the flow `known` with what follows from it in one step through assignments, calls and returns."""
    ranks = {name: set(known.ranks.get(name, ())) for name in trees}
    returning = set(known.returning)
    for name, tree in trees.items():
        sources = {*RANK_READERS, *returning, *ranks[name]}
        for node in nodes_of(tree):
            if isinstance(node, ast.Assign) and _carries(node.value, sources, trees):
                ranks[name] |= {t.id for w in node.targets for t in ast.walk(w) if isinstance(t, ast.Name)}
            elif isinstance(node, ast.Call) and name_of(node.func) in trees:
                callee = name_of(node.func)
                ranks[callee] |= {n for n, a in given_to(trees[callee], node) if _carries(a, sources, trees)}
        if any(_carries(value, {*sources, *ranks[name]}, trees) for value in _returned_expressions(tree)):
            returning.add(name)
    return RankFlow(frozenset(returning), {n: frozenset(r) for n, r in ranks.items()}, large)


def _carries(value: ast.AST, ranks: set[str], searched: Collection[str]) -> bool:
    """Return whether an expression's value may hold a rank. `ranks` are the names of variables and functions that do.

    A call of JAX's returns an array, which does not; a call of a function in `searched` does if its name is in `ranks`.
    Any other expression does if a part of it does.
    """
    if isinstance(value, ast.Call) and library_call([value], of=_JAX):
        return False
    if isinstance(value, (ast.Name, ast.Attribute)) and name_of(value) in ranks:
        return True
    if isinstance(value, ast.Call) and name_of(value.func) in searched:
        return name_of(value.func) in ranks
    return any(_carries(part, ranks, searched) for part in ast.iter_child_nodes(value))


def _returned_expressions(tree: ast.FunctionDef | ast.Lambda) -> list[ast.expr]:
    if isinstance(tree, ast.Lambda):
        return [tree.body]
    return [n.value for n in nodes_of(tree) if isinstance(n, ast.Return) and n.value is not None]


def beyond_what_is_shown(function: FunctionType, tree: ast.FunctionDef | ast.Lambda) -> frozenset[str]:
    """Return the names in a function, or around it, of whole numbers beyond the traced ranks.

    A name that is assigned an expression with such a number counts too.
    """
    values = {n: function.__globals__[n] for n in names_in(tree) if n in function.__globals__}
    values |= dict(closed_over(function))
    parameters = [*tree.args.posonlyargs, *tree.args.args]
    defaults = [*zip(parameters[::-1], tree.args.defaults[::-1], strict=False)]
    defaults += [(a, d) for a, d in zip(tree.args.kwonlyargs, tree.args.kw_defaults, strict=True) if d is not None]
    assigned = {a.arg for a, default in defaults if not _is_within_shown_ranks(default)}
    for node in nodes_of(tree):
        if isinstance(node, ast.Assign) and not _is_within_shown_ranks(node.value):
            assigned |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    return frozenset(n for n, v in values.items() if isinstance(v, int) and abs(v) >= _LAST_SHOWN) | assigned


def reads_rank_openly(name: str, tree: ast.AST, known: RankFlow) -> bool:
    """Return whether a function uses ranks only where they cannot change its program.

    Such uses are `x.shape[-1]`; `ndim` and `len` inside `range(…)` or as an axis argument of a library's call; a whole
    shape as an argument of such a call. It is False for all others, such as unpacking, iterating or slicing a shape,
    testing it, or `range(5, x.ndim)`, which is empty at all traced ranks: then the claim is for the traced ranks alone.
    """
    ranks = RANK_READERS | known.returning | known.ranks[name]
    for node, above in with_ancestors(tree):
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            parent = above[-1]
            if isinstance(parent, ast.Subscript) and parent.value is node and is_whole_number(parent.slice):
                continue
            if not (isinstance(parent, (ast.Call, ast.keyword)) and library_call(above)):
                return False
        elif isinstance(node, (ast.Attribute, ast.Name)) and name_of(node) in ranks:
            if isinstance(above[-1], ast.Call) and above[-1].func is node:
                node, above = above[-1], above[:-1]
            read = not isinstance(getattr(node, "ctx", None), ast.Store)
            if read and not _only_numbers_axes(node, above, name, known):
                return False
        elif isinstance(node, ast.For) and names_in(node.iter) & {*RANK_READERS, "shape", "range"}:
            return False
    return True


_LAST_SHOWN = 4
"""The highest rank at which an op is traced for a claim about any rank."""
_AXES = frozenset(
    "axis axes dimension dimensions broadcast_dimensions permutation dimension_numbers source destination".split()
)
"""The keyword arguments by which the libraries take axes."""
_TAKE_AXES: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(
        """
        sum mean max min prod var std all any argmax argmin sort argsort cumsum cumprod cummax cummin cumlogsumexp
        logsumexp softmax log_softmax normalize standardize transpose permute_dims expand_dims squeeze flip rev
        concatenate stack reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or
        """.split(),
        (1,),
    ),
    **dict.fromkeys(("moveaxis", "swapaxes"), (1, 2)),
    **dict.fromkeys(("tensordot", "dot_general", "broadcast_in_dim"), (2,)),
}
"""Which arguments of JAX's functions, by position, are axes."""
_TAKE_SHAPES = frozenset("reshape broadcast_to reduce_window".split())
"""Functions of JAX that take as many numbers as there are axes: a tuple times the rank."""
_JAX = ("jnp", "lax", "jax")
_LISTS = frozenset({"tuple", "list", "sorted", "reversed", "set"})


def _only_numbers_axes(rank: ast.AST, above: Sequence[ast.AST], name: str, known: RankFlow) -> bool:
    """Return whether a rank, or a value made of it, goes only into `range` or an axis argument, beside small numbers.

    `above` are the syntax nodes around `rank`, the innermost last. They are followed outwards through `range`, lists
    and arithmetic, with `inner` the expression reached so far. This ends at a call of JAX's that takes axes or a shape
    there (`x.sum(tuple(range(x.ndim)))`), at a call of a function that is searched too, or at a list of axes that is
    assigned or returned.
    """
    inner, repeats = rank, False
    for k, outer in reversed([*enumerate(above)]):
        if isinstance(outer, ast.Call):
            called = name_of(outer.func)
            if called in ("range", "len") or (inner in outer.args and called in _LISTS):
                inner = outer
                continue
            if not _is_within_shown_ranks(inner, known.large[name]):
                return False
            if called in known.ranks:  # a function that is searched too: there it is a parameter
                return True
            axes = isinstance(inner, ast.keyword) and inner.arg in _AXES
            axes = axes or inner in [a for j, a in enumerate(outer.args) if j in _TAKE_AXES.get(called, ())]
            axes = axes or (repeats and inner in outer.args[1:] and called in _TAKE_SHAPES)
            return axes and library_call(above[: k + 1], of=_JAX)
        if isinstance(outer, (ast.Assign, ast.Return, ast.Lambda, ast.FunctionDef)):
            return _lists_axes(inner, known.returning) and _is_within_shown_ranks(inner, known.large[name])
        if isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Mult):
            # `(1,) * x.ndim`: a shape with one number for each axis
            repeats = isinstance(outer.left, (ast.Tuple, ast.List)) and outer.right is inner
        inner = outer
    return False


def _lists_axes(value: ast.AST, returning: frozenset[str]) -> bool:
    """Return whether a value is made of ranges, so that it is a list of axes."""
    return any(isinstance(n, ast.Call) and name_of(n.func) in {"range", *returning} for n in ast.walk(value))


def _is_within_shown_ranks(value: ast.AST, large: frozenset[str] = frozenset()) -> bool:
    """Return whether no number in an expression, and no name in `large`, is beyond the traced ranks."""
    numbers = (n.value for n in ast.walk(value) if isinstance(n, ast.Constant) and isinstance(n.value, int))
    return all(abs(n) < _LAST_SHOWN for n in numbers) and names_in(value).isdisjoint(large)
