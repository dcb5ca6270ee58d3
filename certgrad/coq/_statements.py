"""The statements of a rule's obligations in Coq, from the specification's reading of its traced programs.

Sizes are integers of at least 1, tensors are functions of their indices, and the hypotheses are those of the
certificate. A star group (any number of axes, as in `*s`) is one axis here: that an op treats all axes of a group alike
is a claim of the certificate, and no part of these theorems.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from certgrad._subject import Subject
from certgrad.language import tree as e
from certgrad.language.parse import parse
from certgrad.language.tree import OffBoundaries, Statement
from certgrad.specification import program as p
from certgrad.specification.reading import meaning
from certgrad.specification.rule import UnreadableError

from ._boundaries import off_boundaries
from ._definedness import conditions
from ._errors import NotPrintedError
from ._expressions import ASSUMED, INFINITE, function_type, printed
from ._hypotheses import Hypotheses
from ._names import identifier, is_generated, of_size, of_sizes, shadowed
from ._points import constant_tensor, point
from ._programs import EQUATIONS, Function, functions
from ._programs import kind as type_of
from ._theorem import Theorem, first_solving_tactic

Entry = Callable[[list[str]], str]
_AND = " /\\\n  "
"""The separator of the parts of a conclusion."""
_Conclusion = tuple[str, list[p.Tensor], list[Function], tuple[str, ...]]
"""A conclusion's text, the tensors that it is about, the programs that it mentions, and proof scripts for it."""


@dataclass(frozen=True)
class Section:
    """One case of a rule: its programs as definitions, and its theorems."""

    title: str
    definitions: tuple[Function, ...]
    theorems: tuple[Theorem, ...]
    before: tuple[Function, ...] = ()
    """Definitions of other sections that those of this section mention."""


DEFINED_SUFFIX = "_where_defined"
"""The end of a theorem's kind, where it says that an obligation's programs are defined under its hypotheses."""


CAN_HOLD_KIND = "hypotheses_can_hold"
"""The kind of a theorem that says that there is a point at which all hypotheses of a case hold."""


STEPS = frozenset(
    "is_lawful nodes_are_lawful nodes_are_wired is_told nodes_are_told is_local nodes_are_local nodes_compute".split()
)
"""The kinds of theorems about the parts of a graph, which only serve to prove those about the whole graph."""


def is_obligation(kind: str) -> bool:
    """Return whether a theorem of this kind states an obligation of the certificate, or one for a whole graph."""
    return kind != CAN_HOLD_KIND and kind not in STEPS and not kind.endswith(DEFINED_SUFFIX)


class NothingToProveError(Exception):
    """The obligation is about a program that the rule does not have."""


ASSUMPTIONS = {
    "lgamma": (
        ("digamma",),
        "(forall x : R, (0 < x \\/ x <> IZR (floor x)) -> is_derive lgamma x (digamma x))",
    ),
    "digamma": (
        ("polygamma",),
        "(forall x : R, (0 < x \\/ x <> IZR (floor x)) -> is_derive digamma x (polygamma 1 x))",
    ),
    "erf_inv": (
        (),
        "(forall x : R, -1 < x < 1 -> is_derive erf_inv x (sqrt PI / 2 * exp (erf_inv x * erf_inv x)))",
    ),
    "polygamma": (
        (),
        "(forall (n : Z) (x : R), (0 <= n)%Z -> (0 < x \\/ x <> IZR (floor x)) -> "
        "is_derive (polygamma (IZR n)) x (polygamma (IZR (n + 1)) x))",
    ),
    "igamma": (
        ("igamma_grad_a", "lgamma"),
        "(forall a x : R, 0 < a -> 0 < x -> "
        "differentiable_pt_lim igamma a x (igamma_grad_a a x) (exp ((a - 1) * ln x - x - lgamma a)))",
    ),
    "bessel_i0e": (
        ("bessel_i1e",),
        "(forall x : R, is_derive (fun y => exp (Rabs y) * bessel_i0e y) x (exp (Rabs x) * bessel_i1e x))",
    ),
    "bessel_i1e": (
        ("bessel_i0e",),
        "(forall x : R, x <> 0 -> is_derive (fun y => exp (Rabs y) * bessel_i1e y) x "
        "(exp (Rabs x) * (bessel_i0e x - bessel_i1e x / x)))",
    ),
}
"""By function that `proofs/` does not define: the other functions in the hypothesis on it, and the hypothesis."""


