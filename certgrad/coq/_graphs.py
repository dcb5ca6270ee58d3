"""A certified graph as a file of Coq: its lemmas once each, its nodes as instances of them, the theorem of the whole.

What moves stands in slots: first the inputs that move, then what each node gives. What does not move, as tokens, masks
and constants, is defined before the nodes, by the specification's reading of its own equation, and operations are made
of it. The theorems about the whole are those of `proofs/Graph.v`, applied to the list of nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from certgrad.hypotheses.tree import Statement
from certgrad.specification import expression as e
from certgrad.specification.reading import meaning
from certgrad.specification.rule import UnreadableError

from ._errors import NotPrintedError
from ._export import File, comment
from ._expressions import printed
from ._names import identifier
from ._programs import Function, functions
from ._programs import kind as type_of
from ._statements import Case, Section, Theorem

MAX_RANK = 5
"""Of tensors in slots: `proofs/Graph.v` has their readings by rank."""
CHUNK = 50
"""Nodes in one list of them."""
Value = tuple[int, int]
"""A node and which of its outputs."""


@dataclass(frozen=True)
class Argument:
    """An argument of a lemma: `float` if it moves, else `held`, `int` or `bool`."""

    name: str
    dtype: str


@dataclass(frozen=True, eq=False)
class Lemma:
    """What is proved of one operation at symbolic sizes: the traced programs of its rules, and its hypotheses."""

    title: str
    inputs: tuple[Argument, ...]
    programs: Any
    hypotheses: tuple[Statement, ...]
    params: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def arg_names(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.inputs)

    @property
    def signature(self) -> Lemma:
        """Of its one case: that has these inputs."""
        return self


@dataclass(frozen=True, eq=False)
class Node:
    """A node: one that moves is an input or an instance of a lemma, one that does not a program or an unknown array."""

    text: str
    outputs: tuple[e.Tensor, ...]
    moves: bool
    reads: tuple[Value, ...] = ()
    lemma: Lemma | None = None
    sizes: Mapping[str, e.Expression] = field(default_factory=dict)
    """What the lemma's sizes are here."""
    program: Any = None


@dataclass(frozen=True, eq=False)
class Graph:
    """A certified graph: its sizes, its nodes in order, and those of its outputs that move."""

    name: str
    sizes: tuple[str, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...]


KINDS = ("nodes_are_wired", "nodes_are_lawful", "tangents_are_derivatives", "sweep_is_adjoint", "sweep_is_gradient")


def export_graph(graph: Graph) -> File:
    """The file of a graph. Where a part cannot be printed, the theorems about the whole say why."""
    name = identifier(graph.name)
    operations: dict[Lemma, _Operation] = {}
    sections: list[Section] = []
    why = ""
    for k, lemma in enumerate(dict.fromkeys(node.lemma for node in graph.nodes if node.lemma is not None)):
        words = "".join(c if c.isalnum() else " " for c in lemma.title.partition("(")[0].partition("[")[0]).split()
        try:
            operations[lemma] = found = _Operation(lemma, "_".join([name, str(k + 1), *words]))
            sections += found.sections
        except (UnreadableError, NotPrintedError) as error:
            why = why or f"not printed: {lemma.title}: {error}"
    try:
        whole = None if why else _Whole(graph, name, operations).section()
    except (UnreadableError, NotPrintedError) as error:
        whole, why = None, f"not printed: {error}"
    if whole is None:
        whole = Section(comment(name), (), tuple(Theorem(f"{name}_{kind}", kind, reason=why) for kind in KINDS))
    before = tuple(d for section in sections for d in section.definitions)
    laws = Section(
        f"{comment(name)}: operations",
        tuple(o.definition for o in operations.values()),
        tuple(o.lawful for o in operations.values()),
        before,
    )
    whole = Section(whole.title, whole.definitions, whole.theorems, (*before, *laws.definitions))
    return File(name, graph.name, (*sections, laws, whole), ("Library", "Graph"))


def graph_not_printed(name: str, reason: str) -> File:
    """The file of a graph of which nothing can be printed, for this reason."""
    return File(identifier(name), name, (_without(identifier(name), reason),))


def _without(name: str, why: str) -> Section:
    return Section(comment(name), (), tuple(Theorem(f"{name}_{kind}", kind, reason=why) for kind in KINDS[:4]))


