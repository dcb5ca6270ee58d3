"""The likely cause of a wrong rule: the first mistake of a catalogue without which the rule is proved.

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
"""The search for causes, for all arguments together, may take this many times the seconds of the verdict."""
LEAST = 5.0
"""Seconds that this search has at least, however quick the verdict was."""
MOST = 10.0
"""Seconds of the search for causes, at most; a proof that has begun is brought to its end."""
ONE_PROOF = 6.0
"""Seconds of one proof that a rule is right but for a mistake; most proofs end earlier, at their limit of steps."""
LIKELIEST, LIKELY = 16, 4
"""Factors on the usual limit of steps: for the proof of the first likely change, and of the other likely ones."""
RESERVED = 1.5
"""Seconds of the search that are kept for changes of one step, which are tried last."""
MAX_CHANGES = 4
"""At most this many changes of one step, right at the points that were tried, go to the proof. A change that is right
only at one value of a static number c, such as a factor 2 where c is 2, does not count."""
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
    adjoint = [c for claim in certificate.claims if claim.kind != "rule_runs_forward" for c in claim.cases]
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
            k = cases.index(worst) % len(one.cases)  # `cases` lists the cases of one claim after those of another
            if worst.needless:
                cause = _right_where(one, worst.needless)
            else:
                cause = _cause_in_case(name, one, rule, k, worst, made, until, mending_changes)
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
    """Return the likely cause that the rule `one` of an argument is refuted in case `k`, empty if none is found.

    `known` has the changes of the backward that mend earlier arguments; a change that mends this one is added to it.
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
            _one_proof(positive)
            if _audited(positive):
                return Cause(f"right where {name} > 0: the function and the rule treat negative values differently")
    return None


def _of_case(rule: UserRule, one: UserRule, k: int) -> str:
    """Return the static values of case `k` that differ between cases, as ` (at n = 2)`; "" if none differ."""
    varied = {n for n in rule.choices[0] if len({repr(c.get(n)) for c in rule.choices}) > 1}
    values = [f"{n} = {v}" for n, v in one.cases[k].statics.items() if n in varied]
    return f" (at {', '.join(values)})" if values else ""


@dataclass(frozen=True)
class Cause:
    """Why a rule is wrong: the mistake in words, and the domain outside of which it is wrong, if there is one."""

    text: str = ""
    domain: tuple[str, ...] = ()
    mended: UserRule | None = None
    """The rule without the mistake, which is proved; None if no such rule was made."""
    change: Change | None = None
    """The change of one or several steps of the backward that mends the rule; None for mistakes of other kinds."""


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


def likely_cause(
    one: UserRule,
    rule: UserRule,
    until: float,
    witness: Witness | None = None,
    twins: Sequence[UserRule] = (),
    known: Sequence[Change] = (),
) -> Cause | None:
    """Return the mistake without which the rule of one argument is proved; None if none is found in time.

    Each candidate mistake is put right in the rule; if the result agrees with the function's derivative at drawn
    points, its proof is tried, and the first that is proved is the cause. The candidates, in order: changes `known`
    from other arguments; the catalogue; what may be forgotten; changes of steps of the backward; a domain in which a
    part is right; exchanged halves of arguments; a backward that is not linear; two writes to one entry; equal sizes.

    Args:
        one: the rule in which that argument alone is active.
        rule: the rule of all arguments.
        until: the time, of this thread, at which the search ends.
        witness: the point at which `one` was refuted.
        twins: `one` at other values of its real static numbers, at which the mistake has to agree as well.
        known: changes of the backward that mend earlier arguments.
    """
    trial = Trial(one)
    twin_trials = [*map(Trial, twins)]
    plain = replace(trial.rules, jvp=None, primal=None, both=None)
    right_there = trial.plausible(plain, {}, ())
    if right_there and is_proved(mended(one, Mistake("", plain))):
        return None  # right at these shapes: it is wrong at others, as the witness shows

    def first(family: Callable[[Trial], Iterable[Mistake]], tried: bool = False, reserved: float = 0.0) -> Cause | None:
        """Return the first mistake of a family that agrees at all twins and without which `one` is proved, as a cause.

        None is returned if no mistake is, or when `reserved` seconds are left. If `tried`, the family has been tried
        at points already: its mistakes go to the proof at once, with more steps.
        """
        for k, mistake in enumerate(family(trial)):
            if time.thread_time() > until - reserved:
                return None
            if (tried or trial.agrees(mistake)) and all(_agrees_elsewhere(mistake, t, family(t)) for t in twin_trials):
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
        right = (c for c in changes(one, trial.rules, witness) if all(t.agrees(_otherwise(t, c)) for t in twin_trials))
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
    """Yield the mistake; if the rule has one array of integers, then also the mistake where they index an axis.

    A rule with such an array usually means indices, so that 0 ≤ i < n is tried as its domain, for the size n of each
    axis of another array.
    """
    yield mistake
    integers = [n for n, s in zip(one.arg_names, one.signature.inputs, strict=True) if s.dtype == "int"]
    if len(integers) == 1 and not one.domain:
        for name, spec in zip(one.arg_names, one.signature.inputs, strict=True):
            for axis in range(len(spec.dims)) if name not in integers and not spec.stars else ():
                indices = f"{integers[0]} >= 0", f"{integers[0]} < {name}.shape[{axis}]"
                yield replace(mistake, domain=(*mistake.domain, *indices))


