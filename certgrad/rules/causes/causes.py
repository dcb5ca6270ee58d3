"""The likely cause of a wrong rule: the first of a catalogue of mistakes under which the proof goes through.

A cause is not guessed: "half the derivative" is said where twice the rule is proved, "the sum in line 12 is treated
as a constant" where the rule is proved to be the adjoint of that derivative.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import jax.numpy as jnp
import msgspec

from certgrad._subject import Rules
from certgrad.errors import CertgradError
from certgrad.language.canonical import canonical
from certgrad.language.parse import parse
from certgrad.language.relations import as_written
from certgrad.obligations.auditing.audit import audit
from certgrad.obligations.auditing.witnesses import search
from certgrad.obligations.certificate import PROOFS, CaseClaim, Certificate, Hypothesis, Witness
from certgrad.obligations.certificate import worst as worst_of
from certgrad.obligations.generality.instances import family
from certgrad.obligations.prove.problem import build, posed, trace_rules
from certgrad.obligations.prove.prove import prove
from certgrad.obligations.terms.budget import FIRST_STEPS, BudgetError, budget, limited
from certgrad.report.wording import INTENDED
from certgrad.rules.declared.statics import real
from certgrad.rules.subject.report import ArgumentClaim
from certgrad.rules.subject.traced import array_of, misshapen, of_leaves, why_untraced
from certgrad.rules.subject.user_rule import UserRule
from certgrad.signatures.cases import Case

from .changes import changes
from .missing import LONGEST, LONGEST_WITHOUT_CAUSE, NOTHING, missing_term
from .mistakes import (
    Mistake,
    forgotten,
    halves_of_arguments,
    mistakes,
    passed_through,
    right_in_a_domain,
    right_where_written_once,
    where_right,
)
from .plausible import Trial
from .reproduction import numbers
from .step_search import backward, in_own_lines, numbers_of
from .steps import Change, changed

SHARE = 2.0
"""The search for causes has this times the verdict's seconds, for all arguments together."""
LEAST = 5.0
"""Seconds that this search has at least, however quick the verdict was."""
MOST = 10.0
"""Seconds of the search for causes, at most; a proof that has begun is brought to its end."""
ONE_PROOF = 6.0
"""Seconds of the proof that a rule is right but for a mistake, a backstop for its first steps: most take few."""
LIKELIEST, LIKELY = 16, 4
"""Times the first steps that the first likely change has for its proof, and that the other likely ones have."""
RESERVED = 1.5
"""Seconds of these for changes of one step, which are tried last."""
MAX_CHANGES = 4
"""At most this many changes of one step, right at the points that were tried, go to the proof. One that is right only
at a value of a number, as twice where that is 2, does not count."""
NOT_ALONE = "not looked at on its own: that took longer than the verdict on all arguments together is worth"
MakeRule = Callable[[str, "dict[str, Any] | None"], UserRule]
"""The same rule for one argument alone (all of them, if none is named), at other static values (its own, if None)."""


