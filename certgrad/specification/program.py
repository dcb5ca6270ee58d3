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
    """A tensor that a loop carries: at time 0 its entry is `start`; at time `loop.time` + 1 it is `step`.

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

    A step reads carries at `Index(time)`, that is before the step. A scan's results read its carries at the time
    `length`, and tensors that the steps make at times below it. A while loop has no length of its own (None):
    definitions after it read its carries at a `Least`, the first time at which its test fails.
    """

    time: str
    length: Term | None
    carries: tuple[Carry, ...]
    body: tuple[Definition, ...]


@dataclass(frozen=True, slots=True)
class Determined:
    """Tensors that are determined by equations, as the solution of a linear system is.

    At each value of `variables` (times and batch axes, which come first in all of `tensors`), the tensors' entries are
    those for which all `equations` hold, provided that `condition` holds, which says that there are such entries and
    that they are the only ones. `method` names what JAX calls (`cholesky` …); `operands` are the tensors it is given.
    """

    tensors: tuple[Tensor, ...]
    variables: tuple[str, ...]
    equations: tuple[Statement, ...]
    condition: Statement
    method: str
    operands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Opaque:
    """Tensors of which it is only known that they are a function of their operands, named by `name`.

    The name has the parameters. So two such tensors are equal if their names and operands are. Random bits are the
    example: a function of the key.
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
    """Return the names of the tensors that an expression reads."""
    return {node.name for node in walk(expression) if isinstance(node, Entry)}


def makes(definition: Definition) -> list[str]:
    """Return the names of the tensors that a definition defines, those inside a loop included."""
    if isinstance(definition, Loop):
        carried = [c.tensor.name for c in definition.carries]
        return carried + [name for inner in definition.body for name in makes(inner)]
    if isinstance(definition, (Determined, Opaque)):
        return [t.name for t in definition.tensors]
    return [definition.tensor.name]


def reads(definition: Definition | Carry) -> set[str]:
    """Return the names of the tensors that a definition reads."""
    if isinstance(definition, Table):
        return set()
    if isinstance(definition, Loop):
        inner = [reads(d) for d in (*definition.body, *definition.carries)]
        length = read_by(definition.length) if definition.length is not None else set()
        return length.union(*inner)
    names = {name for x in expressions_of(definition) for name in read_by(x)}
    return names | (set(definition.operands) if isinstance(definition, (Determined, Opaque)) else set())


def with_entries(definitions: Iterable[Definition], change: Callable[[Node], Node]) -> tuple[Definition, ...]:
    """Return the definitions with `change` applied to the entry of each `Defined`."""
    return tuple(replace(d, entry=change(d.entry)) if isinstance(d, Defined) else d for d in definitions)


def pruned(program: Program) -> Program:
    """Return the program with only the definitions that its outputs need."""
    needed = {t.name for t in program.outputs}
    kept, _ = _needed_definitions(program.definitions, needed)
    return replace(program, definitions=kept)


def _needed_definitions(
    definitions: tuple[Definition, ...], needed: set[str]
) -> tuple[tuple[Definition, ...], set[str]]:
    """Return the definitions that these names need, and the names with all that the definitions read.

    They are gone through from the last to the first, as a definition reads earlier ones only; `needed` grows.
    """
    out: list[Definition] = []
    for definition in reversed(definitions):
        if not needed & set(makes(definition)):
            continue
        kept = _kept_loop(definition, needed) if isinstance(definition, Loop) else definition
        out.append(kept)
        needed |= reads(kept)
    return tuple(reversed(out)), needed


def _kept_loop(loop: Loop, needed: set[str]) -> Loop:
    """Return a loop with only the carries and definitions that are needed.

    A step reads the carries of the step before, so that the needed names grow until they stay the same.
    """
    wanted = set(needed)
    while True:
        carries = tuple(c for c in loop.carries if c.tensor.name in wanted)
        grown = wanted.union(*(reads(c) for c in carries))
        body, grown = _needed_definitions(loop.body, grown)
        if grown <= wanted:
            return Loop(loop.time, loop.length, carries, body)
        wanted |= grown
