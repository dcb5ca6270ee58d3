"""A lemma's hypotheses at a node: over the user's expressions, and at the line where they arise."""

from __future__ import annotations

from collections.abc import Mapping

from certgrad.graph.certificate import NodeHypothesis
from certgrad.graph.ir import Node, Ref
from certgrad.graph.tracing.values import Values
from certgrad.graph.wording.expression import Expressions
from certgrad.language.relations import SIGNS, SWAPPED
from certgrad.language.text import text
from certgrad.language.tree import ZERO, Array, Compare, Either, Statement, arrays, linear, walk
from certgrad.obligations.assume.conditions import Clause
from certgrad.obligations.prove.negligible import negligible
from certgrad.obligations.wording.present import on_boundaries


def at_node(
    node: Node,
    stated: tuple[Statement, Clause],
    arguments: Mapping[str, Ref],
    expressions: Expressions,
    values: Values,
) -> NodeHypothesis:
    """Return a hypothesis of a node in the user's names: ``every element of `x @ W1 + b1` ≠ 0``.

    `stated` is the lemma's hypothesis, as a tree and as a clause of the calculus; `arguments` says which value each
    argument of the lemma is.
    """
    tree, clause = stated
    reals = {name: True for name, ref in arguments.items() if expressions.graph.type_of(ref).real}
    shown = _elements(tree, arguments, expressions) or _formula(tree, arguments, expressions)
    return NodeHypothesis(
        node=node.id,
        source=node.source,
        text=f"{_label(node)}: {shown}",
        formula=text(tree),
        tree=tree,
        of={name: values.of(ref) for name, ref in sorted(arguments.items()) if name in arrays(tree)},
        boundary=on_boundaries(clause),
        negligible=negligible(clause, reals, arguments),
    )


def _label(node: Node) -> str:
    name = {"max": "maximum", "min": "minimum"}.get(node.name, node.name) if node.kind == "primitive" else node.name
    return f"{name} at {node.source}" if node.source else f"{name} (%{node.id})"


def _elements(tree: Statement, arguments: Mapping[str, Ref], expressions: Expressions) -> str:
    """Return the text of a statement that compares arguments element by element; "" where it has another form."""
    parts = tree.parts if isinstance(tree, Either) else (tree,)
    shown = [_comparison(part, arguments, expressions) for part in parts]
    if not all(shown):
        return ""
    alone = sum(isinstance(n, Array) for n in walk(tree)) == 1
    return f"every element of {shown[0]}" if alone else f"{' or '.join(shown)} at every element"


def _comparison(part: Statement, arguments: Mapping[str, Ref], expressions: Expressions) -> str:
    """Return the text of a comparison of an element with a number or another element; "" where it has another form."""
    if not isinstance(part, Compare) or part.right != ZERO:
        return ""
    summands = linear(part.left)  # the left side as coefficients, each with its factors
    numbers = [c for c, factors in summands if not factors]
    sides = [(c, f[0].name) for c, f in summands if abs(c) == 1 and len(f) == 1 and isinstance(f[0], Array)]
    if len(numbers) + len(sides) < len(summands) or any(name not in arguments for _, name in sides):
        return ""
    shown = [f"`{expressions.of(arguments[name])}`" for _, name in sides]
    if len(sides) == 1:
        sign = sides[0][0]
        relation = part.relation if sign > 0 else SWAPPED[part.relation]
        return f"{shown[0]} {SIGNS[relation]} {-sign * sum(numbers)}"
    if len(sides) == 2 and not numbers and sides[0][0] != sides[1][0]:
        first, second = shown if sides[0][0] > 0 else reversed(shown)
        return f"{first} {SIGNS[part.relation]} {second}"
    return ""


def _formula(tree: Statement, arguments: Mapping[str, Ref], expressions: Expressions) -> str:
    """Return the statement over the lemma's argument names, and what these are in the user's names."""
    used = [n for n in arguments if n in arrays(tree)]
    named = [f"{n} = `{expressions.of(arguments[n])}`" for n in used if expressions.of(arguments[n]) != n]
    return f"{text(tree)} for every index" + (f", where {', '.join(named)}" if named else "")