class Case:
    """A case of a subject, whose programs have been traced at symbolic dimensions."""

    def __init__(self, subject: Subject, case: Any, programs: Any, name: str, *, curves: bool = False) -> None:
        """Prepare the statements of a case: sizes, inputs, tangents and seeds, and its programs as functions of Coq.

        Inputs move along the lines x + t·dx; with `curves`, along any curves that have the derivatives dx at t = 0.
        """
        self.subject, self.name = subject, name
        spec = case.signature.inputs
        forward = meaning(programs.forward)
        count = len(spec)
        shapes = [t.shape for t in forward.inputs]
        read = [forward, *self._read(programs.primal, programs.jvp, programs.vjp)]
        of_inputs = (n for shape in shapes for x in shape for n in _sizes(x))
        self.sizes = tuple(dict.fromkeys((*of_inputs, *(n for program in read for n in _sizes_of(program)))))
        self._words = {*of_sizes(self.sizes), *ASSUMED}
        names = [self._called(n) for n in (*subject.arg_names, *subject.params)]
        if len(names) != len(shapes):
            raise NotPrintedError("arguments that are two arrays each")
        self.inputs = [replace(t, name=n) for n, t in zip(names, forward.inputs, strict=True)]
        self.original = dict(zip((*subject.arg_names, *subject.params), self.inputs, strict=True))
        self.moving = [k for k, spec_of_input in enumerate(spec) if spec_of_input.dtype == "float"]
        self.tangents = [replace(self.inputs[k], name=self._called(f"d{names[k]}")) for k in self.moving]
        moved = [self._called(f"{names[k]}_t") for k in self.moving] if curves else []
        self.curves = [replace(self.inputs[k], name=n) for k, n in zip(self.moving, moved, strict=False)]
        outs = forward.outputs
        seeds = [self._called("seed") if len(outs) == 1 else self._called(f"seed_{k}") for k in range(len(outs))]
        self.seeds = [replace(t, name=n) for n, t in zip(seeds, outs, strict=True)]
        self.params = self.inputs[count:]
        args = self.inputs[:count]
        self.traced = programs.forward
        self.forward = self._functions("forward", programs.forward, self.inputs)
        self.primal = None if programs.primal is None else self._functions("fwd", programs.primal, self.inputs)
        rule = [*args, *self.tangents, *self.params]
        self.jvp = None if programs.jvp is None else self._functions("jvp", programs.jvp, rule)
        self.vjp = self._functions("vjp", programs.vjp, [*args, *self.seeds, *self.params])
        self.conditions = {
            "forward": self._conditions("forward", programs.forward, self.inputs),
            "fwd": self._conditions("fwd", programs.primal, self.inputs),
            "jvp": self._conditions("jvp", programs.jvp, rule),
            "vjp": self._conditions("vjp", programs.vjp, [*args, *self.seeds, *self.params]),
        }

    def _called(self, name: str) -> str:
        """Return the name with `_` appended until it is that of no other tensor, size or printed definition."""
        while identifier(name) in self._words or is_generated(name):
            name = f"{name}_"
        self._words.add(identifier(name))
        return name

    @staticmethod
    def _read(*programs: Any) -> Iterator[p.Program]:
        """Yield the programs that the specification can read."""
        for program in programs:
            if program is not None:
                with contextlib.suppress(UnreadableError):
                    yield meaning(program)

    def _functions(self, what: str, program: Any, inputs: Sequence[p.Tensor]) -> list[Function] | NotPrintedError:
        try:
            read = meaning(program, [t.name for t in inputs])
            return functions(identifier(f"{self.name}_{what}"), read, self.sizes)
        except UnreadableError as error:
            return NotPrintedError(str(error))
        except NotPrintedError as error:
            return error

    def _conditions(self, what: str, program: Any, inputs: Sequence[p.Tensor]) -> list[Function] | NotPrintedError:
        if program is None:
            return []
        try:
            read = meaning(program, [t.name for t in inputs])
            return conditions(identifier(f"{self.name}_{what}_is_defined"), read, self.sizes)
        except (UnreadableError, NotPrintedError) as error:
            return NotPrintedError(str(error))

    @property
    def definitions(self) -> tuple[Function, ...]:
        groups = (self.forward, self.primal, self.jvp, self.vjp)
        printed_functions = tuple(f for group in groups if isinstance(group, list) for f in group)
        return (*printed_functions, *self.defining) if self.infinite else printed_functions

    @property
    def infinite(self) -> bool:
        """Whether some program still contains an infinity."""
        groups = (self.forward, self.primal, self.jvp, self.vjp)
        return any(INFINITE in f.assumed for group in groups if isinstance(group, list) for f in group)

    @property
    def defining(self) -> tuple[Function, ...]:
        """The definitions of the conditions under which the programs are defined."""
        return tuple(f for group in self.conditions.values() if isinstance(group, list) for f in group)

    def theorem(self, kind: str, hypotheses: Sequence[Statement], *, where: bool = False) -> Theorem:
        """Return the obligation as a theorem; with `where`, the theorem that its programs are defined.

        Both have the hypotheses as premises. A theorem that cannot be printed has the reason instead of a statement.
        """
        kind = f"{kind}{DEFINED_SUFFIX}" if where else kind
        name = identifier(f"{self.name}_{kind}")
        try:
            return self._theorem(name, kind, hypotheses)
        except NotPrintedError as error:
            return Theorem(name, kind, reason=f"not printed: {error}")
        except NothingToProveError as error:
            return Theorem(name, kind, reason=str(error), stated=False)

    def point(self, hypotheses: Sequence[Statement]) -> Theorem:
        """Return the theorem that these hypotheses hold together at some sizes and inputs.

        If they cannot be printed, or no point is found, the theorem has the reason instead of a statement.
        """
        name = identifier(f"{self.name}_{CAN_HOLD_KIND}")
        try:
            constraints = [parse(c, tuple(self.subject.params)) for c in self.subject.params.values() if c]
            premises = [*self.sizes_hold(), *self.assumptions(hypotheses)]
            if any(re.search(rf"\b{function}\b", premise) for function in ASSUMED for premise in premises):
                raise NotPrintedError("a hypothesis on a function that is not defined")
            solution = point([*constraints, *hypotheses], self.original, self.sizes)
        except NotPrintedError as error:
            return Theorem(name, CAN_HOLD_KIND, reason=f"not printed: {error}")
        if solution is None:
            return Theorem(name, CAN_HOLD_KIND, reason="no point was found")
        sizes, entries = solution
        binders = [f"exists ({of_size(n)} : Z)," for n in self.sizes]
        binders += [f"exists ({identifier(t.name)} : {type_of(t)})," for t in self.inputs]
        values = [f"{sizes[n]}%Z" for n in self.sizes]
        values += [constant_tensor(t, entries.get(n, Fraction(1))) for n, t in self.original.items()]
        shown = "".join(f"exists {v}; " for v in values)
        statement = "\n".join(f"  {line}" for line in [*binders, " /\\ ".join(f"({s})" for s in premises) or "True"])
        return Theorem(name, CAN_HOLD_KIND, statement, (f"{shown}can_hold",))

    def _theorem(self, name: str, kind: str, hypotheses: Sequence[Statement]) -> Theorem:
        """Return the theorem of one obligation under these hypotheses, with the proof scripts that Coq tries in order.

        Raises NotPrintedError where the obligation or one of its names cannot be printed.
        """
        conclusions: dict[str, Callable[[], _Conclusion]] = {
            "jvp_is_derivative": self._derivative,
            "vjp_is_adjoint": self._adjoint,
            "rule_runs_forward": self._primal,
            f"jvp_is_derivative{DEFINED_SUFFIX}": partial(self._defined, "forward", "jvp"),
            f"vjp_is_adjoint{DEFINED_SUFFIX}": partial(self._defined, "jvp", "vjp"),
            f"rule_runs_forward{DEFINED_SUFFIX}": partial(self._defined, "fwd", "forward"),
        }
        if kind not in conclusions:
            raise NotPrintedError(f"the obligation {kind}")
        conclusion, tensors, used, ways = conclusions[kind]()
        if taken := shadowed((f.name for f in used), self._words):
            raise NotPrintedError(f"a size or an array with the name {taken}, which a definition has")
        if any(INFINITE in f.assumed for f in used) and not kind.endswith(DEFINED_SUFFIX):
            conclusion, tensors, used, ways = self._and_defined(kind, conclusion, tensors, used, ways)
        assumed = tuple(dict.fromkeys(f for function in used for f in function.assumed))
        extra = tuple(dict.fromkeys(g for f in assumed for g in ASSUMPTIONS.get(f, ((), ""))[0] if g not in assumed))
        lines = [f"  forall ({f} : {function_type(ASSUMED[f])})," for f in (*assumed, *extra)]
        if self.sizes:
            lines.append(f"  forall ({' '.join(map(of_size, self.sizes))} : Z),")
        lines += [f"  forall ({identifier(t.name)} : {type_of(t)})," for t in tensors]
        preconditions = [*self.sizes_hold(), *(ASSUMPTIONS[f][1] for f in assumed if f in ASSUMPTIONS)]
        premises = self.assumptions(hypotheses)
        if kind == "jvp_is_derivative":
            lines += [f"  forall ({identifier(t.name)} : R -> {type_of(t)})," for t in self.curves]
            preconditions += [*map(self._along, self.curves, self.moving, self.tangents)]
        lines += [f"  {text} ->" for text in (*preconditions, *premises)]
        start = "start; plain_hypotheses" if any(isinstance(s, OffBoundaries) for s in hypotheses) else "start"
        ways = (*self._composed(kind, used), *_unfolded(used, ways))
        if _AND in conclusion and len(ways) > 1:  # the parts may need different ways
            ways = (*ways, first_solving_tactic(ways))
        return Theorem(
            name,
            kind,
            "\n".join([*lines, conclusion]),
            tuple(f"{start}; {way}" for way in ways),
            hypotheses=" /\\ ".join(premises),
        )

    def sizes_hold(self) -> list[str]:
        """Return the premises that each size is at least 1."""
        return [f"(1 <= {printed(x)})%Z" for x in (*map(e.Size, self.sizes), *self._compound())]

    def assumptions(self, hypotheses: Sequence[Statement]) -> list[str]:
        """Return the constraints of parameters and the hypotheses as propositions, each once."""
        speaking = Hypotheses(self.inputs, self.sizes)
        speaking.tensors = self.original
        constraints = [parse(c, tuple(self.subject.params)) for c in self.subject.params.values() if c]
        return list(dict.fromkeys(f"({self._assumed(speaking, s)})" for s in (*constraints, *hypotheses)))

    def _assumed(self, speaking: Hypotheses, statement: Statement) -> str:
        """Return a hypothesis as a proposition; `OffBoundaries` is about the comparisons in the forward."""
        if not isinstance(statement, OffBoundaries):
            return speaking.statement(statement)
        try:
            return off_boundaries(meaning(self.traced, [t.name for t in self.inputs]))
        except UnreadableError as error:
            raise NotPrintedError(str(error)) from error

    def _compound(self) -> list[e.Node]:
        """Return the sizes of the arguments' axes that are expressions in other sizes, such as 2·n."""
        sizes = dict.fromkeys(n for t in self.inputs for n in t.shape if not isinstance(n, (e.Size, e.Integer)))
        return list(sizes)

    def _derivative(self) -> _Conclusion:
        """Return the conclusion that each output of the JVP is d/dt of the forward, of moved inputs, at t = 0."""
        forward, jvp = _require_printed(self.forward), self.jvp
        if jvp is None:
            raise NotPrintedError("a rule without a JVP of its own")
        parts = []
        moved = self._moved()
        for f, g in zip(forward, _require_printed(jvp), strict=True):
            indices, ranges = _indices(f.output)
            body = f"is_derive (fun t => {f.at(indices, **moved)}) 0 {g.at(indices)}"
            parts.append(f"{ranges}{body}")
        solved = "".join([*(f.solutions(**moved) for f in forward), *(g.solutions() for g in _require_printed(jvp))])
        conclusion = f"{solved}{_together(parts)}"
        return conclusion, [*self.inputs, *self.tangents], [*forward, *_require_printed(jvp)], ("derivative",)

    def _along(self, curve: p.Tensor, k: int, tangent: p.Tensor) -> str:
        """Return the premise on a curve: at time 0 it has the input's value, and the tangent as its derivative."""
        names = _indices(curve)[0]
        x_t = " ".join([identifier(curve.name), "t", *names])
        over = f"forall {' '.join(names)} : Z, " if names else ""
        return f"({over}dual (fun t => {x_t}) {_entry_text(self.inputs[k], names)} {_entry_text(tangent, names)})"

    def _moved(self) -> dict[str, str]:
        """Return by name the moving inputs at the time t: on their curves, or on the lines x + t·dx."""
        if self.curves:
            pairs = zip(self.moving, self.curves, strict=True)
            return {identifier(self.inputs[k].name): f"({identifier(c.name)} t)" for k, c in pairs}
        moved = {}
        for k, tangent in zip(self.moving, self.tangents, strict=True):
            x, dx, indices = identifier(self.inputs[k].name), identifier(tangent.name), _indices(tangent)[0]
            at = " ".join(["", *indices])
            line = f"{x}{at} + t * {dx}{at}"
            moved[x] = f"(fun {' '.join(indices)} => {line})" if indices else f"({line})"
        return moved

    def _adjoint(self) -> _Conclusion:
        """Return the conclusion Σ JVP(x, dx)·seed = Σ dx·VJP(x, seed)."""
        if self.jvp is None:
            return self._seeded()
        vjp, jvp = _require_printed(self.vjp), _require_printed(self.jvp)
        left = [_summed(f.output, f.at, partial(_entry_text, s)) for f, s in zip(jvp, self.seeds, strict=True)]
        right = [_summed(g.output, partial(_entry_text, d), g.at) for g, d in zip(vjp, self.tangents, strict=True)]
        tensors = [*self.inputs, *self.tangents, *self.seeds]
        solved = "".join(f.solutions() for f in (*jvp, *vjp))
        moving, tangents = _names([*self.tangents, *self.seeds]), _names(self.tangents)
        ways = (f"entries_of_indices ({tangents})", "adjoint", f"plain_adjoint ({moving})", f"entries ({tangents})")
        return f"{solved}  {' + '.join(left)}\n  = {' + '.join(right)}", tensors, [*jvp, *vjp], ways

    def _composed(self, kind: str, used: Sequence[Function]) -> list[str]:
        """Return the proof scripts that are tried first, which do not unfold the definitions inside programs."""
        names = " ".join(f.name for f in used)
        if kind.endswith(DEFINED_SUFFIX):
            return [f"cbv beta delta [{names}]; defined_by_parts"]
        laws = {
            "jvp_is_derivative": ("composed_derivative", self.tangents),
            "vjp_is_adjoint": ("composed_adjoint", [*self.tangents, *self.seeds]),
        }
        if kind not in laws or self.jvp is None:
            return []
        law, tensors = laws[kind]
        return [f"cbv beta delta [{names}]; {law} ({_names(tensors)})"]

    def _seeded(self) -> _Conclusion:
        """Return the conclusion for a rule with a VJP only: d/dt Σ seed·f(x + t·dx) at t = 0 is Σ VJP(x, seed)·dx."""
        forward, vjp, moved = _require_printed(self.forward), _require_printed(self.vjp), self._moved()
        left = [
            _summed(f.output, partial(_entry_text, s), partial(f.at, **moved))
            for f, s in zip(forward, self.seeds, strict=True)
        ]
        right = [_summed(g.output, partial(_entry_text, d), g.at) for g, d in zip(vjp, self.tangents, strict=True)]
        tensors = [*self.inputs, *self.tangents, *self.seeds]
        solved = "".join([*(f.solutions(**moved) for f in forward), *(g.solutions() for g in vjp)])
        conclusion = f"{solved}  is_derive (fun t => {' + '.join(left)}) 0\n  ({' + '.join(right)})"
        return conclusion, tensors, [*forward, *vjp], ("seeded",)

    def _primal(self) -> _Conclusion:
        """Return the conclusion that the rule's own forward (`fwd`) gives the outputs of the forward."""
        forward = _require_printed(self.forward)
        if self.primal is None:
            raise NothingToProveError("nothing to prove: the rule has no forward of its own")
        primal = _require_printed(self.primal)
        parts = []
        for f, g in zip(forward, primal, strict=True):
            indices, ranges = _indices(f.output)
            parts.append(f"{ranges}{g.at(indices)} = {f.at(indices)}")
        solved = "".join(f.solutions() for f in (*forward, *primal))
        return f"{solved}{_together(parts)}", [*self.inputs], [*forward, *primal], ("same_value",)

    def _and_defined(
        self, kind: str, conclusion: str, tensors: list[p.Tensor], used: list[Function], ways: tuple[str, ...]
    ) -> _Conclusion:
        """Return a conclusion about programs with infinities, together with the claim that all outputs are defined."""
        programs = {"jvp_is_derivative": ("forward", "jvp"), "vjp_is_adjoint": ("jvp", "vjp")}
        where, _, conditions, by = self._defined(*programs.get(kind, ("fwd", "forward")))
        both = f"  ({conclusion.strip()}){_AND}({where.strip()})"
        return both, tensors, [*used, *conditions], (*by, *ways)

    def _defined(self, *programs: str) -> _Conclusion:
        """Return the conclusion that every entry of the outputs of these programs is defined."""
        if self.primal is None and "fwd" in programs:
            raise NothingToProveError("nothing to prove: the rule has no forward of its own")
        if self.jvp is None:
            programs = tuple("forward" if program == "jvp" else program for program in programs)
        used = [f for program in programs for f in _require_printed(self.conditions[program])]
        parts = []
        for f in used:
            indices, ranges = _indices(f.output)
            parts.append(f"{ranges}{f.at(indices)}")
        tensors = [
            *self.inputs,
            *(self.tangents if "jvp" in programs else []),
            *(self.seeds if "vjp" in programs else []),
        ]
        return _together(parts), tensors, used, ("defined_and_determined",)


