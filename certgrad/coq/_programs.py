"""Programs of the specification as definitions in Coq: one function for each output.

Inside a function, each tensor that the output needs is defined by a `let`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from certgrad.language import tree as e
from certgrad.language.finite import decide_infinite_comparisons
from certgrad.language.tree import mapped, walk
from certgrad.specification import program as p
from certgrad.specification.program import pruned, reads, with_entries

from ._errors import NotPrintedError
from ._expressions import ASSUMED, INFINITE, TYPES, function_type, printed
from ._infinities import without_infinities
from ._names import identifier, of_size
from ._propositions import proposition

MAX_TABLE = 64
"""Entries of the largest constant array that is printed."""


EQUATIONS = "_equations"
"""The end of the name of a proposition: that arrays satisfy the equations by which a program determines them."""


@dataclass(frozen=True)
class Function:
    """A definition in Coq of one output of a program, as a function of its arguments and then of the output's indices.

    `assumed` are functions without a definition in Coq, such as `lgamma`, which are its first arguments. `solved` are
    arrays that equations determine, such as the solution of a linear system, which are its last arguments. A theorem is
    about all arrays that satisfy the equations; where inputs move along curves, about such arrays at each time near 0.
    """

    name: str
    arguments: tuple[str, ...]
    text: str
    output: p.Tensor
    assumed: tuple[str, ...]
    solved: tuple[p.Tensor, ...] = ()

    def at(self, indices: Sequence[str], **given: str) -> str:
        """Return the function applied to its arguments and to indices; `given` has the text for arguments by name."""
        return self._applied(self.name, given, indices)

    def solutions(self, **given: str) -> str:
        """Return the beginning of a theorem about all arrays that satisfy the equations; "" where there are none.

        With `given`, the arguments depend on the time t, and so do the arrays.
        """
        if not self.solved:
            return ""
        over = "R -> " if given else ""
        lines = [f"  forall ({self._solution(t)} : {over}{kind(t)}),\n" for t in self.solved]
        holds = self._applied(f"{self.name}{EQUATIONS}", given)
        return "".join([*lines, f"  locally 0 (fun t => {holds}) ->\n" if given else f"  {holds} ->\n"])

    def _solution(self, tensor: p.Tensor) -> str:
        return f"{self.name}_{identifier(tensor.name)}"

    def _applied(self, name: str, given: Mapping[str, str], indices: Sequence[str] = ()) -> str:
        solutions = [f"({self._solution(t)} t)" if given else self._solution(t) for t in self.solved]
        return " ".join(["(" + name, *(given.get(a, a) for a in self.arguments), *solutions, *indices]) + ")"


def functions(name: str, program: p.Program, sizes: Sequence[str]) -> list[Function]:
    """Return one function for each output. Raises NotPrintedError where one cannot be printed."""
    return [_function(part_name, part, sizes) for part_name, part in by_output(name, program)]


def by_output(name: str, program: p.Program) -> Iterator[tuple[str, p.Program]]:
    """Yield for each output a function name and the program of that output, without infinities where possible."""
    single = len(program.outputs) == 1
    program = replace(program, definitions=with_entries(program.definitions, decide_infinite_comparisons))
    for k, out in enumerate(program.outputs):
        part = pruned(replace(program, outputs=(out,)))
        with contextlib.suppress(NotPrintedError):  # an infinity that is left is printed as a variable (`INFINITE`)
            part = without_infinities(part)
        yield name if single else f"{name}_{k}", part


def _function(name: str, program: p.Program, sizes: Sequence[str]) -> Function:
    """Return the definition of a program with one output.

    If equations determine some of its arrays, another definition is printed before it: the proposition that arrays
    satisfy these equations.
    """
    (output,) = program.outputs
    assumed = assumed_by(program)
    binders, arguments = head(program, assumed, sizes)
    flat = _flat(program)
    solved = [d for d in flat if isinstance(d, (p.Determined, p.Loop))]
    tensors = tuple(t for d in solved for t in _unknown(d))
    full_head = " ".join([*binders, *(f"({identifier(t.name)} : {kind(t)})" for t in tensors)])
    explicit = pruned(replace(program, definitions=with_entries((d for d in flat if d not in solved), _value_of)))
    lines = [let(require_single_tensor(d)) for d in explicit.definitions]
    text = "\n".join([f"Definition {name} {full_head} : {kind(output)} :=", *lines, f"  {identifier(output.name)}."])
    if solved:
        before = flat[: flat.index(solved[-1])]
        lines = [
            f"  {equations(d)} /\\" if isinstance(d, (p.Determined, p.Loop)) else let(require_single_tensor(d))
            for d in before
        ]
        satisfied = "\n".join(
            [f"Definition {name}{EQUATIONS} {full_head} : Prop :=", *lines, f"  {equations(solved[-1])}."]
        )
        text = f"{satisfied}\n\n{text}"
    return Function(name, arguments, text, output, assumed, tensors)


def chain(name: str, program: p.Program, binder: str, words: str, inputs: Mapping[str, str]) -> dict[str, Function]:
    """Return by name a definition for each tensor of the program, which binds by `let` the tensors that it reads.

    All definitions have the `binder`, and are applied to `words`, its variables. `inputs` are the program's inputs as
    expressions of these variables. Raises NotPrintedError where a tensor cannot be printed.
    """
    program = replace(program, definitions=with_entries(program.definitions, decide_infinite_comparisons))
    program = pruned(without_infinities(program))
    program = pruned(
        replace(program, definitions=with_entries(map(require_single_tensor, program.definitions), _value_of))
    )
    if assumed_by(program):
        raise NotPrintedError("a function of which hypotheses speak")
    texts = dict(inputs)
    by_name = {}
    for definition in map(require_single_tensor, program.definitions):
        tensor = definition.tensor
        full_name = f"{name}_{identifier(tensor.name)}"
        lets = "".join(f"  let {identifier(n)} := {texts[n]} in\n" for n in sorted(reads(definition)))
        text = f"Definition {full_name} {binder} : {kind(tensor)} :=\n{lets}  {_defined(definition)}."
        by_name[tensor.name] = Function(full_name, (), text, tensor, ())
        texts[tensor.name] = f"({full_name} {words})"
    return by_name


def _value_of(x: e.Node) -> e.Node:
    """Return an expression without its conditions of definedness. Tensors that only conditions read can be pruned."""
    return _value_of(x.value) if isinstance(x, e.Given) else mapped(x, _value_of)


def _flat(program: p.Program) -> list[p.Definition]:
    """Return all definitions in one list, the definitions of a loop's step before the loop.

    A loop without carries is left out, as its step defines its arrays at all times. Raises NotPrintedError for a loop
    in a loop, and for one whose length is not known.
    """
    flat: list[p.Definition] = []
    for definition in program.definitions:
        if isinstance(definition, p.Loop):
            if definition.length is None or not all(isinstance(d, (p.Defined, p.Table)) for d in definition.body):
                raise NotPrintedError("a loop in a loop, or without a length")
            flat += definition.body
            if not definition.carries:
                continue
        flat.append(definition)
    return flat


def _unknown(definition: p.Determined | p.Loop) -> list[p.Tensor]:
    """Return the tensors that a definition's equations determine: of a loop, its carries."""
    return [c.tensor for c in definition.carries] if isinstance(definition, p.Loop) else list(definition.tensors)