class _Operation:
    """A lemma: its programs and theorems, the operation that is made of them, and that this has its certificates."""

    def __init__(self, lemma: Lemma, name: str) -> None:
        self.lemma, self.name = lemma, name
        self.case = case = Case(lemma, lemma, lemma.programs, name, curves=True)  # type: ignore[arg-type]
        self.moving = [case.inputs[k] for k in case.moving]
        self.held = [t for t in case.inputs if t not in self.moving]
        kinds = ("jvp_is_derivative", "vjp_is_adjoint", "rule_runs_forward")
        self.laws = tuple(case.theorem(kind, lemma.hypotheses) for kind in kinds)
        where = tuple(case.theorem(kind, lemma.hypotheses, where=True) for kind in kinds)
        title = comment(f"{lemma.title}: {name}")
        defining = () if case.infinite else case.defining
        self.sections = Section(title, case.definitions, self.laws), Section(f"{title}, where defined", defining, where)
        self.sizes = [identifier(n) for n in case.sizes]
        self.binders = _binders(self.sizes, self.held)
        self.definition = self._defined()
        self.lawful = self._lawful()

    def _defined(self) -> Function:
        case = self.case
        groups = [_simple(group) for group in (case.forward, case.jvp, case.vjp)]
        run, push, pull = groups
        x = {identifier(t.name): f"({_at('x', k, t)})" for k, t in enumerate(self.moving)}
        dx = x | {identifier(t.name): f"({_at('dx', k, t)})" for k, t in enumerate(case.tangents)}
        seed = x | {identifier(t.name): f"({_at('seed', k, t)})" for k, t in enumerate(case.seeds)}
        name = f"{self.name}_operation"
        asked = [f"fun x' => {_applied(h, self.moving, x)}" for h in case.assumptions(self.lemma.hypotheses)]
        lines = [
            f"Definition {name}{self.binders} : operation := {{|",
            f"  takes := {_shapes(self.moving)};",
            f"  gives := {_shapes([f.output for f in run])};",
            f"  run := fun x' => {_slots(run, x)};",
            f"  push := fun x' dx' => {_slots(push, dx)};",
            f"  pull := fun x' seed' => {_slots(pull, seed)};",
            f"  domain := [{'; '.join(asked)}]",
            "|}.",
        ]
        return Function(name, (), "\n".join(lines), run[0].output, ())

    def at(self, sizes: Mapping[str, e.Expression], held: Sequence[str]) -> str:
        """The operation at sizes and at what does not move."""
        if unknown := [n for n in self.case.sizes if n not in sizes]:
            raise NotPrintedError(f"{self.lemma.title}: the size {unknown[0]} at a node")
        return " ".join([self.definition.name, *(printed(sizes[n]) for n in self.case.sizes), *held])

    def _lawful(self) -> Theorem:
        case = self.case
        words = " ".join([self.definition.name, *self.sizes, *(identifier(t.name) for t in self.held)])
        given = "".join(f"  {says} ->\n" for says in case.sizes_hold())
        statement = (
            f"  forall{self.binders} (reads' : list N),\n{given}  lawful {{| does := {words}; reads := reads' |}}"
        )
        values = [_at("x", self.moving.index(t), t) if t in self.moving else identifier(t.name) for t in case.inputs]
        tangents = [_at("dx", k, t) for k, t in enumerate(case.tangents)]
        seeds = [_at("seed", k, t) for k, t in enumerate(case.seeds)]
        curves = [f"fun t' => {_at('x', k, t, of_time=True)}" for k, t in enumerate(self.moving)]
        derivative, adjoint = (
            " ".join([law.name, *self.sizes, *(f"({a})" for a in (*values, *tangents, *last))])
            for law, last in zip(self.laws, (curves, seeds), strict=False)
        )
        script = (
            f"intros; unfold {self.definition.name}; split; [intros x' dx' seed' D'; lawful_adjoint ({adjoint}) | "
            f"intros curve' x' dx' D' M'; lawful_derivative ({derivative})]."
        )
        needs = tuple(law.name for law in self.laws[:2])
        return Theorem(f"{self.name}_lawful", "is_lawful", statement, script, needs=needs)


