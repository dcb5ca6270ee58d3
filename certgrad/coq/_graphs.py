"""A certified graph as a file of Coq: its lemmas once each, its nodes as instances of them, the theorem of the whole.

Values that move (that have a tangent) are in slots, which are numbered: first the inputs that move, then the outputs of
each node in turn. A value that does not move, such as a token, a mask or a constant, is defined before the nodes, by
the specification's reading of its own equation; operations take it as an argument. The theorems about the whole graph
are those of `proofs/Graph.v`, applied to the list of nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from certgrad.language import tree as e
from certgrad.specification import program as p
from certgrad.specification.reading import meaning
from certgrad.specification.rule import UnreadableError

from ._errors import NotPrintedError
from ._export import File, comment
from ._expressions import printed
from ._graph import NO_CLAIM, NODES_PER_LIST, Graph, Lemma, Loop, Node, Value
from ._names import identifier, of_sizes, shadowed
from ._operations import Operation, Placed, as_tensor, binders, call, require_no_hypotheses, shapes
from ._programs import Function, functions
from ._programs import kind as type_of
from ._runs import RUN_KIND, Runs
from ._signs import Claims
from ._statements import Section
from ._theorem import Theorem

KINDS = ("nodes_are_wired", "nodes_are_lawful", "tangents_are_derivatives", "sweep_is_adjoint", "sweep_is_gradient")


def export_graph(graph: Graph) -> File:
    """Return the file of a graph: the sections of its lemmas, then their operations, then the theorems of the whole.

    Where a part cannot be printed, the theorems about the whole have the reason instead of a statement.
    """
    name = identifier(graph.name)
    operations: dict[Lemma, Operation] = {}
    sections: list[Section] = []
    reason = ""
    for k, lemma in enumerate(dict.fromkeys(_lemmas(graph))):
        words = "".join(c if c.isalnum() else " " for c in lemma.title.partition("(")[0].partition("[")[0]).split()
        try:
            operations[lemma] = operation = Operation(lemma, "_".join([name, str(k + 1), *words]))
            sections += operation.sections
        except (UnreadableError, NotPrintedError) as error:
            reason = reason or f"not printed: {lemma.title}: {error}"
    try:
        whole = None if reason else _section(_Nodes(graph, name, operations))
    except (UnreadableError, NotPrintedError) as error:
        whole, reason = None, f"not printed: {error}"
    if whole is None:
        whole = _without(name, reason)
    lemma_definitions = tuple(d for section in sections for d in section.definitions)
    laws = Section(
        f"{comment(name)}: operations",
        tuple(o.definition for o in operations.values()),
        tuple(o.lawful for o in operations.values()),
        lemma_definitions,
    )
    whole = Section(whole.title, whole.definitions, whole.theorems, (*lemma_definitions, *laws.definitions))
    return File(name, graph.name, (*sections, laws, whole), ("Library", "Graph", "Loops", "Signs", "Runs"))


def graph_not_printed(name: str, reason: str) -> File:
    """Return the file of a graph of which nothing can be printed, with the reason."""
    return File(identifier(name), name, (_without(identifier(name), reason),))


def _without(name: str, why: str) -> Section:
    """Return the section of the whole graph in which each theorem has only the reason why it is not printed."""
    return Section(comment(name), (), tuple(Theorem(f"{name}_{kind}", kind, reason=why) for kind in KINDS[:4]))


def _lemmas(graph: Graph) -> Iterator[Lemma]:
    """Yield the lemmas of a graph's nodes and of the graphs inside them."""
    for node in graph.nodes:
        if node.lemma is not None:
            yield node.lemma
        if node.loop is not None:
            yield from _lemmas(node.loop.body)


