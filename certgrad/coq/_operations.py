"""A lemma of a graph in Coq: its programs, its theorems, and an operation (of `proofs/Graph.v`) made of them."""

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
"""Highest rank of a tensor in a slot: `proofs/Graph.v` has a function for each rank that reads one (`at0` … `at5`)."""


class Operation:
    """A lemma's programs and theorems, the operation made of them, and the theorem that the operation is lawful.

    An operation of `proofs/Graph.v` has the shapes of its inputs and outputs, its forward (`run`), JVP (`push`) and VJP
    (`pull`) on slots, and its `domain`, the hypotheses. `moving` are the lemma's inputs that have tangents, which are
    read from slots; `held` are the others, which are arguments of the definition.
    """

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
        """Return the definition of the operation as a record of Coq, and keep its forward programs in `self.forward`.

        Its functions take lists of tensors, `x'`, `dx'` and `seed'`; where a program reads the k-th tensor of a list,
        the text of `_slot_tensor` stands for it.
        """
        case = self.case
        run, push, pull = (require_no_hypotheses(group) for group in (case.forward, case.jvp, case.vjp))
        self.forward = run
        x = {identifier(t.name): f"({_slot_tensor('x', k, t)})" for k, t in enumerate(self.moving)}
        dx = x | {identifier(t.name): f"({_slot_tensor('dx', k, t)})" for k, t in enumerate(case.tangents)}
        seed = x | {identifier(t.name): f"({_slot_tensor('seed', k, t)})" for k, t in enumerate(case.seeds)}
        name = f"{self.name}_operation"
        in_domain = [f"fun x' => {_applied(h, self.moving, x)}" for h in case.assumptions(self.lemma.hypotheses)]
        lines = [
            f"Definition {name}{self.binders} : operation := {{|",
            f"  takes := {shapes(self.moving)};",
            f"  gives := {shapes([f.output for f in run])};",
            f"  run := fun x' => {_slots(run, x)};",
            f"  push := fun x' dx' => {_slots(push, dx)};",
            f"  pull := fun x' seed' => {_slots(pull, seed)};",
            f"  domain := [{'; '.join(in_domain)}]",
            "|}.",
        ]
        return Function(name, (), "\n".join(lines), run[0].output, ())

    def at(self, sizes: Mapping[str, e.Node], held: Sequence[str]) -> str:
        """Return the operation applied to a node's sizes, and to the names of its values that do not move.

        Raises NotPrintedError where the node does not say what a size of the lemma is.
        """
        if unknown := [n for n in self.case.sizes if n not in sizes]:
            raise NotPrintedError(f"{self.lemma.title}: the size {unknown[0]} at a node")
        return " ".join([self.definition.name, *(printed(sizes[n]) for n in self.case.sizes), *held])

    def _lawful(self) -> Theorem:
        """Return the theorem that the operation is lawful, by the lemma's theorems on its JVP and its VJP."""
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
        """Return the statement that the operation, at all sizes and held values, has the predicate."""
        words = call(self.definition.name, [*self.sizes, *(identifier(t.name) for t in self.held)])
        over = f"  forall{self.binders},\n" if self.binders else ""
        return f"{over}{''.join(f'  {says} ->{chr(10)}' for says in self.case.sizes_hold())}  {predicate} {words}"

    def of_nodes(self, predicate: str, *others: str) -> str:
        """Return the statement that every node with this operation, whatever it reads, has the predicate.

        `others` are further arguments of the predicate.
        """
        words = " ".join([self.definition.name, *self.sizes, *(identifier(t.name) for t in self.held)])
        premises = "".join(f"  {premise} ->\n" for premise in self.case.sizes_hold())
        node = f"{{| does := {words}; reads := reads' |}}"
        return f"  forall{self.binders} (reads' : list N),\n{premises}  {' '.join([predicate, node, *others])}"


@dataclass(frozen=True, eq=False)
class Placed:
    """A node with the first slot that it fills, and the operation that it is an instance of; None for a loop."""

    node: Node
    operation: Operation | None
    slot: int


def binders(sizes: Sequence[str], tensors: Sequence[p.Tensor]) -> str:
    """Return the binders of a definition or a theorem, for sizes and for tensors that do not move."""
    of_sizes = f" ({' '.join(sizes)} : Z)" if sizes else ""
    return of_sizes + "".join(f" ({identifier(t.name)} : {type_of(t)})" for t in tensors)


def call(name: str, words: Sequence[str]) -> str:
    """Return a name applied to words, in parentheses; the name alone without any."""
    return f"({' '.join([name, *words])})" if words else name


def require_no_hypotheses(group: list[Function] | NotPrintedError | None) -> list[Function]:
    """Return the functions of a program, if they need no hypotheses on functions and no equations for arrays.

    Raises NotPrintedError otherwise, and for a program that could not be printed, or does not exist (None).
    """
    if group is None or isinstance(group, NotPrintedError):
        raise group or NotPrintedError("a rule without a JVP")
    if any(f.assumed or f.solved for f in group):
        raise NotPrintedError("a function or an array of which equations or hypotheses speak")
    return group


def _rank(tensor: p.Tensor) -> int:
    """Return the rank of a tensor in a slot. Raises NotPrintedError if it is too high, or the entries are not reals."""
    if len(tensor.shape) > MAX_RANK or tensor.sort != "real":
        raise NotPrintedError(f"a tensor of rank {len(tensor.shape)} of {tensor.sort} entries that moves")
    return len(tensor.shape)


def _slot_tensor(slots: str, k: int, tensor: p.Tensor, *, of_time: bool = False) -> str:
    """Return slot `k` of `slots`, read as a function of the tensor's indices; with `of_time`, of a curve at time t'."""
    return f"at{_rank(tensor)} ({f'curve{_P} t{_P}' if of_time else f'{slots}{_P}'} {k}%nat)"


_P = "'"
"""The last character of the names of bound variables: the name of a tensor never ends so."""


def in_slot(k: int, tensor: p.Tensor) -> str:
    """Return slot `k` of x', read as a function of the tensor's indices."""
    return f"({_slot_tensor('x', k, tensor)})"


def as_tensor(tensor: p.Tensor, function: str) -> str:
    """Return a function of indices as a tensor that fills a slot."""
    return f"(of{_rank(tensor)} {function})"


def _slots(outputs: Sequence[Function], given: Mapping[str, str]) -> str:
    """Return the slots of the outputs of a program, at the given arguments."""
    return f"slots_of [{'; '.join(f'of{_rank(f.output)} {f.at([], **given)}' for f in outputs)}]"


def _applied(proposition: str, tensors: Sequence[p.Tensor], values: Mapping[str, str]) -> str:
    """Return a proposition about tensors at the given values of them."""
    binders = "".join(f" ({identifier(t.name)} : {type_of(t)})" for t in tensors)
    return f"(fun{binders} => {proposition}) {' '.join(values.values())}" if tensors else proposition


def shapes(tensors: Sequence[p.Tensor]) -> str:
    """Return the list of the tensors' shapes."""
    return f"[{'; '.join('[' + '; '.join(map(printed, t.shape)) + ']' for t in tensors)}]"
