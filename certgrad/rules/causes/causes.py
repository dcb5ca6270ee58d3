"""The likely cause of a wrong rule, for each argument alone: what is wrong at it, with a proof that nothing else is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec

from certgrad.errors import CertgradError
from certgrad.language.canonical import canonical
from certgrad.language.parse import parse
from certgrad.language.relations import as_written
from certgrad.obligations.auditing.audit import audit
from certgrad.obligations.certificate import CaseClaim, Certificate, Hypothesis
from certgrad.obligations.certificate import worst as worst_of
from certgrad.obligations.terms.budget import FIRST_STEPS, budget
from certgrad.report.wording import INTENDED
from certgrad.rules.declared.statics import real
from certgrad.rules.subject.report import ArgumentClaim
from certgrad.rules.subject.traced import array_of, misshapen, of_leaves, why_untraced
from certgrad.rules.subject.user_rule import UserRule

from .cause_search import Cause, as_one_proof, is_audited_proved, likely_cause
from .missing import LONGEST, LONGEST_WITHOUT_CAUSE, NOTHING, missing_term
from .reproduction import numbers
from .steps import Change

SHARE = 2.0
"""The search for causes, for all arguments together, may take this many times the seconds of the verdict."""
LEAST = 5.0
"""Seconds that this search has at least, however quick the verdict was."""
MOST = 10.0
"""Seconds of the search for causes, at most; a proof that has begun is brought to its end."""
NOT_ALONE = "not looked at on its own: that took longer than the verdict on all arguments together is worth"
MakeRule = Callable[[str, "dict[str, Any] | None"], UserRule]
"""Makes the same rule for the argument of a name alone ("" for all arguments), at static values (None for its own)."""


def diagnosed(rule: UserRule, certificate: Certificate, made: MakeRule, seconds: float) -> tuple[ArgumentClaim, ...]:
    """Return a claim for each argument alone, with the likely cause where it is wrong.

    If the whole rule is proved, so is each argument; if cotangents have wrong shapes, each argument has the rule's
    verdict. Otherwise the rule for each argument alone is audited, except where the case that decided the rule's
    verdict is already about that argument alone. For a refuted argument the cause is searched for. The time for all of
    it is in proportion to the `seconds` of the verdict. When it is over, the arguments that are left are called
    unproved; but if the rule is refuted, arguments are audited until one is refuted as well.

    Args:
        rule: the rule of all arguments.
        certificate: the result of the audit of `rule`.
        made: makes the rule for one argument alone, by name, at given static values or (None) its own.
        seconds: how long the audit of `rule` took.
    """
    until = budget.until(min(max(SHARE * seconds, LEAST), MOST))
    adjoint = _adjoint_cases(certificate)
    if not any(c.verdict in ("refuted", "unproved") for c in adjoint):
        return tuple(ArgumentClaim(n, "proved") for n in rule.moving)
    decisive = _decisive(adjoint)
    if decisive is not None and _of_shapes(decisive.reason) and (shapes := _misshapen(rule)):
        return tuple(ArgumentClaim(n, decisive.verdict, decisive.reason, cause=shapes.get(n, "")) for n in rule.moving)
    out: list[ArgumentClaim] = []
    mending_changes: list[Change] = []
    for name in rule.moving:
        # Some argument of a refuted rule is wrong: they are audited until one is refuted, however long that takes.
        may_be_skipped = certificate.verdict == "unproved" or any(a.verdict == "refuted" for a in out)
        if may_be_skipped and time.thread_time() > until:
            out.append(ArgumentClaim(name, "unproved", reason=NOT_ALONE))
        else:
            out.append(_claim_alone(_Alone.of(name, rule, made), adjoint, decisive, until, mending_changes))
    return tuple(out)


def _adjoint_cases(certificate: Certificate) -> list[CaseClaim]:
    """Return the cases of all claims but that on the rule's value."""
    return [c for claim in certificate.claims if claim.kind != "rule_runs_forward" for c in claim.cases]