class _Nodes:
    """The printed nodes of a graph, in lists, with the definitions before them and the theorems about them.

    The theorems say that the nodes are wired (each reads slots that are filled before, of the right shapes) and lawful
    (each has a JVP that is its derivative, and a VJP that is the adjoint of the JVP).
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        operations: Mapping[Lemma, Operation],
        outer: _Nodes | None = None,
        held: Mapping[Value, str] | None = None,
    ) -> None:
        """Print the nodes of a graph, or of a loop's body.

        `outer` are the nodes around a loop, and `held` the names in Coq of the body's inputs that do not move. An array
        of which nothing is known is a variable of every theorem; inside a loop it raises NotPrintedError.
        """
        self.graph, self.name, self.operations = graph, name, operations
        self.held: dict[Value, str] = dict(held or {})
        opaque = [k for k, n in enumerate(graph.nodes) if not n.moves and n.program is None and (k, 0) not in self.held]
        unknown = [p.Tensor(f"v{k}'", graph.nodes[k].outputs[0].shape, graph.nodes[k].outputs[0].sort) for k in opaque]
        if outer is not None and unknown:
            raise NotPrintedError("an array inside a loop that nothing is said of")
        self.held |= {(k, 0): t.name for k, t in zip(opaque, unknown, strict=True)}
        self.sizes = of_sizes(graph.sizes)
        if taken := shadowed([name], self.sizes):
            raise NotPrintedError(f"a size with the name {taken}, which a definition has")
        # The nodes of a loop's body are stated over the variables of the graph around it.
        self.binders: str = outer.binders if outer else binders(self.sizes, unknown)
        self.words: list[str] = outer.words if outer else [*self.sizes, *(t.name for t in unknown)]
        """The names of the binders, to which each definition is applied."""
        self.compound: dict[str, None] = outer.compound if outer else {}
        """Premises on sizes of nodes that are expressions such as 2·n: each is at least 1."""
        self.definitions: list[Function] = []
        self.inside: list[_Loop] = []
        self.inputs: list[p.Tensor] = []
        self.slots: dict[Value, int] = {}
        self.count = 0  # of slots that are filled so far
        self.nodes: list[tuple[str, str]] = []
        """The text of each node, with the name of the theorem that it is lawful."""
        self.placed: list[Placed] = []
        for number, node in enumerate(graph.nodes):
            if node.moves:
                self._moving(number, node)
            elif node.program is not None:
                self._constant(number, node)
        self.outputs = [graph.nodes[number].outputs[k] for number, k in graph.outputs]
        self.chunks = [self.nodes[k : k + NODES_PER_LIST] for k in range(0, len(self.nodes), NODES_PER_LIST)]
        self.lists = [f"{name}_nodes_{k + 1}" for k in range(len(self.chunks))]

    def _moving(self, number: int, node: Node) -> None:
        """Print a node that moves, and give its outputs slots. An input only gets a slot."""
        if node.loop is not None:
            loop = _Loop(node, f"{self.name}_loop_{number}", self, node.loop)
            self.inside.append(loop)
            self._place(node, loop.does, [self._slot(node, k) for k in loop.moving], f"{loop.nodes.name}_lawful")
        elif node.lemma is not None:
            operation = self.operations[node.lemma]
            pairs = list(zip(operation.case.inputs, node.reads, strict=True))
            held_names = [self._name_of_held(value) for t, value in pairs if t in operation.held]
            reads = [self.slots[value] for t, value in pairs if t in operation.moving]
            self._place(node, operation.at(node.sizes, held_names), reads, operation.lawful.name, operation)
            compound = [n for n in node.sizes.values() if not isinstance(n, (e.Size, e.Integer))]
            self.compound |= dict.fromkeys(f"(1 <= {printed(n)})%Z" for n in compound)
        else:
            self.inputs += node.outputs
        for k in range(len(node.outputs)):
            self.slots[number, k] = self.count
            self.count += 1

    def _place(self, node: Node, does: str, reads: Sequence[int], law: str, operation: Operation | None = None) -> None:
        """Append a node that applies the operation `does` to slots, and by the theorem `law` is lawful."""
        listed = "; ".join(map(str, reads))
        self.nodes.append((f"{{| does := {does}; reads := [{listed}]%N |}} (* {comment(node.text)} *)", law))
        self.placed.append(Placed(node, operation, self.count))

    def _slot(self, node: Node, k: int) -> int:
        """Return the slot of a loop's input `k`, which moves inside the loop.

        A value that does not move outside has no slot yet: a node that is a constant is added, which fills one.
        """
        value = node.reads[k]
        if value not in self.slots:
            tensor = self.graph.nodes[value[0]].outputs[value[1]]
            does = f"constant {shapes([tensor])[1:-1]} {as_tensor(tensor, self._name_of_held(value))}"
            self._place(self.graph.nodes[value[0]], does, [], "constant_is_lawful")
            self.slots[value] = self.count
            self.count += 1
        return self.slots[value]

    def _constant(self, number: int, node: Node) -> None:
        """Define the outputs of a node that does not move, as functions of the values that it reads."""
        names = [f"x{k}'" for k in range(len(node.reads))]
        reads = dict(zip(names, map(self._name_of_held, node.reads), strict=True))
        name = f"{self.name}_v{number}"
        program = meaning(node.program, names)
        for k, f in enumerate(require_no_hypotheses(functions(f"{name}_program", program, self.graph.sizes))):
            output_name = f"{name}_{k}"
            text = f"Definition {output_name}{self.binders} : {type_of(f.output)} := {f.at([], **reads)}."
            self.definitions += f, Function(output_name, (), f"(* {comment(node.text)} *)\n{text}", f.output, ())
            self.held[number, k] = call(output_name, self.words)

    def _name_of_held(self, value: Value) -> str:
        """Return Coq's name for a value that does not move. Raises NotPrintedError for one that moves."""
        if value not in self.held:
            raise NotPrintedError(f"%{value[0]}: integers or booleans of what moves")
        return self.held[value]

    @property
    def given(self) -> str:
        """The binders and premises of a theorem about the nodes: each size is at least 1."""
        premises = [*(f"(1 <= {n})%Z" for n in self.sizes), *self.compound]
        return "".join([f"  forall{self.binders},\n" if self.binders else "", *(f"  {text} ->\n" for text in premises)])

    def called(self, what: str) -> str:
        """Return one of the graph's definitions ("nodes", "inputs", "outputs" or "gives") applied to its arguments."""
        return call(f"{self.name}_{what}", self.words)

    @property
    def all_definitions(self) -> Iterator[Function]:
        """Yield the definitions of values that do not move, of inner graphs, and of the lists."""
        yield from self.definitions
        for loop in self.inside:
            yield from loop.nodes.all_definitions
        slots = "; ".join(str(self.slots[value]) for value in self.graph.outputs)
        joined = " ++ ".join(call(n, self.words) for n in self.lists) or "nil"
        for name, text in (
            *((n, f"list node := [\n  {_lines(chunk)}]") for n, chunk in zip(self.lists, self.chunks, strict=True)),
            (f"{self.name}_nodes", f"list node := ({joined})%list"),
            (f"{self.name}_inputs", f"list shape := {shapes(self.inputs)}"),
            (f"{self.name}_outputs", f"list nat := List.map N.to_nat [{slots}]%N"),
            (f"{self.name}_gives", f"list shape := {shapes(self.outputs)}"),
        ):
            yield Function(name, (), f"Definition {name}{self.binders} : {text}.", self.outputs[0], ())

    @property
    def names(self) -> Iterator[str]:
        """The names of the definitions of lists, those of inner graphs first."""
        for loop in self.inside:
            yield from loop.nodes.names
        yield from (*self.lists, *(f"{self.name}_{what}" for what in ("nodes", "inputs", "outputs", "gives")))

    @property
    def laws(self) -> Iterator[Theorem]:
        """Yield the theorems that the nodes of each list are lawful, that all are wired, and that all are lawful.

        Those of inner graphs come first, as they are used by the others.
        """
        for loop in self.inside:
            yield from loop.laws
        parts = [f"{name}_are_lawful" for name in self.lists]
        for name, part, chunk in zip(self.lists, parts, self.chunks, strict=True):
            steps = [f"(apply List.Forall_cons; [apply {law}; sizes_hold | ])" for _, law in chunk]
            script = "; ".join(["intros", f"unfold {name}", *steps, "apply List.Forall_nil"])
            needs = tuple(dict.fromkeys(law for _, law in chunk if law != "constant_is_lawful"))
            statement = f"{self.given}  List.Forall lawful {call(name, self.words)}"
            yield Theorem(part, KINDS[1], statement, (script,), needs=needs)
        unfolded = [*self.names, *(o.definition.name for o in self.operations.values()), "loop", "of_graph", "constant"]
        statement = f"well_formed {self.called('inputs')} {self.called('nodes')} {self.called('outputs')}"
        script = f"intros; wiring ltac:(cbv [{' '.join(unfolded)}])"
        yield Theorem(
            f"{self.name}_{KINDS[0]}", KINDS[0], f"{self.given}  {statement} {self.called('gives')}", (script,)
        )
        joined = [f"(apply List.Forall_app; split; [apply {part}; assumption | ])" for part in parts[:-1]]
        script = "; ".join(["intros", f"unfold {self.name}_nodes", *joined, f"apply {parts[-1]}; assumption"])
        statement = f"{self.given}  List.Forall lawful {self.called('nodes')}"
        yield Theorem(f"{self.name}_{KINDS[1]}", KINDS[1], statement, (script,), needs=tuple(parts))