def diagnosed(rule: UserRule, certificate: Certificate, made: MakeRule, seconds: float) -> tuple[ArgumentClaim, ...]:
    """Return a claim for each argument alone, with the likely cause where it is wrong.

    All are proved where the rule is; where the shapes of cotangents are wrong, all have the rule's verdict. Otherwise
    the rule is made for each argument alone (`made`) and audited, unless the case that decided the rule's verdict
    names it. For a refuted argument the cause is searched for. Time for this is in proportion to the `seconds` that the
    verdict took; after it, and once an argument is refuted, the others are unproved.

    Args:
        rule: the rule of all arguments.
        certificate: what came of it.
        made: makes the rule for one argument alone, by name, at static values or its own.
        seconds: those that the certificate took.
    """
    until = budget.until(min(max(SHARE * seconds, LEAST), MOST))
    adjoint = [c for claim in certificate.claims if claim.kind != "rule_runs_forward" for c in claim.cases]
    if not any(c.verdict in ("refuted", "unproved") for c in adjoint):
        return tuple(ArgumentClaim(n, "proved") for n in rule.moving)
    decisive = _decisive(adjoint)
    if decisive is not None and _of_shapes(decisive.reason) and (shapes := _misshapen(rule)):
        return tuple(ArgumentClaim(n, decisive.verdict, decisive.reason, cause=shapes.get(n, "")) for n in rule.moving)
    out: list[ArgumentClaim] = []
    known: list[Change] = []
    for name in rule.moving:
        # Of a refuted rule arguments are audited until one is refuted, whatever that takes.
        may_be_skipped = certificate.verdict == "unproved" or any(a.verdict == "refuted" for a in out)
        if may_be_skipped and time.thread_time() > until:
            out.append(ArgumentClaim(name, "unproved", reason=NOT_ALONE))
            continue
        one = made(name, None) if len(rule.moving) > 1 else rule
        if one is not rule:
            one.claim([kind for kind in one.kinds if kind != "rule_runs_forward"])
            one.steps = FIRST_STEPS
        worst = decisive if one is rule else _of_argument(decisive, name)
        cases = [worst if worst is not None and c is decisive else c for c in adjoint]
        if worst is None and one is not rule:
            try:
                alone = audit(one)
            except Exception as error:  # whatever the rule does when it is traced
                out.append(ArgumentClaim(name, "unproved", reason=str(error)))
                continue
            cases = [c for claim in alone.claims if claim.kind != "rule_runs_forward" for c in claim.cases]
            worst = _decisive(cases)
        if worst is None:
            out.append(ArgumentClaim(name, worst_of([c.verdict for c in cases])))
            continue
        cause, missing = Cause(), NOTHING
        if worst.verdict == "refuted" and not _of_shapes(worst.reason):
            k = cases.index(worst) % len(one.cases)
            if worst.needless:
                cause = _right_where(one, worst.needless)
            else:
                cause = _cause_in_case(name, one, rule, k, worst, made, until, known)
            missing = (
                NOTHING
                if INTENDED in cause.text
                else missing_term(one, k, LONGEST if cause.text else LONGEST_WITHOUT_CAUSE)
            )
        where = " and ".join(cause.domain)
        verdict = (worst.verdict, worst.reason, worst.residual, worst.witness)
        out.append(ArgumentClaim(name, *verdict, cause.text, missing.text, where, mended=cause.mended, lacks=missing))
    return tuple(out)


def _cause_in_case(
    name: str, one: UserRule, rule: UserRule, k: int, case: CaseClaim, made: MakeRule, until: float, known: list[Change]
) -> Cause:
    """Return the likely cause that the rule `one` for an argument is refuted in case `k`, empty if none is found.

    Changes of the backward that mend earlier arguments are in `known`; the one that mends this is added to them.
    """
    alone, whole = _at_the_case(name, one, rule, k, case, made)
    twins = [*_twins(alone, partial(made, name))]
    mistake = likely_cause(alone, whole, until, case.witness, twins, known)
    cause = mistake or _of_positive_numbers(alone, partial(made, name), until) or Cause()
    known += [cause.change] if cause.change is not None else []
    return replace(cause, text=cause.text + _of_case(rule, one, k)) if cause.text else cause


def _at_the_case(
    name: str, one: UserRule, rule: UserRule, k: int, case: CaseClaim, made: MakeRule
) -> tuple[UserRule, UserRule]:
    """Return the rule for one argument and the whole rule, at the static values of the witness of a refuted case."""
    if (len(one.choices) == 1 and not one.params) or case.witness is None:
        return one, rule
    statics = one.statics_of(k, numbers(one, case.witness))
    return made(name, statics), made("", statics)


def _decisive(cases: Sequence[CaseClaim]) -> CaseClaim | None:
    """Return the last refuted case, or else the last unproved one; None if all are proved."""
    for verdict in ("refuted", "unproved"):
        for case in reversed(cases):
            if case.verdict == verdict:
                return case
    return None