class _Whole:
    """The graph: its lists of nodes and inputs, and the theorems about them."""

    def __init__(self, graph: Graph, name: str, operations: Mapping[Lemma, _Operation]) -> None:
        self.graph, self.name, self.operations = graph, name, operations
        self.unknown: list[e.Tensor] = []
        self.held: dict[Value, str] = {}
        for number, node in enumerate(graph.nodes):
            if not node.moves and node.program is None:
                (tensor,) = node.outputs
                self.unknown.append(e.Tensor(f"v{number}", tensor.shape, tensor.sort))
                self.held[number, 0] = f"v{number}"
        self.sizes = [identifier(n) for n in graph.sizes]
        self.binders = _binders(self.sizes, self.unknown)
        self.words = [*self.sizes, *(t.name for t in self.unknown)]
        self.definitions: list[Function] = []
        self.inputs: list[e.Tensor] = []
        self.slots: dict[Value, int] = {}
        self.compound: dict[str, None] = {}
        self.nodes: list[tuple[str, str]] = []
        """Each with the theorem that it is lawful."""
        for number, node in enumerate(graph.nodes):
            if node.moves:
                self._moving(number, node)
            elif node.program is not None:
                self._constant(number, node)

    def _moving(self, number: int, node: Node) -> None:
        if node.lemma is None:
            self.inputs += node.outputs
        else:
            operation = self.operations[node.lemma]
            pairs = list(zip(operation.case.inputs, node.reads, strict=True))
            held = [self._held(value) for t, value in pairs if t in operation.held]
            reads = [str(self.slots[value]) for t, value in pairs if t in operation.moving]
            does = operation.at(node.sizes, held)
            text = f"{{| does := {does}; reads := [{'; '.join(reads)}]%N |}} (* {comment(node.text)} *)"
            self.nodes.append((text, operation.lawful.name))
            compound = [n for n in node.sizes.values() if not isinstance(n, (e.Size, e.Integer))]
            self.compound |= dict.fromkeys(f"(1 <= {printed(n)})%Z" for n in compound)
        for k in range(len(node.outputs)):
            self.slots[number, k] = len(self.slots)

    def _constant(self, number: int, node: Node) -> None:
        names = [f"x{k}" for k in range(len(node.reads))]
        reads = dict(zip(names, map(self._held, node.reads), strict=True))
        name = f"{self.name}_v{number}"
        program = meaning(node.program, names)
        for k, f in enumerate(_simple(functions(f"{name}_program", program, self.graph.sizes))):
            here = f"{name}_{k}"
            text = f"Definition {here}{self.binders} : {type_of(f.output)} := {f.at([], **reads)}."
            self.definitions += f, Function(here, (), f"(* {comment(node.text)} *)\n{text}", f.output, ())
            self.held[number, k] = _call(here, self.words)

    def _held(self, value: Value) -> str:
        if value not in self.held:
            raise NotPrintedError(f"%{value[0]}: integers or booleans of what moves")
        return self.held[value]

    def section(self) -> Section:
        """The definitions of the graph, and its theorems."""
        outputs = [self.graph.nodes[number].outputs[k] for number, k in self.graph.outputs]
        self.scalar = len(outputs) == 1 and not outputs[0].shape
        chunks = [self.nodes[k : k + CHUNK] for k in range(0, len(self.nodes), CHUNK)]
        self.lists = [f"{self.name}_nodes_{k + 1}" for k in range(len(chunks))]
        slots = "; ".join(str(self.slots[value]) for value in self.graph.outputs)
        texts = [f"list node := [\n  {_lines([text for text, _ in chunk])}]" for chunk in chunks]
        parts = {
            **dict(zip(self.lists, texts, strict=True)),
            f"{self.name}_nodes": f"list node := ({' ++ '.join(_call(n, self.words) for n in self.lists)})%list",
            f"{self.name}_inputs": f"list shape := {_shapes(self.inputs)}",
            f"{self.name}_outputs": f"list nat := List.map N.to_nat [{slots}]%N",
            f"{self.name}_gives": f"list shape := {_shapes(outputs)}",
        }
        given = [*(f"(1 <= {n})%Z" for n in self.sizes), *self.compound]
        self.given = "".join([f"  forall{self.binders},\n" if self.binders else "", *(f"  {g} ->\n" for g in given)])
        lists = [
            Function(n, (), f"Definition {n}{self.binders} : {text}.", outputs[0], ()) for n, text in parts.items()
        ]
        laws = list(self._laws(chunks))
        theorems = (*laws, *self._theorems(list(parts), laws))
        return Section(comment(self.graph.name), (*self.definitions, *lists), theorems)

    def _laws(self, chunks: Sequence[Sequence[tuple[str, str]]]) -> Iterator[Theorem]:
        """That the nodes of each list are lawful."""
        for name, chunk in zip(self.lists, chunks, strict=True):
            steps = [f"(apply List.Forall_cons; [apply {law}; sizes_hold | ])" for _, law in chunk]
            script = "; ".join(["intros", f"unfold {name}", *steps, "apply List.Forall_nil."])
            statement = f"{self.given}  List.Forall lawful {_call(name, self.words)}"
            needs = tuple(dict.fromkeys(law for _, law in chunk))
            yield Theorem(f"{name}_are_lawful", "nodes_are_lawful", statement, script, needs=needs)

    def _theorems(self, lists: Sequence[str], laws: Sequence[Theorem]) -> Iterator[Theorem]:
        """About the whole."""
        name, given = self.name, self.given
        nodes, inputs, outputs, gives = (
            _call(f"{name}_{what}", self.words) for what in ("nodes", "inputs", "outputs", "gives")
        )
        known = " ".join([*lists, *(o.definition.name for o in self.operations.values())])
        wired = f"{name}_nodes_are_wired"
        yield Theorem(
            wired,
            KINDS[0],
            f"{given}  well_formed {inputs} {nodes} {outputs} {gives}",
            f"intros; wiring ltac:(cbv [{known}]).",
        )
        joined = [f"(apply List.Forall_app; split; [apply {law.name}; assumption | ])" for law in laws[:-1]]
        script = "; ".join(["intros", f"unfold {name}_nodes", *joined, f"apply {laws[-1].name}; assumption."])
        lawful = f"{name}_nodes_are_lawful"
        needs = tuple(law.name for law in laws)
        yield Theorem(lawful, KINDS[1], f"{given}  List.Forall lawful {nodes}", script, needs=needs)
        count = len(self.inputs)
        at = f"{count} {nodes}"
        by = f"[apply {wired}; assumption | apply {lawful}; assumption | assumption]"
        moves = (
            f"{given}  forall x' dx' : slots, in_domain {at} x' ->\n"
            f"  forall (j' : nat) (i' : list Z), is_derive (fun t' => values {at} (along x' dx' t') j' i') 0\n"
            f"    (tangents {at} x' dx' j' i')"
        )
        script = f"intros; apply tangents_are_derivatives; [apply {lawful}; assumption | assumption]."
        yield Theorem(f"{name}_{KINDS[2]}", KINDS[2], moves, script, needs=(lawful,))
        given_back = (
            f"{given}  forall x' dx' seeds' : slots, in_domain {at} x' ->\n"
            f"  pair {gives} (of_slots {outputs} (tangents {at} x' dx')) seeds'\n"
            f"  = pair {inputs} dx' (sweep {at} x' (scatter {outputs} seeds'))"
        )
        script = f"intros; apply (outputs_are_given_back {inputs}); {by}."
        yield Theorem(f"{name}_{KINDS[3]}", KINDS[3], given_back, script, needs=(wired, lawful))
        if self.scalar:
            out = str(self.slots[self.graph.outputs[0]])
            gradient = (
                f"{given}  forall x' dx' : slots, in_domain {at} x' ->\n"
                f"  is_derive (fun t' => values {at} (along x' dx' t') (N.to_nat {out}) []) 0\n"
                f"    (pair {inputs} dx' (sweep {at} x' (seed_of (N.to_nat {out}))))"
            )
            script = f"intros; apply (sweep_is_gradient {inputs}); {by}."
            yield Theorem(f"{name}_{KINDS[4]}", KINDS[4], gradient, script, needs=(wired, lawful))