@dataclass(frozen=True)
class _Alone:
    """The rule for one argument alone, beside the whole rule, which it is if there is no other argument."""

    name: str
    rule: UserRule
    whole: UserRule
    made: MakeRule

    @classmethod
    def of(cls, name: str, whole: UserRule, made: MakeRule) -> _Alone:
        """Return the rule for the argument of a name, which claims all but its value."""
        if len(whole.moving) == 1:
            return cls(name, whole, whole, made)
        rule = made(name, None)
        rule.claim([kind for kind in rule.kinds if kind != "rule_runs_forward"])
        rule.steps = FIRST_STEPS
        return cls(name, rule, whole, made)

    def at_the_case(self, k: int, case: CaseClaim) -> tuple[UserRule, UserRule]:
        """Return the rule and the whole rule, at the static values of the witness of a refuted case with number `k`."""
        if (len(self.rule.choices) == 1 and not self.rule.params) or case.witness is None:
            return self.rule, self.whole
        statics = self.rule.statics_of(k, numbers(self.rule, case.witness))
        return self.made(self.name, statics), self.made("", statics)


def _claim_alone(
    alone: _Alone,
    adjoint: Sequence[CaseClaim],
    decisive: CaseClaim | None,
    until: float,
    mending_changes: list[Change],
) -> ArgumentClaim:
    """Return the claim for one argument, with the likely cause where it is refuted.

    Args:
        alone: the rule for the argument.
        adjoint: the cases of the whole rule.
        decisive: that one of them which decided the whole rule's verdict.
        until: when the search for a cause ends, by this thread's time.
        mending_changes: the changes that mend earlier arguments; one that mends this argument is added.
    """
    try:
        cases = _cases_alone(alone, adjoint, decisive)
    except Exception as error:  # whatever the rule does when it is traced
        return ArgumentClaim(alone.name, "unproved", reason=str(error))
    worst = _decisive(cases)
    if worst is None:
        return ArgumentClaim(alone.name, worst_of([c.verdict for c in cases]))
    cause, missing = Cause(), NOTHING
    if worst.verdict == "refuted" and not _of_shapes(worst.reason):
        k = cases.index(worst) % len(alone.rule.cases)  # `cases` lists the cases of one claim after those of another
        if worst.needless:
            cause = _right_where(alone.rule, worst.needless)
        else:
            cause = _cause_in_case(alone, k, worst, until, mending_changes)
        if INTENDED not in cause.text:
            missing = missing_term(alone.rule, k, LONGEST if cause.text else LONGEST_WITHOUT_CAUSE)
    where = " and ".join(cause.domain)
    verdict = (worst.verdict, worst.reason, worst.residual, worst.witness)
    return ArgumentClaim(alone.name, *verdict, cause.text, missing.text, where, mended=cause.mended, lacks=missing)


def _cases_alone(alone: _Alone, adjoint: Sequence[CaseClaim], decisive: CaseClaim | None) -> list[CaseClaim]:
    """Return the cases of the rule for one argument: those of the whole rule if these are about it, else by an audit.

    The arguments are those of `_claim_alone`. Whatever the audit raises is raised.
    """
    if alone.rule is alone.whole:
        return [*adjoint]
    of_argument = _of_argument(decisive, alone.name)
    if of_argument is not None:
        return [of_argument if c is decisive else c for c in adjoint]
    return _adjoint_cases(audit(alone.rule))


def _cause_in_case(alone: _Alone, k: int, case: CaseClaim, until: float, mending_changes: list[Change]) -> Cause:
    """Return the likely cause that the rule of an argument is refuted in case `k`, empty if none is found.

    The other arguments are those of `_claim_alone`.
    """
    rule, whole = alone.at_the_case(k, case)
    made = partial(alone.made, alone.name)
    mistake = likely_cause(rule, whole, until, case.witness, [*_twins(rule, made)], mending_changes)
    cause = mistake or _of_positive_numbers(rule, made, until) or Cause()
    mending_changes += [cause.change] if cause.change is not None else []
    return replace(cause, text=cause.text + _of_case(alone.whole, alone.rule, k)) if cause.text else cause


def _decisive(cases: Sequence[CaseClaim]) -> CaseClaim | None:
    """Return the last refuted case, or else the last unproved one; None if all are proved."""
    for verdict in ("refuted", "unproved"):
        for case in reversed(cases):
            if case.verdict == verdict:
                return case
    return None


def _of_argument(decisive: CaseClaim | None, name: str) -> CaseClaim | None:
    """Return the case that decides the whole rule's verdict as a case of the argument `name`.

    None is returned unless that case is refuted and its witness has a tangent other than 0 for that argument alone.
    """
    witness = decisive.witness if decisive is not None and decisive.verdict == "refuted" else None
    if witness is None or decisive is None or {n for n, dx in witness.tangents.items() if _moves(dx)} != {name}:
        return None
    alone = msgspec.structs.replace(witness, tangents={name: witness.tangents[name]})
    return msgspec.structs.replace(decisive, witness=alone, residual="")  # the residual may be of another argument