def equations(definition: p.Determined | p.Loop) -> str:
    """Return the proposition that tensors satisfy the equations that determine them.

    Raises NotPrintedError for equations inside a loop.
    """
    if isinstance(definition, p.Loop):
        return _recurrence(definition)
    if any(t.times for t in definition.tensors):
        raise NotPrintedError("what an equation determines in a loop")
    ranges = _ranges(definition.variables, definition.tensors[0].shape)
    conjunction = " /\\ ".join(proposition(equation, {}) for equation in definition.equations)
    return f"({ranges}{conjunction})"


def _recurrence(loop: p.Loop) -> str:
    """Return the equations of a loop: each carry at time 0, and at time t + 1 by the carries at time t."""
    conditions = []
    for carry in loop.carries:
        name, shape, axes = identifier(carry.tensor.name), carry.tensor.shape, carry.variables
        at = " ".join(["", *axes])
        ranges = _ranges(axes, shape)
        conditions.append(f"({ranges}{name} 0%Z{at} = {printed(carry.start)})")
        assert loop.length is not None
        later = _ranges((loop.time, *axes), (loop.length, *shape))
        conditions.append(f"({later}{name} ({loop.time} + 1)%Z{at} = {printed(carry.step)})")
    every = " /\\ ".join(conditions)
    return f"({every})"