class _Loop:
    """A loop as a node, whose step is the graph inside it.

    Raises NotPrintedError where it carries, scans or returns values that do not move.
    """

    def __init__(self, node: Node, name: str, outer: _Nodes, loop: Loop) -> None:
        body = loop.body
        inputs = body.nodes[: len(node.reads)]
        self.moving = [k for k, n in enumerate(inputs) if n.moves]
        if not all(n.moves for n in inputs[loop.consts :]) or len(body.outputs) != len(node.outputs):
            raise NotPrintedError(f"{node.text}: integers or booleans that a loop carries, reads in rows or gives")
        held = {(k, 0): outer._name_of_held(node.reads[k]) for k, n in enumerate(inputs) if not n.moves}
        self.nodes = nodes = _Nodes(body, name, outer.operations, outer, held)
        first, last = sum(k < loop.consts for k in self.moving), loop.consts + loop.carries
        given, gives = nodes.inputs, nodes.outputs
        middle = first + loop.carries
        parts = [given[:first], given[first:middle], given[middle:], gives[loop.carries :]]
        step = " ".join(["of_graph", *(nodes.called(what) for what in ("inputs", "nodes", "outputs", "gives"))])
        self.does = f"loop {' '.join(map(shapes, parts))} ({step}) {printed(loop.length)}"
        assert last <= len(node.reads)

    @property
    def laws(self) -> Iterator[Theorem]:
        """Yield the theorems on the step, and that the loop is lawful."""
        nodes = self.nodes
        yield from nodes.laws
        by = f"apply {nodes.name}_{KINDS[0]}; assumption | apply {nodes.name}_{KINDS[1]}; assumption"
        script = f"intros; apply loop_is_lawful; [reflexivity | reflexivity | apply graph_is_lawful; [{by}]]"
        over, _, premises = nodes.given.rpartition(",\n") if nodes.binders else ("", "", nodes.given)
        over = f"{over} (reads' : list N)" if nodes.binders else "  forall (reads' : list N)"
        statement = f"{over},\n{premises}  lawful {{| does := {self.does}; reads := reads' |}}"
        needs = (f"{nodes.name}_{KINDS[0]}", f"{nodes.name}_{KINDS[1]}")
        yield Theorem(f"{nodes.name}_lawful", "is_lawful", statement, (script,), needs=needs)