def _binders(sizes: Sequence[str], tensors: Sequence[e.Tensor]) -> str:
    of_sizes = f" ({' '.join(sizes)} : Z)" if sizes else ""
    return of_sizes + "".join(f" ({identifier(t.name)} : {type_of(t)})" for t in tensors)


def _call(name: str, words: Sequence[str]) -> str:
    return f"({' '.join([name, *words])})" if words else name


def _lines(texts: Sequence[str]) -> str:
    return ";\n  ".join(texts)


def _simple(group: list[Function] | NotPrintedError | None) -> list[Function]:
    """The functions, if nothing is said of them by hypotheses or equations."""
    if group is None or isinstance(group, NotPrintedError):
        raise group or NotPrintedError("a rule without a JVP")
    if any(f.assumed or f.solved for f in group):
        raise NotPrintedError("a function or an array of which equations or hypotheses speak")
    return group


def _rank(tensor: e.Tensor) -> int:
    if len(tensor.shape) > MAX_RANK or tensor.sort != "real":
        raise NotPrintedError(f"a tensor of rank {len(tensor.shape)} of {tensor.sort} entries that moves")
    return len(tensor.shape)


def _at(slots: str, k: int, tensor: e.Tensor, *, of_time: bool = False) -> str:
    """The tensor in a slot as a function of its indices."""
    return f"at{_rank(tensor)} ({f'curve{_P} t{_P}' if of_time else f'{slots}{_P}'} {k}%nat)"


_P = "'"
"""Ends the names of bound variables: no tensor has such a name."""


def _slots(outputs: Sequence[Function], given: Mapping[str, str]) -> str:
    return f"slots_of [{'; '.join(f'of{_rank(f.output)} {f.at([], **given)}' for f in outputs)}]"


def _applied(proposition: str, tensors: Sequence[e.Tensor], values: Mapping[str, str]) -> str:
    binders = "".join(f" ({identifier(t.name)} : {type_of(t)})" for t in tensors)
    return f"(fun{binders} => {proposition}) {' '.join(values.values())}" if tensors else proposition


def _shapes(tensors: Sequence[e.Tensor]) -> str:
    return f"[{'; '.join('[' + '; '.join(map(printed, t.shape)) + ']' for t in tensors)}]"
