"""A lemma's hypotheses at a node: over the user's expressions, and at the line where they arise."""

from __future__ import annotations

import re
from collections.abc import Mapping

from certgrad.graph._expression import Expressions
from certgrad.graph._values import Values
from certgrad.graph.certificate import NodeHypothesis
from certgrad.graph.ir import Node, Ref
from certgrad.language.text import text
from certgrad.language.tree import Statement, arrays
from certgrad.obligations.assume.conditions import Atomic, Clause
from certgrad.obligations.prove.negligible import negligible
from certgrad.obligations.terms.atoms import Access
from certgrad.obligations.terms.walk import deep_atoms
from certgrad.obligations.wording.present import on_boundaries

_SIGN = {"> 0": ">", ">= 0": "≥", "!= 0": "≠", "= 0": "="}
_FLIP = {">": "<", "≥": "≤", "≠": "≠", "=": "="}


def at_node(
    node: Node,
    stated: tuple[Statement, Clause],
    arguments: Mapping[str, Ref],
    expressions: Expressions,
    values: Values,
) -> NodeHypothesis:
    """The hypothesis in the user's names: ``every element of `x @ W1 + b1` ≠ 0``."""
    tree, clause = stated
    reals = {name: True for name, ref in arguments.items() if expressions.graph.type_of(ref).real}
    shown = _elements(clause, arguments, expressions) or _formula(tree, arguments, expressions)
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


def _elements(clause: Clause, arguments: Mapping[str, Ref], expressions: Expressions) -> str:
    """The clause where it compares arguments elementwise; empty where it is not of that form."""
    if clause.guards:
        return ""
    parts = [_comparison(a, arguments, expressions) for a in clause.alternatives]
    if not all(parts):
        return ""
    entries = [a for x in clause.alternatives for a in deep_atoms(x.poly) if isinstance(a, Access)]
    if len(parts) == 1 and len(entries) == 1:
        return f"every element of {parts[0]}"
    return f"{' or '.join(parts)} at every element" if all(_aligned(entries[0], a) for a in entries) else ""


def _comparison(atomic: Atomic, arguments: Mapping[str, Ref], expressions: Expressions) -> str:
    """The comparison of one element, or of two."""
    sign = _SIGN.get(atomic.relation)
    terms = list(atomic.poly.items())
    if sign is None or not terms or len(terms) > 2:
        return ""
    sides: list[tuple[str, bool]] = []
    accesses: list[Access] = []
    bound = ""
    for mono, c in terms:
        if mono == ():
            bound = str(-c)
            continue
        atom = mono[0][0]
        if (
            len(mono) != 1
            or mono[0][1] != 1
            or abs(c) != 1
            or not isinstance(atom, Access)
            or atom.tensor not in arguments
        ):
            return ""
        if not _elementwise(atom, expressions.graph.type_of(arguments[atom.tensor]).shape):
            return ""
        accesses.append(atom)
        sides.append((expressions.of(arguments[atom.tensor]), c > 0))
    if len(sides) == 1:
        (text, positive), right = sides[0], bound or "0"
        if not positive:
            sign = _FLIP[sign]
            right = str(-int(right)) if re.fullmatch(r"-?\d+", right) else f"-({right})"
        return f"`{text}` {sign} {right}"
    if len(sides) == 2 and not bound and sides[0][1] != sides[1][1] and _aligned(*accesses):
        (left, positive), (other, _) = sides
        first, second = (left, other) if positive else (other, left)
        return f"`{first}` {sign} `{second}`"
    return ""


def _elementwise(atom: Access, shape: list[str]) -> bool:
    """The entry is read at its own indices, so that the condition is asked of every element."""
    variables = [ix.variable() for ix in atom.index]
    free = [v for v, d in zip(variables, shape, strict=True) if d != "1"]
    return all(v is not None for v in free) and len(set(free)) == len(free)


def _aligned(a: Access, b: Access) -> bool:
    """Both are read at the same indices, the shorter at the last ones, as numpy broadcasts."""
    first, second = sorted(([ix.variable() for ix in x.index] for x in (a, b)), key=len)
    return all(v in (None, w) for v, w in zip(first, second[len(second) - len(first) :], strict=True))


def _formula(tree: Statement, arguments: Mapping[str, Ref], expressions: Expressions) -> str:
    used = [n for n in arguments if n in arrays(tree)]
    named = [f"{n} = `{expressions.of(arguments[n])}`" for n in used if expressions.of(arguments[n]) != n]
    return f"{text(tree)} for every index" + (f", where {', '.join(named)}" if named else "")
