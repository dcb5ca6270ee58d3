"""A certified graph as a file of Coq: its lemmas once each, its nodes as instances of them, the theorem of the whole.

What moves stands in slots: first the inputs that move, then what each node gives. What does not move, as tokens, masks
and constants, is defined before the nodes, by the specification's reading of its own equation, and operations are made
of it. The theorems about the whole are those of `proofs/Graph.v`, applied to the list of nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from certgrad.specification import expression as e
from certgrad.specification.reading import meaning
from certgrad.specification.rule import UnreadableError

from ._errors import NotPrintedError
from ._export import File, comment
from ._expressions import printed
from ._graph import CHUNK, QUIET, Claim, Graph, Lemma, Node, Value
from ._names import identifier
from ._operations import Operation, binders, call, shapes, simple
from ._programs import Function, functions
from ._programs import kind as type_of
from ._signs import Claims
from ._statements import Section, Theorem

KINDS = ("nodes_are_wired", "nodes_are_lawful", "tangents_are_derivatives", "sweep_is_adjoint", "sweep_is_gradient")


def export_graph(graph: Graph) -> File:
    """The file of a graph. Where a part cannot be printed, the theorems about the whole say why."""
    name = identifier(graph.name)
    operations: dict[Lemma, Operation] = {}
    sections: list[Section] = []
    why = ""
    for k, lemma in enumerate(dict.fromkeys(node.lemma for node in graph.nodes if node.lemma is not None)):
        words = "".join(c if c.isalnum() else " " for c in lemma.title.partition("(")[0].partition("[")[0]).split()
        try:
            operations[lemma] = found = Operation(lemma, "_".join([name, str(k + 1), *words]))
            sections += found.sections
        except (UnreadableError, NotPrintedError) as error:
            why = why or f"not printed: {lemma.title}: {error}"
    try:
        whole = None if why else _Whole(graph, name, operations).section()
    except (UnreadableError, NotPrintedError) as error:
        whole, why = None, f"not printed: {error}"
    if whole is None:
        whole = _without(name, why)
    before = tuple(d for section in sections for d in section.definitions)
    laws = Section(
        f"{comment(name)}: operations",
        tuple(o.definition for o in operations.values()),
        tuple(o.lawful for o in operations.values()),
        before,
    )
    whole = Section(whole.title, whole.definitions, whole.theorems, (*before, *laws.definitions))
    return File(name, graph.name, (*sections, laws, whole), ("Library", "Graph", "Signs"))


def graph_not_printed(name: str, reason: str) -> File:
    """The file of a graph of which nothing can be printed, for this reason."""
    return File(identifier(name), name, (_without(identifier(name), reason),))


def _without(name: str, why: str) -> Section:
    return Section(comment(name), (), tuple(Theorem(f"{name}_{kind}", kind, reason=why) for kind in KINDS[:4]))


class _Whole:
    """The graph: its lists of nodes and inputs, and the theorems about them."""

    def __init__(self, graph: Graph, name: str, operations: Mapping[Lemma, Operation]) -> None:
        self.graph, self.name, self.operations = graph, name, operations
        self.unknown: list[e.Tensor] = []
        self.held: dict[Value, str] = {}
        for number, node in enumerate(graph.nodes):
            if not node.moves and node.program is None:
                (tensor,) = node.outputs
                self.unknown.append(e.Tensor(f"v{number}", tensor.shape, tensor.sort))
                self.held[number, 0] = f"v{number}"
        self.sizes = [identifier(n) for n in graph.sizes]
        self.binders = binders(self.sizes, self.unknown)
        self.words = [*self.sizes, *(t.name for t in self.unknown)]
        self.definitions: list[Function] = []
        self.inputs: list[e.Tensor] = []
        self.slots: dict[Value, int] = {}
        self.compound: dict[str, None] = {}
        self.nodes: list[tuple[str, str]] = []
        """Each with the theorem that it is lawful."""
        self.placed: list[tuple[Operation, Claim]] = []
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
            self.placed.append((operation, node.claim))
            compound = [n for n in node.sizes.values() if not isinstance(n, (e.Size, e.Integer))]
            self.compound |= dict.fromkeys(f"(1 <= {printed(n)})%Z" for n in compound)
        for k in range(len(node.outputs)):
            self.slots[number, k] = len(self.slots)

    def _constant(self, number: int, node: Node) -> None:
        names = [f"x{k}" for k in range(len(node.reads))]
        reads = dict(zip(names, map(self._held, node.reads), strict=True))
        name = f"{self.name}_v{number}"
        program = meaning(node.program, names)
        for k, f in enumerate(simple(functions(f"{name}_program", program, self.graph.sizes))):
            here = f"{name}_{k}"
            text = f"Definition {here}{self.binders} : {type_of(f.output)} := {f.at([], **reads)}."
            self.definitions += f, Function(here, (), f"(* {comment(node.text)} *)\n{text}", f.output, ())
            self.held[number, k] = call(here, self.words)

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
            f"{self.name}_nodes": f"list node := ({' ++ '.join(call(n, self.words) for n in self.lists)})%list",
            f"{self.name}_inputs": f"list shape := {shapes(self.inputs)}",
            f"{self.name}_outputs": f"list nat := List.map N.to_nat [{slots}]%N",
            f"{self.name}_gives": f"list shape := {shapes(outputs)}",
        }
        given = [*(f"(1 <= {n})%Z" for n in self.sizes), *self.compound]
        self.given = "".join([f"  forall{self.binders},\n" if self.binders else "", *(f"  {g} ->\n" for g in given)])
        lists = [
            Function(n, (), f"Definition {n}{self.binders} : {text}.", outputs[0], ()) for n, text in parts.items()
        ]
        laws = list(self._laws(chunks))
        theorems = (*laws, *self._theorems(list(parts), laws))
        if any(claim != QUIET for _, claim in self.placed):
            claims = Claims(self.name, self.placed, self.lists, self.given, self.words, len(self.inputs))
            lists += claims.definitions
            theorems = (*theorems, *claims.theorems)
        return Section(comment(self.graph.name), (*self.definitions, *lists), theorems)

    def _laws(self, chunks: Sequence[Sequence[tuple[str, str]]]) -> Iterator[Theorem]:
        """That the nodes of each list are lawful."""
        for name, chunk in zip(self.lists, chunks, strict=True):
            steps = [f"(apply List.Forall_cons; [apply {law}; sizes_hold | ])" for _, law in chunk]
            script = "; ".join(["intros", f"unfold {name}", *steps, "apply List.Forall_nil."])
            statement = f"{self.given}  List.Forall lawful {call(name, self.words)}"
            needs = tuple(dict.fromkeys(law for _, law in chunk))
            yield Theorem(f"{name}_are_lawful", "nodes_are_lawful", statement, script, needs=needs)

    def _theorems(self, lists: Sequence[str], laws: Sequence[Theorem]) -> Iterator[Theorem]:
        """About the whole."""
        name, given = self.name, self.given
        nodes, inputs, outputs, gives = (
            call(f"{name}_{what}", self.words) for what in ("nodes", "inputs", "outputs", "gives")
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


def _lines(texts: Sequence[str]) -> str:
    return ";\n  ".join(texts)