def _unfolded(used: Sequence[Function], ways: tuple[str, ...]) -> Iterator[str]:
    """Yield the proof scripts with the programs unfolded, inside tactics for the loops, windows … of the programs."""
    names = ", ".join(f.name for f in used)
    laws = []
    if any("least_lt" in f.text for f in used):
        laws.append("ordered")
    if any(word in f.text for f in used for word in ("max_where", "max_lt", "min_lt")):
        laws.append("windows")
    if solved := ", ".join(f"{f.name}{EQUATIONS}" for f in used if f.solved):
        word = "loops" if any(t.times for f in used for t in f.solved) else "solutions"
        laws.append(f"unfold {solved} in *; cbv beta zeta in *; {word}")
    if laws and len(ways) > 1:
        ways = (*ways, first_solving_tactic(ways))
    for way in ways:
        for law in reversed(laws):
            way = f"{law} ltac:({way})"
        yield f"unfold {names}; cbv beta zeta; {way}"


def _require_printed(group: list[Function] | NotPrintedError) -> list[Function]:
    if isinstance(group, NotPrintedError):
        raise group
    return group


def _names(tensors: Sequence[p.Tensor]) -> str:
    return ", ".join(identifier(t.name) for t in tensors)


def _indices(tensor: p.Tensor) -> tuple[list[str], str]:
    """Return names for the indices of the tensor, and the beginning of a proposition "for all of them in range"."""
    names = [f"i{k}" for k in range(len(tensor.shape))]
    if not names:
        return [], ""
    ranges = "".join(f"(0 <= {i} < {printed(n)})%Z -> " for i, n in zip(names, tensor.shape, strict=True))
    return names, f"forall {' '.join(names)} : Z, {ranges}"