def _of_argument(decisive: CaseClaim | None, name: str) -> CaseClaim | None:
    """Return the case that decides the whole rule's verdict as one of an argument; None unless that argument alone is
    perturbed at its witness.
    """
    witness = decisive.witness if decisive is not None and decisive.verdict == "refuted" else None
    if witness is None or decisive is None or {n for n, dx in witness.tangents.items() if _moves(dx)} != {name}:
        return None
    alone = msgspec.structs.replace(witness, tangents={name: witness.tangents[name]})
    return msgspec.structs.replace(decisive, witness=alone, residual="")  # the residual may be of another argument


def _moves(tangent: Any) -> bool:
    return any(map(_moves, tangent)) if isinstance(tangent, list) else tangent != "0"


def _of_shapes(reason: str) -> bool:
    """Return whether JAX itself reports that a cotangent is of another shape than its argument."""
    return "but the float argument has shape" in reason or ("bwd" in reason and "shape" in reason)


def _misshapen(rule: UserRule) -> dict[str, str]:
    """Return the arguments whose cotangents have other shapes, by name: JAX reports their places alone."""
    _, returned = why_untraced(rule)
    return {n: f"it has {shapes}" for n, shapes in misshapen(rule, [*map(array_of, of_leaves(rule, returned))]).items()}


def _twins(one: UserRule, made: Callable[[dict[str, Any]], UserRule]) -> Iterator[UserRule]:
    """Yield the same rule at other values of its real numbers, at which a cause has to hold as well.

    Several numbers are also tried far apart and in the opposite order: of two bounds the lower one is then above the
    upper one, and nothing depends on values between them.
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
    """Return another value, and none at which a factor or a power may make no difference: 0, 1, −1."""
    other = 1.5 * value + 0.25
    return other + 0.125 if other in (0.0, 1.0, -1.0) else other


def _of_positive_numbers(one: UserRule, made: Callable[[dict[str, Any]], UserRule], until: float) -> Cause | None:
    """Return the cause that a number is negative, if the rule is proved wherever it is positive."""
    statics = one.cases[0].statics
    for name, value in statics.items():
        if type(value) is not float or value >= 0 or time.thread_time() > until:
            continue
        with suppress(CertgradError):
            positive = made({**statics, name: real(f"{name} > 0")})
            _one_proof(positive)
            if _audited(positive):
                return Cause(f"right where {name} > 0: the function and the rule treat negative values differently")
    return None


def _of_case(rule: UserRule, one: UserRule, k: int) -> str:
    """Return in words which static values case `k` has, of those that differ between cases; "" if none do."""
    varied = {n for n in rule.choices[0] if len({repr(c.get(n)) for c in rule.choices}) > 1}
    values = [f"{n} = {v}" for n, v in one.cases[k].statics.items() if n in varied]
    return f" (at {', '.join(values)})" if values else ""


@dataclass(frozen=True)
class Cause:
    """A mistake in words, and the domain in which alone the rule is right, if it has one."""

    text: str = ""
    domain: tuple[str, ...] = ()
    mended: UserRule | None = None
    """The rule but for the mistake, which is proved."""
    change: Change | None = None
    """The change of one or several steps of the backward that makes it so, if it is one."""


def _right_where(one: UserRule, needed: Sequence[Hypothesis]) -> Cause:
    """Return the cause that a rule is right only where hypotheses hold which it needs and the function does not."""
    domain = tuple(text for h in needed if (text := _as_written(h, tuple(one.arg_names))))
    text = f"right where {' and '.join(h.text for h in needed)}"
    return Cause(text, domain if len(domain) == len(needed) else ())


def _as_written(hypothesis: Hypothesis, names: tuple[str, ...]) -> str:
    """Return a hypothesis in users' syntax; "" where no form is read as this very statement."""
    plain = as_written(hypothesis.text)
    try:
        return plain if canonical(parse(plain, names)) == canonical(hypothesis.tree) else ""
    except CertgradError:
        return ""