def _section(nodes: _Nodes) -> Section:
    """Return the section of the whole graph: its definitions and theorems, also on signs and on its program."""
    definitions, theorems = [*nodes.all_definitions], [*nodes.laws, *_theorems(nodes)]
    if any(placed_node.node.claim != NO_CLAIM for placed_node in nodes.placed):
        claims = Claims(nodes.name, nodes.placed, nodes.lists, nodes.given, nodes.words, len(nodes.inputs))
        definitions += claims.definitions
        theorems += claims.theorems
    try:
        runs = Runs(nodes.graph, nodes.name, nodes.placed, nodes.slots, (nodes.binders, nodes.words, nodes.given))
        definitions += runs.definitions
        theorems += runs.theorems([*nodes.operations.values()], nodes.lists)
    except (UnreadableError, NotPrintedError) as error:
        theorems.append(Theorem(f"{nodes.name}_{RUN_KIND}", RUN_KIND, reason=f"not printed: {error}"))
    return Section(comment(nodes.graph.name), tuple(definitions), tuple(theorems))


def _theorems(nodes: _Nodes) -> Iterator[Theorem]:
    """Yield the theorems about the whole graph, which follow as its nodes are wired and lawful.

    Its tangents are derivatives, its reverse sweep is the adjoint of the tangents, and, for an output that is a single
    number, the sweep is its gradient.
    """
    name, premises, inputs = nodes.name, nodes.given, nodes.called("inputs")
    at = f"{len(nodes.inputs)} {nodes.called('nodes')}"
    wired, lawful = f"{name}_{KINDS[0]}", f"{name}_{KINDS[1]}"
    by = f"[apply {wired}; assumption | apply {lawful}; assumption | assumption]"
    moves = (
        f"{premises}  forall x' dx' : slots, in_domain {at} x' ->\n"
        f"  forall (j' : nat) (i' : list Z), is_derive (fun t' => values {at} (along x' dx' t') j' i') 0\n"
        f"    (tangents {at} x' dx' j' i')"
    )
    script = f"intros; apply tangents_are_derivatives; [apply {lawful}; assumption | assumption]"
    yield Theorem(f"{name}_{KINDS[2]}", KINDS[2], moves, (script,), needs=(lawful,))
    outputs = nodes.called("outputs")
    given_back = (
        f"{premises}  forall x' dx' seeds' : slots, in_domain {at} x' ->\n"
        f"  pair {nodes.called('gives')} (of_slots {outputs} (tangents {at} x' dx')) seeds'\n"
        f"  = pair {inputs} dx' (sweep {at} x' (scatter {outputs} seeds'))"
    )
    script = f"intros; apply (outputs_are_given_back {inputs}); {by}"
    yield Theorem(f"{name}_{KINDS[3]}", KINDS[3], given_back, (script,), needs=(wired, lawful))
    if len(nodes.outputs) == 1 and not nodes.outputs[0].shape:
        out = f"(N.to_nat {nodes.slots[nodes.graph.outputs[0]]})"
        gradient = (
            f"{premises}  forall x' dx' : slots, in_domain {at} x' ->\n"
            f"  is_derive (fun t' => values {at} (along x' dx' t') {out} []) 0\n"
            f"    (pair {inputs} dx' (sweep {at} x' (seed_of {out})))"
        )
        script = f"intros; apply (sweep_is_gradient {inputs}); {by}"
        yield Theorem(f"{name}_{KINDS[4]}", KINDS[4], gradient, (script,), needs=(wired, lawful))


def _lines(chunk: Sequence[tuple[str, str]]) -> str:
    return ";\n  ".join(text for text, _ in chunk)