def _entry_text(tensor: p.Tensor, indices: Sequence[str]) -> str:
    return f"({' '.join([identifier(tensor.name), *indices])})" if indices else identifier(tensor.name)


def _summed(tensor: p.Tensor, left: Entry, right: Entry) -> str:
    """Return Σ left·right over all indices of the tensor's shape, the inner product of two arrays."""
    names, _ = _indices(tensor)
    text = f"{left(names)} * {right(names)}"
    for i, n in reversed(list(zip(names, tensor.shape, strict=True))):
        text = f"(sum_lt {printed(n)} (fun {i} => {text}))"
    return text if names else f"({text})"


def _together(parts: Sequence[str]) -> str:
    if len(parts) == 1:
        return f"  {parts[0]}"
    return "  " + _AND.join(f"({part})" for part in parts)


def _sizes(x: e.Node) -> Iterator[str]:
    return (n.name for n in e.walk(x) if isinstance(n, e.Size))


def _sizes_of(program: p.Program) -> Iterator[str]:
    """Yield the sizes that a program mentions, also those that no argument has, such as the length of a pad."""
    for tensor in program.outputs:
        for n in tensor.shape:
            yield from _sizes(n)
    for definition in program.definitions:
        for part in p.expressions_of(definition):
            yield from _sizes(part)