def likely_cause(
    one: UserRule,
    rule: UserRule,
    until: float,
    witness: Witness | None = None,
    twins: Sequence[UserRule] = (),
    known: Sequence[Change] = (),
) -> Cause | None:
    """Return the mistake but for which the rule of one argument is proved; None if none is found in time.

    `one` moves that argument alone, and so do `twins`, at other values of its real numbers. A mistake that agrees with
    the function at drawn points is put right in the rule and proved. Tried are, in order: changes `known` from other
    arguments; the catalogue; what may be forgotten; changes of one step of the backward; a domain in which a part is
    right; the halves of arguments; a backward that is not linear; writes to one entry twice; equal sizes.
    """
    trial = Trial(one)
    others = [*map(Trial, twins)]
    plain = replace(trial.rules, jvp=None, primal=None, both=None)
    right_there = trial.plausible(plain, {}, ())
    if right_there and is_proved(mended(one, Mistake("", plain))):
        return None  # right at these shapes: it is wrong at others, which the witness shows

    def first(family: Callable[[Trial], Iterable[Mistake]], tried: bool = False, reserved: float = 0.0) -> Cause | None:
        """Return the first mistake of a family but for which the rule is proved, and agrees at all twins.

        Those that were `tried` at points are proved at once, with more steps. Seconds that are `reserved` are left to
        other families.
        """
        for k, mistake in enumerate(family(trial)):
            if time.thread_time() > until - reserved:
                return None
            if (tried or trial.agrees(mistake)) and all(_agrees_elsewhere(mistake, t, family(t)) for t in others):
                patience = (LIKELY if k else LIKELIEST) if tried else 1
                candidates = (mended(one, special, patience) for special in _special(one, mistake))
                subject = next((s for s in candidates if is_proved(s, likely=tried)), None)
                if subject is not None:
                    return Cause(mistake.text, mistake.domain, subject, mistake.change)
        return None

    if cause := first(lambda t: (_otherwise(t, change) for change in known)):
        return cause
    if cause := first(lambda t: mistakes(t.one, rule, t.rules), reserved=RESERVED):
        return cause
    if time.thread_time() > until:
        return None
    cause = first(lambda t: forgotten(t.one, t.rules), reserved=RESERVED)
    not_linear = cause is None and nonlinear(one, trial)
    if cause is None and not not_linear:
        right = (c for c in changes(one, trial.rules, witness) if all(t.agrees(_otherwise(t, c)) for t in others))
        of_steps = list(islice(right, MAX_CHANGES))
        cause = first(lambda t: (_otherwise(t, change) for change in of_steps), tried=True)
    in_part = first(_in_part)
    if cause is not None:
        return replace(cause, domain=in_part.domain) if in_part is not None else cause
    if in_part is not None:
        return in_part
    if cause := first(lambda t: halves_of_arguments(t.one, t.rules)):
        return cause
    # A term that no cotangent multiplies is a mistake, and none that is meant.
    if not_linear and trial.at_no_cotangent():
        return Cause("it is not 0 where the cotangent of the output is: a term is not multiplied by that")
    if not_linear:
        return Cause(f"it is not linear in the cotangent of the output; {INTENDED}")
    if cause := first(lambda t: right_where_written_once(t.one, t.rules), tried=True):
        return cause
    return None if right_there else first(lambda t: where_right(t.one, t.rules))


def _special(one: UserRule, mistake: Mistake) -> Iterator[Mistake]:
    """Yield the mistake; if the rule has one array of integers, also the mistake where these are indices of an axis.

    That is how such a rule is meant, for each axis of another array.
    """
    yield mistake
    integers = [n for n, s in zip(one.arg_names, one.signature.inputs, strict=True) if s.dtype == "int"]
    if len(integers) == 1 and not one.domain:
        for name, spec in zip(one.arg_names, one.signature.inputs, strict=True):
            for axis in range(len(spec.dims)) if name not in integers and not spec.stars else ():
                indices = f"{integers[0]} >= 0", f"{integers[0]} < {name}.shape[{axis}]"
                yield replace(mistake, domain=(*mistake.domain, *indices))