def _ranges(variables: Sequence[str], counts: Sequence[e.Node]) -> str:
    """Return the beginning of a proposition about all values of these variables in their ranges; "" without any."""
    ranges = [f"(0 <= {v} < {printed(n)})%Z -> " for v, n in zip(variables, counts, strict=False)]
    return f"forall {' '.join(variables)} : Z, {''.join(ranges)}" if ranges else ""


def let(definition: p.Defined | p.Table, typed: bool = False) -> str:
    """Return the line `let … in` that defines a tensor.

    It is `typed` where Coq may be unable to infer the type, as no later text uses the tensor.
    """
    of = f" : {kind(definition.tensor)}" if typed else ""
    return f"  let {identifier(definition.tensor.name)}{of} := {_defined(definition)} in"


def assumed_by(program: p.Program) -> tuple[str, ...]:
    """Return the names of the functions without a definition in Coq that the program takes as arguments."""
    return tuple(sorted({f for d in program.definitions for x in p.expressions_of(d) for f in _functions(x)}))


def head(program: p.Program, assumed: Sequence[str], sizes: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the binders of a program's function, and its arguments: assumed functions, sizes, inputs."""
    binders = [f"({f} : {function_type(ASSUMED[f])})" for f in assumed]
    binders += [f"({' '.join(map(of_size, sizes))} : Z)"] if sizes else []
    binders += [f"({identifier(t.name)} : {kind(t)})" for t in program.inputs]
    return binders, (*assumed, *map(of_size, sizes), *(identifier(t.name) for t in program.inputs))


def kind(tensor: p.Tensor) -> str:
    """Return the type of a tensor: a function of the times of the loops that it is in, and then of its indices."""
    if tensor.sort not in TYPES:
        raise NotPrintedError(f"entries of sort {tensor.sort}")
    return "Z -> " * (len(tensor.times) + len(tensor.shape)) + TYPES[tensor.sort]


def require_single_tensor(definition: p.Definition) -> p.Defined | p.Table:
    """Return the definition, if it gives one tensor by an expression or a table. Raises NotPrintedError for others."""
    if isinstance(definition, (p.Defined, p.Table)):
        return definition
    reasons = {p.Loop: "a loop", p.Determined: "what an equation determines", p.Opaque: "an opaque operation"}
    raise NotPrintedError(reasons[type(definition)])


def _defined(definition: p.Defined | p.Table) -> str:
    """Return a tensor as a function of its indices."""
    if isinstance(definition, p.Table):
        return _table(definition)
    entry = printed(definition.entry)
    return f"fun {' '.join(definition.variables)} => {entry}" if definition.variables else entry


def _table(table: p.Table) -> str:
    """Return a constant array as a function of its indices: a chain of "if the row-major place is k then value".

    Raises NotPrintedError for an array of more than `MAX_TABLE` entries.
    """
    if len(table.values) > MAX_TABLE:
        raise NotPrintedError(f"a constant array of {len(table.values)} entries")
    axes = [f"i{k}" for k in range(len(table.tensor.shape))]
    place = "0"
    for axis, size in zip(axes, table.tensor.shape, strict=True):
        place = axis if place == "0" else f"({place} * {printed(size)} + {axis})"
    text = _value(table.values[-1])
    for k, value in reversed(list(enumerate(table.values[:-1]))):
        text = f"if ({place} =? {k})%Z then {_value(value)} else {text}"
    return f"fun {' '.join(axes)} => {text}" if axes else text


def _value(value: e.Node) -> str:
    return printed(value)


def _functions(x: e.Node) -> set[str]:
    """Return the names of the functions in an expression that have no definition in Coq."""
    nodes = (n for n in walk(x) if isinstance(n, e.Infinity | e.Apply))
    return ASSUMED.keys() & {INFINITE if isinstance(n, e.Infinity) else n.function for n in nodes}
