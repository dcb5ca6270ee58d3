"""What a program means: definitions in order, one or a few an equation, each of tensors by entries of those before.

An entry is an expression of `certgrad.language.tree`. Variables: `i0, i1, …` number the axes of what is defined, `k0,
k1, …` are bound inside an entry, `t1, t2, …` are times of loops. A name is unique within its definition; `Index` refers
to it. Sizes of shapes are integer expressions in `Size`; a size is at least 1 where it is a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace

from certgrad.language.tree import Entry, Node, Sort, Statement, Term, walk


@dataclass(frozen=True, slots=True)
class Tensor:
    """A name with a shape (integer expressions in sizes) and the sort of its entries.

    A tensor that is made inside a loop has, before the axes of its shape, one axis a loop around it, outermost first:
    the time. `times` are the loops' variables; every `Entry` of it begins with these indices.
    """

    name: str
    shape: tuple[Term, ...]
    sort: Sort
    times: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Defined:
    """The tensor's entry at `variables` (first the times, then one an axis) is `entry`."""

    tensor: Tensor
    variables: tuple[str, ...]
    entry: Node
    primitive: str
    """What the equation was, for readers: the name of the primitive."""


@dataclass(frozen=True, slots=True)
class Table:
    """A constant array: its entries in row-major order, each a literal."""

    tensor: Tensor
    values: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Carry:
    """What a loop carries: at time 0 its entry is `start`; at time `loop.time` + 1 it is `step`.

    The last of `tensor.times` is the loop's time. `variables` number the outer times and then the axes; the loop's own
    time is not among them: `step` may use it as `Index(loop.time)`, `start` does not.
    """

    tensor: Tensor
    variables: tuple[str, ...]
    start: Node
    step: Node


@dataclass(frozen=True, slots=True)
class Loop:
    """A recurrence: carries, and the definitions of one step, all of whose tensors have the loop's time as last time.

    A step reads carries at `Index(time)`, that is before the step. A scan's results read carries and what steps give at
    times below its length. A while loop has no length of its own: what follows reads its carries at a `Least`.
    `length` is None there.
    """

    time: str
    length: Term | None
    carries: tuple[Carry, ...]
    body: tuple[Definition, ...]


@dataclass(frozen=True, slots=True)
class Determined:
    """Tensors that are determined by equations, as the solution of a linear system is.

    At each value of `variables` (times and batch axes, which come first in all of `tensors`, each running over the
    sizes `counts`), the tensors' entries are those for which all `equations` hold, provided that `condition` holds,
    which says that there are such and that they are the only ones. `method` names what JAX calls (`cholesky` …).
    """

    tensors: tuple[Tensor, ...]
    variables: tuple[str, ...]
    equations: tuple[Statement, ...]
    condition: Statement
    method: str
    operands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Opaque:
    """Tensors of which only this is known: they are the same where the same is done to the same operands.

    `name` says what is done, its parameters included. Random bits are the example: a function of the key.
    """

    tensors: tuple[Tensor, ...]
    variables: tuple[str, ...]
    name: str
    operands: tuple[str, ...]


Definition = Defined | Table | Loop | Determined | Opaque


@dataclass(frozen=True, slots=True)
class Program:
    """What a traced program means. `outputs` are names of inputs or of defined tensors."""

    inputs: tuple[Tensor, ...]
    definitions: tuple[Definition, ...]
    outputs: tuple[Tensor, ...]


# --- what is read, and what is needed


def expressions_of(definition: Definition | Carry) -> Iterator[Node]:
    """Yield the expressions of a definition, without those inside a loop."""
    for f in fields(definition):
        value = getattr(definition, f.name)
        yield from (x for x in (value if isinstance(value, tuple) else (value,)) if isinstance(x, Node))


def read_by(expression: Node) -> set[str]:
    """The tensors that an expression reads."""
    return {node.name for node in walk(expression) if isinstance(node, Entry)}


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
        length = read_by(definition.length) if definition.length is not None else set()
        return length.union(*inner)
    found = {name for x in expressions_of(definition) for name in read_by(x)}
    return found | (set(definition.operands) if isinstance(definition, (Determined, Opaque)) else set())


def with_entries(definitions: Iterable[Definition], change: Callable[[Node], Node]) -> tuple[Definition, ...]:
    """Return the definitions with another entry in each that has one."""
    return tuple(replace(d, entry=change(d.entry)) if isinstance(d, Defined) else d for d in definitions)


def pruned(program: Program) -> Program:
    """Return the program with the definitions that its outputs need."""
    needed = {t.name for t in program.outputs}
    kept, _ = _needed_definitions(program.definitions, needed)
    return replace(program, definitions=kept)


def _needed_definitions(
    definitions: tuple[Definition, ...], needed: set[str]
) -> tuple[tuple[Definition, ...], set[str]]:
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
        body, more = _needed_definitions(loop.body, more)
        if more <= wanted:
            return Loop(loop.time, loop.length, carries, body)
        wanted |= more