def _in_part(trial: Trial) -> Iterator[Mistake]:
    """Yield the mistakes that leave the rule right in a domain alone, then that the cotangent is passed through."""
    yield from right_in_a_domain(trial.one, trial.rules)
    yield passed_through(trial.rules)


def _agrees_elsewhere(mistake: Mistake, there: Trial, found: Iterable[Mistake]) -> bool:
    """Return whether the mistake also explains the rule at other values of real numbers."""
    return any(there.agrees(other) for other in found if other.text == mistake.text)


def mended(one: UserRule, mistake: Mistake, patience: int = 1) -> UserRule:
    """Return the rule without a mistake, to be proved at all shapes or those of the mistake.

    The proof has `patience` times the steps that a first try has.
    """
    subject = copy(one)
    _one_proof(subject, patience)
    subject.domain = (*one.domain, *mistake.domain)
    subject.signature = one.signature.renamed(mistake.fixed)
    subject.cases = (Case(subject.signature, one.cases[0].statics),)
    subject.rules = lambda statics: mistake.rules  # type: ignore[method-assign]
    return subject


def _one_proof(subject: UserRule, patience: int = 1) -> None:
    """Restrict the audit of a rule to the proof of the adjoint, with `patience` times the steps of a first try."""
    subject.claimed, subject.conformance, subject.proofs_alone = ("vjp_is_adjoint",), None, True
    subject.steps, subject.seconds = FIRST_STEPS * patience, ONE_PROOF


def is_proved(subject: UserRule, likely: bool = False) -> bool:
    """Return whether the rule is proved at all shapes, perhaps under hypotheses.

    Unless the proof is `likely`, it is tried first at one family of shapes, and a failure there ends it.
    """
    if likely:
        return _audited(subject)
    instance = family(subject, subject.cases[0]).prove[0]
    shapes = instance.shapes()
    try:
        programs = trace_rules(subject.rules(instance.statics), shapes, 0, subject.name)
        with limited(subject.steps or FIRST_STEPS, ONE_PROOF):
            problem = build(posed(subject, shapes, programs))
            if not prove(problem, "vjp_is_adjoint").proved:
                return False
    except (BudgetError, Exception):  # what does not even trace is not
        return False
    return _audited(subject)


def _audited(subject: UserRule) -> bool:
    try:
        return audit(subject).verdict in PROOFS
    except (BudgetError, Exception):  # as above
        return False


def _otherwise(trial: Trial, change: Change) -> Mistake:
    """Return a change of steps as a mistake, with the rule that has those steps done otherwise."""
    rules = trial.rules

    def vjp(args: list, seeds: list, params: list) -> list:
        with in_own_lines(trial.one):
            return changed(backward(rules, len(args), params), change.acts, numbers_of(trial.one))(*args, *seeds)

    return Mistake(change.text, replace(rules, jvp=None, primal=None, both=None, vjp=vjp), change=change)


def nonlinear(one: UserRule, trial: Trial) -> bool:
    """Return whether ball arithmetic shows that a backward is not linear: at a point, twice the seed does not give
    twice the cotangent.

    The search for witnesses compares a rule's forward with its primal; here these are twice the cotangent, and that of
    twice the seed.
    """
    if not trial.nonlinear():
        return False
    rules = trial.rules

    def cotangents(args: list, scale: int) -> list:
        seeds = [scale * jnp.ones_like(y) for y in rules.forward(args, [])]
        return rules.vjp(args, seeds, [])

    subject = copy(one)
    subject.undefined_differs = False
    compared = Rules(
        forward=lambda args, params: [2 * c for c in cotangents(args, 1)],
        jvp=None,
        vjp=rules.vjp,
        primal=lambda args, params: cotangents(args, 2),
    )
    subject.rules = lambda statics: compared  # type: ignore[method-assign]
    try:
        return search(subject, family(one, one.cases[0]).prove[0], "rule_runs_forward") is not None
    except Exception:
        return False
