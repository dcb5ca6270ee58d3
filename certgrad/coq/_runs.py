"""The theorem that the nodes of a graph compute the function's program, by `proofs/Runs.v`.

The program is the specification's reading of the whole trace, which does not depend on how the trace was divided into
nodes and lemmas. Each of its tensors has a definition of its own; the theorem is about the tensors that are outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ._errors import NotPrintedError
from ._graph import NODES_PER_LIST, Graph, Value, input_name
from ._operations import Operation, Placed, as_tensor, call, in_slot
from ._programs import Function, chain
from ._theorem import Theorem

RUN_KIND = "program_is_run"
_SEEN = (
    "read places reads does run gives slots_of List.nth List.map N.to_nat Pos.to_nat Pos.iter_op Init.Nat.add "
    "Nat.ltb Nat.leb Init.Nat.sub at0 at1 at2 at3 at4 at5 of0 of1 of2 of3 of4 of5"
)
"""The definitions that Coq unfolds to see which value a slot has."""


class Runs:
    """The definitions of a graph's program, and the theorems that its nodes compute it."""

    def __init__(
        self,
        graph: Graph,
        name: str,
        placed: Sequence[Placed],
        slots: Mapping[Value, int],
        scope: tuple[str, Sequence[str], str],
    ) -> None:
        """Print the whole program.

        `placed` are the graph's nodes, and `slots` the slots of its values. `scope` are the binders of each theorem,
        the names that these bind, and the premises. Raises NotPrintedError where the program has a loop, reads a large
        constant or does not compute the value of some node.
        """
        self.graph, self.name, self.placed, self.slots = graph, name, placed, slots
        self.binders, self.words, self.given = scope
        if graph.program is None or any(p.operation is None for p in placed):
            raise NotPrintedError("a program with a loop")
        inputs = {}
        for k, node in enumerate(graph.nodes):
            if node.moves and node.lemma is None:
                inputs[input_name(k)] = in_slot(slots[k, 0], node.outputs[0])
            elif not node.moves and node.program is None:
                inputs[input_name(k)] = f"v{k}'"
        used = {t.name for t in graph.program.inputs}
        if not used <= inputs.keys():
            raise NotPrintedError("a large constant in the program")
        at = " ".join([*self.words, "x'"])
        self.program = chain(f"{name}_program", graph.program, f"{self.binders} (x' : slots)".strip(), at, inputs)
        if unknown := [p.node.text for p in placed if not set(p.node.said) & self.program.keys()]:
            raise NotPrintedError(f"{unknown[0].partition(' [')[0]}, which the program does not compute by itself")
        self.outputs = graph.program.outputs
        self.chunks = [placed[k : k + NODES_PER_LIST] for k in range(0, len(placed), NODES_PER_LIST)]

    @property
    def definitions(self) -> Iterator[Function]:
        """Yield the definitions of the program, of the value in each slot, and of the outputs."""
        yield from self.program.values()
        filled = [self._tensor(n) if n in self.program else "zero" for place in self.placed for n in place.node.said]
        for what, text in (
            ("tensors", f"list tensor := [\n  {_lines(filled)}]"),
            ("says", f"slots := slots_of [{_lines([self._tensor(t.name) for t in self.outputs])}]"),
        ):
            name = f"{self.name}_{what}"
            text = f"Definition {name}{self.binders} (x' : slots) : {text}."
            yield Function(name, (), text, self.outputs[0], ())

    def _tensor(self, name: str) -> str:
        """Return a tensor of the program as the content of a slot."""
        function = self.program[name]
        return as_tensor(function.output, self._at_inputs(function.name))

    def _at_inputs(self, name: str) -> str:
        return call(name, [*self.words, "x'"])

    def theorems(self, operations: Sequence[Operation], lists: Sequence[str]) -> Iterator[Theorem]:
        """Yield the theorems that the graph computes the program.

        First, each operation is local: it reads entries inside of shapes only. Then, the nodes of each list compute the
        program's tensors, and are local. Last, the graph's outputs are the program's.
        """
        for operation in operations:
            forward = ", ".join(f.name for f in operation.forward)
            script = f"reads_inside ltac:(unfold {operation.definition.name}) ltac:(unfold {forward})"
            yield Theorem(f"{operation.name}_is_local", "is_local", operation.of_itself("local"), (script,))
        every = f"(beyond {self.placed[0].slot} x' {self._at_inputs(f'{self.name}_tensors')})"
        for name, chunk in zip(lists, self.chunks, strict=True):
            nodes = call(name, self.words)
            script = "; ".join(["intros", f"unfold {name}", *map(self._computed, chunk), "exact I"])
            statement = f"{self.given}  forall x' : slots, computes {chunk[0].slot} {nodes} {every}"
            yield Theorem(f"{name}_compute", "nodes_compute", statement, (script,))
            laws = [f"{place.operation.name}_is_local" for place in chunk if place.operation]
            steps = [f"(apply List.Forall_cons; [apply {law}; sizes_hold | ])" for law in laws]
            script = "; ".join(["intros", f"unfold {name}", *steps, "apply List.Forall_nil"])
            statement = f"{self.given}  List.Forall (fun n' => local (does n')) {nodes}"
            yield Theorem(
                f"{name}_are_local", "nodes_are_local", statement, (script,), needs=tuple(dict.fromkeys(laws))
            )
        yield self._whole(lists)

    def _computed(self, one: Placed) -> str:
        """Return the tactic that proves that a node computes the program's tensors in its slots."""
        assert one.operation is not None
        operation = one.operation.definition.name
        tensors = [self.program[n].name for n in (*one.node.said, *one.node.through) if n in self.program]
        definitions = " ".join([*(f.name for f in one.operation.forward), *dict.fromkeys(tensors)])
        seen = f"cbv [{self.name}_tensors beyond {operation} {_SEEN}]"
        unfold_operation, to = f"unfold {operation} in * ", one.slot + len(one.node.outputs)
        return f"(node_computes {to}%nat ltac:({unfold_operation}) ltac:({seen}) ltac:(cbv delta [{definitions}]))"

    def _whole(self, lists: Sequence[str]) -> Theorem:
        """Return the theorem that the program's outputs are the graph's values at all points of its domain.

        It follows from the theorems on the lists: all nodes are local, and all compute the program's tensors. The
        script puts these together, list by list, and then compares the outputs.
        """
        name, count = self.name, self.placed[0].slot
        nodes, inputs, outs, gives = (
            call(f"{name}_{what}", self.words) for what in ("nodes", "inputs", "outputs", "gives")
        )
        local = [f"(apply List.Forall_app; split; [apply {n}_are_local; assumption | ])" for n in lists[:-1]]
        computed = [f"(apply computes_app; [apply {n}_compute; assumption | ])" for n in lists[:-1]]
        local = [f"unfold {name}_nodes", *local, f"apply {lists[-1]}_are_local; assumption"]
        computed = [f"unfold {name}_nodes", *computed, f"apply {lists[-1]}_compute; assumption"]
        tensors, program_values = (self._at_inputs(f"{name}_{what}") for what in ("tensors", "says"))
        all_slots = f"(beyond {count} x' {tensors})"
        unfolding = f"cbv [of_slots {name}_outputs {name}_says {name}_tensors beyond {_SEEN}]"
        defined = ", ".join(self.program[t.name].name for t in self.outputs)
        script = (
            f"intros; apply (program_is_run {inputs} {nodes} {outs} {gives} x' {tensors} {program_values}); "
            f"[apply {name}_nodes_are_wired; assumption | {'; '.join(local)} | "
            f"change (computes {count} {nodes} {all_slots}); {'; '.join(computed)} | "
            f"change (agree {gives} (of_slots {outs} {all_slots}) {program_values}); "
            f"outputs_same ltac:(unfold {name}_gives in * ) ltac:({unfolding}) ltac:(unfold {defined}) | assumption]"
        )
        statement = (
            f"{self.given}  forall x' : slots, in_domain {count} {nodes} x' ->\n"
            f"  agree {gives} (of_slots {outs} (values {count} {nodes} x')) {program_values}"
        )
        parts = (f"{n}_{what}" for n in lists for what in ("are_local", "compute"))
        return Theorem(f"{name}_{RUN_KIND}", RUN_KIND, statement, (script,), needs=(f"{name}_nodes_are_wired", *parts))


def _lines(texts: Sequence[str]) -> str:
    return ";\n  ".join(texts)
