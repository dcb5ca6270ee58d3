"""Index variables: which are free, and terms in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from .tree import BINDERS, Carried, Index, Loop, Node, Range, Term, children, mapped, walk


def substitute(node: Any, values: Mapping[str, Term]) -> Any:
    """Return the node with terms in the place of index variables that are free in it.

    Bound variables get new names where they would capture variables of the terms.
    """
    if isinstance(node, Index):
        return values.get(node.name, node)
    bound = [r.variable for r in node.over] if isinstance(node, BINDERS) else []
    if isinstance(node, Loop):
        bound = [node.time]
    inner = {name: value for name, value in values.items() if name not in bound}
    if not inner:
        return mapped(node, lambda child: substitute(child, values) if isinstance(child, Range) else child)
    taken = {name for value in inner.values() for name in variables(value)}
    new_names = {name: _fresh(name, taken | variables(node)) for name in bound if name in taken}
    inner |= {name: Index(new_name) for name, new_name in new_names.items()}

    def changed(child: Node) -> Any:
        if isinstance(child, Range):
            return Range(new_names.get(child.variable, child.variable), substitute(child.size, values))
        return substitute(child, inner)

    out = mapped(node, changed)
    return msgspec.structs.replace(out, time=new_names[node.time]) if isinstance(node, Loop) and new_names else out


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    return name


def variables(node: Node) -> set[str]:
    """Return the names of all index variables that occur in a node, bound or free."""
    return {n.name for n in walk(node) if isinstance(n, Index)}


def unbound(node: Node) -> set[str]:
    """Return the names of index variables, and of loops whose carries are read, that nothing in a node binds."""
    if isinstance(node, Index):
        return {node.name}
    names = {name for child in children(node) for name in unbound(child)}
    if isinstance(node, Carried):
        return names | {node.loop}
    if isinstance(node, Loop):
        return names - {node.name, node.time}
    if isinstance(node, BINDERS):
        return names - {r.variable for r in node.over}
    return names
