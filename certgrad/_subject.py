"""The subject of a proof: an op, a rule in a user's code, two functions, a graph.

One class for all, so that a guard which inspects a subject inspects every kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from certgrad.language.tree import Statement
    from certgrad.obligations.balls._rule import Structure
    from certgrad.obligations.tracing.ideals import Ideal
    from certgrad.signatures.cases import Case

OF_RULES = ("jvp_is_derivative", "vjp_is_adjoint", "rule_runs_forward")
OF_REFERENCE = "forward_equals_reference"


@dataclass(frozen=True)
class Rules:
    """The callables under audit, all over flat lists: `forward(args)`, `jvp(args, tangents)`, `vjp(args, seeds)`.

    `jvp` is None where the rule has none of its own: its VJP is then compared with the forward's derivative. `primal`
    is what the rule itself computes as the output (its `fwd`), or None where that is `forward`. `reference` is a plain
    function that the forward is declared to equal. `both` gives what `primal` and `vjp` do, by one call;
    given None, its cotangents are what the function returns. `pushed` gives what `primal` and `jvp` do. Each takes the
    parameters (real numbers, as scalars) last.
    These are closures over the subject's own functions.
    """

    forward: Callable[[list, list], list]
    jvp: Callable[[list, list, list], list] | None
    vjp: Callable[[list, list, list], list]
    primal: Callable[[list, list], list] | None
    reference: Callable[[list, list], list] | None = None
    both: Callable[[list, list | None, list], tuple[list, list]] | None = None
    pushed: Callable[[list, list, list], tuple[list, list]] | None = None


class Subject(Protocol):
    """A forward with derivative rules, the shapes it is declared for, and the code that runs."""

    name: str
    arg_names: tuple[str, ...]
    cases: tuple[Case, ...]
    params: Mapping[str, str | None]
    """Arguments that are real numbers, each with its constraint, if it has one."""
    domain: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    """Conditions of the domain that nobody declares: the audit takes them, and lists them as hypotheses."""

    @property
    def granted(self) -> Mapping[str, Statement]:
        """Hypotheses that its programs see to themselves, by what the author says: `a is symmetric`. They give the
        argument that property.
        """
        return {}

    structures: Mapping[str, Structure] = {}
    """By argument, what its programs make of the array whatever it is: points are drawn with it."""
    broadcast: bool = False

    defaults: Mapping[str, Any] = {}
    convention: Mapping[str, str] = {}
    torch_at: Mapping[str, str] = {}
    like: str | None = None
    torch: str | None = None
    source: str | None = None

    is_op: bool = False
    """Declared as an op: it has to be one program in every dtype, and Python computes no floats of sizes in it."""
    is_composed: bool = False
    """An op that is a program of others: its hypotheses are those of its parts."""
    suspects_library: bool = False
    """JAX's own code: what JAX asks of dimensions is what the rule asks."""
    rules_of_nodes: bool = False
    """A program of many operations, each with a rule: of installed packages only the rules are of interest."""
    undefined_differs: bool = True
    """That one side has a value where the other has none is a difference."""
    conformance: bool | None = None
    """Compare what was traced with what happens at numbers and in calls; None where that is no part of the audit."""
    tentative: bool = False
    """One of several readings, of which one is audited in full: what is proved is not compared with what runs."""
    ideals: Sequence[Ideal] = ()
    """What its rules call and the proof reads as what that approximates."""
    under_jit: bool = False
    """Its rules run as parts of one program, which JAX makes with what it remembers of the same helpers."""
    proofs_alone: bool = False
    """Nothing is asked but whether all is proved: what is open ends the audit, and no witness is searched for."""
    steps: int | None = None
    """For one proof, if not as many as for any."""
    seconds: float | None = None

    @property
    def declared(self) -> list[str]:
        """The conditions of the domain that its author states."""
        return [text for text in self.domain if text not in self.assumed]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The obligations: none is about a JVP or a reference that the subject does not have."""
        return OF_RULES

    @property
    def derivative_of(self) -> str:
        """The name of the function whose derivative is claimed, where it is another than the forward."""
        return ""

    @property
    def code(self) -> Sequence[Any]:
        """The functions that run, and objects such as a `custom_vjp` that hold them."""
        ...

    def rules(self, statics: Mapping[str, Any]) -> Rules:
        """Return the forward and the rules with the structural arguments fixed."""
        ...

    def check_complete(self) -> None:
        """Raise DeclarationError, naming what is missing, unless all rules are declared."""
        return

    def __hash__(self) -> int:
        return id(self)


def is_op(value: object) -> bool:
    """Return whether an object is an op, declared with its rules by `certgrad.op`."""
    return Subject in type(value).__mro__ and type(value).is_op  # type: ignore[attr-defined]
