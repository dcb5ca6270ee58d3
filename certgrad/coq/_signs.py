"""Claims on signs at the nodes of a graph, and the theorem that they discharge hypotheses, by `proofs/Signs.v`.

A claim (`Claim`) says which signs the outputs of a node have, if its operands have certain signs. Positive operands can
make a hypothesis of the node's lemma true, which then need not be assumed of the graph's inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ._graph import NO_CLAIM, NODES_PER_LIST, Claim
from ._operations import Operation, Placed, call
from ._programs import Function
from ._theorem import Theorem

DISCHARGED = "hypotheses_are_discharged"


class Claims:
    """The definitions of the claims on a graph's nodes, in lists like those of the nodes, and the theorems on them."""

    def __init__(
        self,
        name: str,
        placed: Sequence[Placed],
        lists: Sequence[str],
        given: str,
        words: Sequence[str],
        inputs: int,
    ) -> None:
        self.name, self.lists = name, lists
        self.placed = [(place.operation, place.node.claim) for place in placed]
        self.given, self.words, self.inputs = given, words, inputs
        pairs = [(o, claim) for o, claim in dict.fromkeys(self.placed) if claim != NO_CLAIM and o is not None]
        self.told = {pair: f"{pair[0].name}_is_told_{k + 1}" for k, pair in enumerate(pairs)}
        self.chunks = [self.placed[k : k + NODES_PER_LIST] for k in range(0, len(placed), NODES_PER_LIST)]

    @property
    def definitions(self) -> Iterator[Function]:
        """Yield the definitions of the lists of claims."""
        names = [f"{name}_claims" for name in self.lists]
        texts = [f"[{'; '.join(_text(claim) for _, claim in chunk)}]" for chunk in self.chunks]
        output = next(iter(self.told))[0].case.seeds[0]
        for name, text in (*zip(names, texts, strict=True), (f"{self.name}_claims", f"({' ++ '.join(names)})%list")):
            yield Function(name, (), f"Definition {name} : list claim := {text}.", output, ())

    @property
    def theorems(self) -> Iterator[Theorem]:
        """Yield the theorems on signs.

        The first say that the claims of each operation hold, the next that the claims of each list of nodes hold, and
        the last that a point is in the graph's domain if the hypotheses hold which the claims leave open.
        """
        for (operation, claim), name in self.told.items():
            yield Theorem(name, "is_told", operation.of_nodes("told", _text(claim)), (_script(operation),))
        parts = [f"{name}_are_told" for name in self.lists]
        for name, part, chunk in zip(self.lists, parts, self.chunks, strict=True):
            used = [self.told[o, claim] if o is not None and claim != NO_CLAIM else "quiet_told" for o, claim in chunk]
            steps = [f"(apply List.Forall2_cons; [apply {theorem}; sizes_hold | ])" for theorem in used]
            script = "; ".join(["intros", f"unfold {name}, {name}_claims", *steps, "apply List.Forall2_nil"])
            needs = tuple(theorem for theorem in dict.fromkeys(used) if theorem != "quiet_told")
            nodes = call(name, self.words)
            statement = f"{self.given}  List.Forall2 told {nodes} {name}_claims"
            yield Theorem(part, "nodes_are_told", statement, (script,), needs=needs)
        nodes, inputs = (call(f"{self.name}_{what}", self.words) for what in ("nodes", "inputs"))
        claims, wired = f"{self.name}_claims", f"{self.name}_nodes_are_wired"
        joined = [f"(apply List.Forall2_app; [apply {part}; assumption | ])" for part in parts[:-1]]
        all_told = "; ".join([f"unfold {self.name}_nodes, {claims}", *joined, f"apply {parts[-1]}; assumption"])
        left = "" if self.nothing_left else f"left_to_ask {self.inputs} {nodes} {claims} x' -> "
        script = (
            f"intros; apply (left_is_all _ {claims} {inputs} (List.repeat Any {self.inputs})); "
            f"[apply {wired}; assumption | vm_compute; reflexivity | reflexivity | {all_told} | apply nothing_said | "
            f"{'apply nothing_asked; vm_compute; reflexivity' if self.nothing_left else 'assumption'}]"
        )
        statement = f"{self.given}  forall x' : slots, {left}in_domain {self.inputs} {nodes} x'"
        yield Theorem(f"{self.name}_{DISCHARGED}", DISCHARGED, statement, (script,), needs=(wired, *parts))

    @property
    def nothing_left(self) -> bool:
        """Whether no node has a hypothesis that its claim leaves open."""
        return not any(claim.asks and (o is None or o.lemma.hypotheses) for o, claim in self.placed)


def _script(operation: Operation) -> str:
    """Return the proof script for a claim of an operation."""
    unfolding = f"unfold {operation.definition.name}"
    forward = ", ".join(f.name for f in operation.forward)
    return f"intros; claim_holds {len(operation.moving)}%nat ltac:({unfolding} in * ) ltac:(unfold {forward})"


def _text(claim: Claim) -> str:
    """Return a claim as a record of Coq."""
    if claim == NO_CLAIM:
        return "quiet"
    knows, tells = ("; ".join(signs) for signs in (claim.knows, claim.tells))
    return f"{{| knows := [{knows}]; tells := [{tells}]; asks := {str(claim.asks).lower()} |}}"