def _in_part(trial: Trial) -> Iterator[Mistake]:
    """Yield the mistakes that leave the rule right in a domain alone, then the mistake of a straight-through rule."""
    yield from right_in_a_domain(trial.one, trial.rules)
    yield passed_through(trial.rules)


def _agrees_elsewhere(mistake: Mistake, there: Trial, found: Iterable[Mistake]) -> bool:
    """Return whether the mistake of the same text also explains the rule at other values of its real numbers.

    Args:
        mistake: the mistake, as it was made for the rule itself.
        there: the trial of the rule at the other values.
        found: the mistakes of the same family, made for the rule at the other values.
    """
    return any(there.agrees(twin) for twin in found if twin.text == mistake.text)


def mended(one: UserRule, mistake: Mistake, patience: int = 1) -> UserRule:
    """Return the rule with the mistake put right, as a subject to be audited, in the mistake's domain and at its sizes.

    The proof may take `patience` times the steps that a first try has.
    """
    subject = copy(one)
    _one_proof(subject, patience)
    subject.domain = (*one.domain, *mistake.domain)
    subject.signature = one.signature.renamed(mistake.fixed)
    subject.cases = (Case(subject.signature, one.cases[0].statics),)
    subject.rules = lambda statics: mistake.rules  # type: ignore[method-assign]
    return subject


def _one_proof(subject: UserRule, patience: int = 1) -> None:
    """Restrict the audit of `subject` to the proof of the adjoint, with `patience` times the steps of a first try."""
    subject.claimed, subject.conformance, subject.proofs_alone = ("vjp_is_adjoint",), None, True
    subject.steps, subject.seconds = FIRST_STEPS * patience, ONE_PROOF


def is_proved(subject: UserRule, likely: bool = False) -> bool:
    """Return whether the rule is proved at all shapes, perhaps under hypotheses.

    Unless the proof is `likely` to succeed, it is first tried at one family of shapes alone, and a failure ends it.
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
    """Return a change of steps as a mistake, whose rules run the backward with that change."""
    rules = trial.rules

    def vjp(args: list, seeds: list, params: list) -> list:
        with in_own_lines(trial.one):
            return changed(backward(rules, len(args), params), change.acts, numbers_of(trial.one))(*args, *seeds)

    return Mistake(change.text, replace(rules, jvp=None, primal=None, both=None, vjp=vjp), change=change)


def nonlinear(one: UserRule, trial: Trial) -> bool:
    """Return whether ball arithmetic shows that a backward is not linear in the seed.

    That is so if, at some point, twice the seed does not give twice the cotangent. To find such a point, the search
    for witnesses, which compares a rule's forward with its primal, is given a rule whose forward is twice the cotangent
    of a seed, and whose primal is the cotangent of twice the seed.
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
