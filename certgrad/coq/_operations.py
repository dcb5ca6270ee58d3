"""A lemma of a graph in Coq: its programs, its theorems, and the operation of `proofs/Graph.v` that is made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from certgrad.language import tree as e
from certgrad.specification import program as p

from ._errors import NotPrintedError
from ._export import comment
from ._expressions import printed
from ._graph import Lemma, Node
from ._names import identifier, of_sizes
from ._programs import Function
from ._programs import kind as type_of
from ._statements import Case, Section
from ._theorem import Theorem

MAX_RANK = 5
"""Of tensors in slots: `proofs/Graph.v` has their readings by rank."""


class Operation:
    """A lemma's programs and theorems, the operation made of them, and the theorem that it has its certificates."""

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
        self.sizes = of_sizes(case.sizes)
        self.binders = binders(self.sizes, self.held)
        self.definition = self._defined()
        self.lawful = self._lawful()

    def _defined(self) -> Function:
        case = self.case
        run, push, pull = (require_no_hypotheses(group) for group in (case.forward, case.jvp, case.vjp))
        self.forward = run
        x = {identifier(t.name): f"({_slot_tensor('x', k, t)})" for k, t in enumerate(self.moving)}
        dx = x | {identifier(t.name): f"({_slot_tensor('dx', k, t)})" for k, t in enumerate(case.tangents)}
        seed = x | {identifier(t.name): f"({_slot_tensor('seed', k, t)})" for k, t in enumerate(case.seeds)}
        name = f"{self.name}_operation"
        asked = [f"fun x' => {_applied(h, self.moving, x)}" for h in case.assumptions(self.lemma.hypotheses)]
        lines = [
            f"Definition {name}{self.binders} : operation := {{|",
            f"  takes := {shapes(self.moving)};",
            f"  gives := {shapes([f.output for f in run])};",
            f"  run := fun x' => {_slots(run, x)};",
            f"  push := fun x' dx' => {_slots(push, dx)};",
            f"  pull := fun x' seed' => {_slots(pull, seed)};",
            f"  domain := [{'; '.join(asked)}]",
            "|}.",
        ]
        return Function(name, (), "\n".join(lines), run[0].output, ())

    def at(self, sizes: Mapping[str, e.Node], held: Sequence[str]) -> str:
        """The operation at sizes and at what does not move."""
        if unknown := [n for n in self.case.sizes if n not in sizes]:
            raise NotPrintedError(f"{self.lemma.title}: the size {unknown[0]} at a node")
        return " ".join([self.definition.name, *(printed(sizes[n]) for n in self.case.sizes), *held])

    def _lawful(self) -> Theorem:
        case = self.case
        values = [
            _slot_tensor("x", self.moving.index(t), t) if t in self.moving else identifier(t.name) for t in case.inputs
        ]
        tangents = [_slot_tensor("dx", k, t) for k, t in enumerate(case.tangents)]
        seeds = [_slot_tensor("seed", k, t) for k, t in enumerate(case.seeds)]
        curves = [f"fun t' => {_slot_tensor('x', k, t, of_time=True)}" for k, t in enumerate(self.moving)]
        derivative, adjoint = (
            " ".join([law.name, *self.sizes, *(f"({a})" for a in (*values, *tangents, *last))])
            for law, last in zip(self.laws, (curves, seeds), strict=False)
        )
        script = (
            f"intros; unfold {self.definition.name}; split; [intros x' dx' seed' D'; lawful_adjoint ({adjoint}) | "
            f"intros curve' x' dx' D' M'; lawful_derivative ({derivative})]"
        )
        needs = tuple(law.name for law in self.laws[:2])
        return Theorem(f"{self.name}_lawful", "is_lawful", self.of_nodes("lawful"), (script,), needs=needs)

    def of_itself(self, predicate: str) -> str:
        """Return a predicate of the operation as a theorem's statement."""
        words = call(self.definition.name, [*self.sizes, *(identifier(t.name) for t in self.held)])
        over = f"  forall{self.binders},\n" if self.binders else ""
        return f"{over}{''.join(f'  {says} ->{chr(10)}' for says in self.case.sizes_hold())}  {predicate} {words}"

    def of_nodes(self, predicate: str, *others: str) -> str:
        """Return a predicate of every node with this operation as a theorem's statement."""
        words = " ".join([self.definition.name, *self.sizes, *(identifier(t.name) for t in self.held)])
        given = "".join(f"  {says} ->\n" for says in self.case.sizes_hold())
        node = f"{{| does := {words}; reads := reads' |}}"
        return f"  forall{self.binders} (reads' : list N),\n{given}  {' '.join([predicate, node, *others])}"


@dataclass(frozen=True, eq=False)
class Placed:
    """A node in its place: the operation that it is an instance of, if of one, and the first slot that it fills."""

    node: Node
    operation: Operation | None
    slot: int


def binders(sizes: Sequence[str], tensors: Sequence[p.Tensor]) -> str:
    """The binders of a definition or a theorem: sizes, and tensors that are held."""
    of_sizes = f" ({' '.join(sizes)} : Z)" if sizes else ""
    return of_sizes + "".join(f" ({identifier(t.name)} : {type_of(t)})" for t in tensors)


def call(name: str, words: Sequence[str]) -> str:
    """A name applied to words."""
    return f"({' '.join([name, *words])})" if words else name


def require_no_hypotheses(group: list[Function] | NotPrintedError | None) -> list[Function]:
    """Return the functions, if no hypotheses or equations are about them."""
    if group is None or isinstance(group, NotPrintedError):
        raise group or NotPrintedError("a rule without a JVP")
    if any(f.assumed or f.solved for f in group):
        raise NotPrintedError("a function or an array of which equations or hypotheses speak")
    return group


def _rank(tensor: p.Tensor) -> int:
    if len(tensor.shape) > MAX_RANK or tensor.sort != "real":
        raise NotPrintedError(f"a tensor of rank {len(tensor.shape)} of {tensor.sort} entries that moves")
    return len(tensor.shape)


def _slot_tensor(slots: str, k: int, tensor: p.Tensor, *, of_time: bool = False) -> str:
    """The tensor in a slot as a function of its indices."""
    return f"at{_rank(tensor)} ({f'curve{_P} t{_P}' if of_time else f'{slots}{_P}'} {k}%nat)"


_P = "'"
"""Ends the names of bound variables: no tensor has such a name."""


def in_slot(k: int, tensor: p.Tensor) -> str:
    """The tensor in a slot of x' as a function of its indices."""
    return f"({_slot_tensor('x', k, tensor)})"


def as_tensor(tensor: p.Tensor, function: str) -> str:
    """A function of indices as a tensor."""
    return f"(of{_rank(tensor)} {function})"


def _slots(outputs: Sequence[Function], given: Mapping[str, str]) -> str:
    return f"slots_of [{'; '.join(f'of{_rank(f.output)} {f.at([], **given)}' for f in outputs)}]"


def _applied(proposition: str, tensors: Sequence[p.Tensor], values: Mapping[str, str]) -> str:
    binders = "".join(f" ({identifier(t.name)} : {type_of(t)})" for t in tensors)
    return f"(fun{binders} => {proposition}) {' '.join(values.values())}" if tensors else proposition


def shapes(tensors: Sequence[p.Tensor]) -> str:
    """A list of shapes."""
    return f"[{'; '.join('[' + '; '.join(map(printed, t.shape)) + ']' for t in tensors)}]"
