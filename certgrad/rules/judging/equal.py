"""`certgrad.equal`: prove that two functions return the same, for all shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import msgspec

from certgrad._subject import OF_REFERENCE, Rules
from certgrad.errors import RuleError, TraceError, UsageError
from certgrad.obligations.auditing.audit import audit
from certgrad.obligations.auditing.claims import untraced
from certgrad.obligations.certificate import PROVED_AS_WRITTEN, Certificate, Claim, with_claims
from certgrad.obligations.generality.instances import family
from certgrad.obligations.meaning.semantics._fits import IN_RANGE
from certgrad.rules.declared.statics import Real
from certgrad.rules.declared.structure import is_whole, real_parts
from certgrad.rules.subject.examine import examine
from certgrad.rules.subject.report import Judged
from certgrad.rules.subject.user_rule import UserRule


@dataclass(frozen=True)
class Equality(Judged):
    """The verdict on whether two functions return the same values, with its conditions and the reason if it is open."""

    left: str
    right: str
    certificate: Certificate

    @property
    def claim(self) -> Claim:
        """The only claim of the certificate."""
        return self.certificate.claims[0]

    @property
    def hypotheses(self) -> list[str]:
        """The conditions under which both functions are defined and equal, as formulas."""
        return [h.text for h in self.claim.hypotheses]

    @property
    def reason(self) -> str:
        """Why the equality is not proved: the reason of the first case that is not; "" if all are."""
        return next((c.reason for c in self.claim.cases if c.verdict not in PROVED_AS_WRITTEN), "")

    @property
    def rests_on(self) -> list[str]:
        """The idealisations of floats and machine integers, and facts about numbers that floats can break."""
        return [*self.claim.idealisations, *self.claim.facts]

    def __str__(self) -> str:
        from certgrad.report import text
        from certgrad.report.audited import open_cases

        lines = [f"{self.left} = {self.right}: {self.verdict}", f"scope: {self._scope}"]
        if self.hypotheses:
            lines.append("under: " + ", ".join(self.hypotheses))
        if self.rests_on:
            lines.append("this rests on: " + "; ".join(self.rests_on))
        return "\n".join([*lines, *(text.block(*pair) for pair in open_cases([self.certificate]))])

    @property
    def _scope(self) -> str:
        return "; ".join(dict.fromkeys(c.scope or "none" for c in self.claim.cases))


def equal(
    left: Callable,
    right: Callable,
    signature: str | Sequence[Any],
    *,
    static: Mapping[str, Any] | None = None,
    domain: str | Sequence[str] = (),
    name: str = "",
    conformance: bool = True,
) -> Equality:
    """Prove that two functions of the same arguments return the same, for all shapes that fit the signature.

    Each output of `left` is compared with that of `right`, entry by entry, over the real numbers; integers and booleans
    count as numbers. A hypothesis excludes the points at which one of the two is undefined.

    Args:
        left: a function, also under `jit` or `partial`; its arguments give the names.
        right: another function, called with the same arguments in the same order.
        signature: the shapes of the array arguments, as for `certgrad.check`. A number at whose every value the
            functions are compared is a scalar array: an argument of shape `""`.
        static: the other arguments, by name: a value, or `certgrad.each(…)` of several.
        domain: hypotheses on the arguments (`"x > 0"`), which the proof may use and then lists.
        name: the name of the left function in the report; its own name if empty.
        conformance: compare the traced programs with traces at numbers and with calls, which can take a proof away.

    Returns the verdict. If the two differ, that is a verdict and not an exception.

    Raises:
        SignatureError, UsageError, DomainError: the declaration does not fit the functions.
    """
    pair = _Pair(left, right, signature, static=static, domain=domain, name=name, conformance=conformance)
    try:
        strange = examine(pair).strange or examine(pair.other).strange
        if strange:
            return Equality(pair.name, pair.other.name, untraced(pair, f"an output is of {strange}"))
        pair.check_outputs()
        certificate = audit(pair)
    except (TraceError, RuleError) as error:
        certificate = untraced(pair, str(error))
    return Equality(pair.name, pair.other.name, _restated(pair, certificate))


class _Pair(UserRule):
    """Two functions as one subject of an audit: the right one is the forward, the left one its reference."""

    undefined_differs = False

    def __init__(self, left: Callable, right: Callable, signature: str | Sequence[Any], **declared: Any) -> None:
        static = declared["static"] or {}
        number = next((n for n, v in static.items() if isinstance(v, Real)), None)
        if number is not None:
            raise UsageError(
                f"{number!r} is left open by certgrad.real. Functions are compared at every value of a number where it "
                'is an array argument: give it the shape "" in the signature.'
            )
        super().__init__(left, signature, differentiable=(), **declared)
        self.said = frozenset(static)
        self.other = UserRule(right, signature, static=static, differentiable=())
        self.claimed = (OF_REFERENCE,)
        self.fwd_rule, self.vjp_rule, self.jvp_rule = None, None, None
        self.further = (self.other.plain, *self.further, *self.other.further)

    def rules(self, statics: Mapping[str, Any]) -> Rules:
        """Return the right function as the forward and the left one as its reference.

        The audit writes the reference on the left of the equation.
        """

        def outputs(rule: UserRule) -> Callable[[list, list], list]:
            return lambda args, params: [
                _as_float(y) for y in real_parts(jax.tree.leaves(rule.call(args, self._own(rule, statics))))
            ]

        return Rules(outputs(self.other), None, lambda args, seeds, params: [], None, reference=outputs(self))

    def _own(self, rule: UserRule, statics: Mapping[str, Any]) -> dict[str, Any]:
        """Return the static arguments of one of the functions: those that the author gives, and its own defaults."""
        return {n: statics[n] if n in self.said else v for n, v in rule.choices[0].items()}

    def check_outputs(self) -> None:
        """Raise RuleError, naming both functions, if their outputs have different structures or shapes."""
        instance = family(self, self.cases[0]).prove[0]
        arrays = instance.shapes().structs()
        outputs: list[Any] = []
        for rule in (self, self.other):
            try:
                outputs.append(
                    jax.eval_shape(lambda *xs, rule=rule: rule.call(xs, self._own(rule, instance.statics)), *arrays)
                )
            except Exception:  # the audit says what does not trace
                return
        left_arrays, right_arrays = map(jax.tree.leaves, outputs)
        left_structure, right_structure = (str(jax.tree.structure(output)) for output in outputs)
        if left_structure != right_structure:
            raise RuleError(
                f"{self.name} returns {left_structure}, and {self.other.name} returns {right_structure}. "
                "Return values that are nested alike."
            )
        for k, (a, b) in enumerate(zip(left_arrays, right_arrays, strict=True)):
            if tuple(map(str, a.shape)) != tuple(map(str, b.shape)):
                shown = [f"({', '.join(map(str, s))})" for s in (a.shape, b.shape)]
                raise RuleError(
                    f"Output {k} of {self.name} has shape {shown[0]}, and that of {self.other.name} {shown[1]}."
                )


def _as_float(value: Any) -> Any:
    return jnp.asarray(value, jnp.result_type(float)) if is_whole(value) else value


def _restated(pair: _Pair, certificate: Certificate) -> Certificate:
    """Return the certificate with its claim worded as an equality; the audit words it as one on a rule."""
    (claim,) = certificate.claims
    names = ", ".join(pair.arg_names)
    under = " under the hypotheses" if claim.hypotheses else ""
    text = f"for all {names}{under}: {pair.name}({names}) = {pair.other.name}({names})"
    notes = {*claim.idealisations, *([IN_RANGE] if any(s.dtype == "int" for s in pair.signature.inputs) else [])}
    claim = msgspec.structs.replace(claim, statement=text, idealisations=sorted(notes))
    return with_claims(certificate, [claim])
