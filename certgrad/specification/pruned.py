"""A program without the definitions that no output needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from .expression import Carry, Definition, Determined, Entry, Expression, Loop, Opaque, Program, Table


def parts(node: Any) -> Iterator[Expression]:
    """The expressions that a node is made of."""
    for f in fields(node):
        value = getattr(node, f.name)
        if isinstance(value, Expression):
            yield value
        elif isinstance(value, tuple):
            yield from (x for x in value if isinstance(x, Expression))


def with_parts(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The node with each expression that it is made of changed."""
    changed: dict[str, Any] = {}
    for f in fields(node):  # type: ignore[arg-type]
        value = getattr(node, f.name)
        if isinstance(value, Expression):
            changed[f.name] = change(value)
        elif isinstance(value, tuple) and value and isinstance(value[0], Expression):
            changed[f.name] = tuple(map(change, value))
    return replace(node, **changed) if changed else node  # type: ignore[type-var]


def read_by(expression: Expression) -> Iterator[str]:
    """The tensors that an expression reads, in order, with repetitions."""
    stack = [expression]
    while stack:
        node = stack.pop()
        if isinstance(node, Entry):
            yield node.tensor
        stack.extend(parts(node))


def makes(definition: Definition) -> list[str]:
    """The tensors that a definition defines, those inside a loop included."""
    if isinstance(definition, Loop):
        carried = [c.tensor.name for c in definition.carries]
        return carried + [name for inner in definition.body for name in makes(inner)]
    if isinstance(definition, (Determined, Opaque)):
        return [t.name for t in definition.tensors]
    return [definition.tensor.name]


def reads(definition: Definition | Carry) -> set[str]:
    """The tensors that a definition reads, by name."""
    if isinstance(definition, Table):
        return set()
    if isinstance(definition, Loop):
        inner = [reads(d) for d in (*definition.body, *definition.carries)]
        length = set(read_by(definition.length)) if definition.length is not None else set()
        return length.union(*inner)
    held = {name for e in parts(definition) for name in read_by(e)}
    return held | (set(definition.operands) if isinstance(definition, (Determined, Opaque)) else set())


def pruned(program: Program) -> Program:
    """The same outputs, of the definitions that they need."""
    needed = {t.name for t in program.outputs}
    kept, _ = _kept(program.definitions, needed)
    return replace(program, definitions=kept)


def _kept(definitions: tuple[Definition, ...], needed: set[str]) -> tuple[tuple[Definition, ...], set[str]]:
    out: list[Definition] = []
    for definition in reversed(definitions):
        if not needed & set(makes(definition)):
            continue
        kept = _kept_loop(definition, needed) if isinstance(definition, Loop) else definition
        out.append(kept)
        needed |= reads(kept)
    return tuple(reversed(out)), needed


def _kept_loop(loop: Loop, needed: set[str]) -> Loop:
    """The carries and steps that are needed, later ones by way of earlier ones."""
    wanted = set(needed)
    while True:
        carries = tuple(c for c in loop.carries if c.tensor.name in wanted)
        more = wanted.union(*(reads(c) for c in carries))
        body, more = _kept(loop.body, more)
        if more <= wanted:
            return Loop(loop.time, loop.length, carries, body)
        wanted |= more