def _moves(tangent: Any) -> bool:
    """Return whether a tangent, as nested lists of numbers in text, has an entry other than 0."""
    return any(map(_moves, tangent)) if isinstance(tangent, list) else tangent != "0"


def _of_shapes(reason: str) -> bool:
    """Return whether `reason` is JAX's message that a cotangent has another shape than its argument."""
    return "but the float argument has shape" in reason or ("bwd" in reason and "shape" in reason)


def _misshapen(rule: UserRule) -> dict[str, str]:
    """Return by name the arguments whose cotangents have wrong shapes, each with a text that says which.

    JAX's own message numbers the arguments and does not name them.
    """
    _, returned = why_untraced(rule)
    return {n: f"it has {shapes}" for n, shapes in misshapen(rule, [*map(array_of, of_leaves(rule, returned))]).items()}


def _twins(one: UserRule, made: Callable[[dict[str, Any]], UserRule]) -> Iterator[UserRule]:
    """Yield the rule at other values of its real static numbers; a cause of its error has to hold there as well.

    If there are several numbers, they are also tried far apart and in the opposite order: where two of them are bounds,
    the lower one is then above the upper one, and nothing depends on values between them.
    """
    numbers = {n: v for n, v in one.cases[0].statics.items() if type(v) is float}
    least, *rest = sorted(numbers.values()) or [0.0]
    far = [_scaled(least, -3), *rest[:-1], *(_scaled(v, 3) for v in rest[-1:])]
    exchanged = dict(zip(sorted(numbers, key=lambda n: -numbers[n]), far, strict=False))
    for values in [{n: _another_value(v) for n, v in numbers.items()}, *([exchanged] if rest else [])]:
        with suppress(CertgradError):
            if values:
                yield made({**one.cases[0].statics, **values})


def _scaled(value: float, power: int) -> float:
    """Return the value times that power of 2 if it is positive, else divided by it: larger for a positive power."""
    return value * 2.0 ** (power if value > 0 else -power)


def _another_value(value: float) -> float:
    """Return a value other than `value` and than 0, 1 and −1, where a factor or a power may make no difference."""
    changed_value = 1.5 * value + 0.25
    return changed_value + 0.125 if changed_value in (0.0, 1.0, -1.0) else changed_value


def _of_positive_numbers(one: UserRule, made: Callable[[dict[str, Any]], UserRule], until: float) -> Cause | None:
    """Return the cause that a static number is negative, if the rule is proved wherever it is positive; else None."""
    statics = one.cases[0].statics
    for name, value in statics.items():
        if type(value) is not float or value >= 0 or time.thread_time() > until:
            continue
        with suppress(CertgradError):
            positive = made({**statics, name: real(f"{name} > 0")})
            as_one_proof(positive)
            if is_audited_proved(positive):
                return Cause(f"right where {name} > 0: the function and the rule treat negative values differently")
    return None


def _of_case(rule: UserRule, one: UserRule, k: int) -> str:
    """Return the static values of case `k` that differ between cases, as ` (at n = 2)`; "" if none differ."""
    varied = {n for n in rule.choices[0] if len({repr(c.get(n)) for c in rule.choices}) > 1}
    values = [f"{n} = {v}" for n, v in one.cases[k].statics.items() if n in varied]
    return f" (at {', '.join(values)})" if values else ""


def _right_where(one: UserRule, needed: Sequence[Hypothesis]) -> Cause:
    """Return the cause that a rule is right only where the hypotheses `needed` hold, which the function does not need.

    Its domain is empty if one of them cannot be written in users' syntax.
    """
    domain = tuple(text for h in needed if (text := _as_written(h, tuple(one.arg_names))))
    text = f"right where {' and '.join(h.text for h in needed)}"
    return Cause(text, domain if len(domain) == len(needed) else ())


def _as_written(hypothesis: Hypothesis, names: tuple[str, ...]) -> str:
    """Return a hypothesis in users' syntax; "" if that text is not read back as the same statement."""
    plain = as_written(hypothesis.text)
    try:
        return plain if canonical(parse(plain, names)) == canonical(hypothesis.tree) else ""
    except CertgradError:
        return ""
