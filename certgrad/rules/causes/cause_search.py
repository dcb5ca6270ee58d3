"""The search for the mistake in the rule of one argument: the first of a catalogue without which the rule is proved.

A cause is not guessed: "half the derivative" is said where twice the rule is proved, "the sum in line 12 is treated
as a constant" where the rule is proved to be the adjoint of that derivative.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import islice

import jax.numpy as jnp

from certgrad._subject import Rules
from certgrad.obligations.auditing.audit import audit
from certgrad.obligations.auditing.witnesses import search
from certgrad.obligations.certificate import PROOFS, Witness
from certgrad.obligations.generality.instances import family
from certgrad.obligations.prove.problem import build, posed, trace_rules
from certgrad.obligations.prove.prove import prove
from certgrad.obligations.terms.budget import FIRST_STEPS, BudgetError, limited
from certgrad.report.wording import INTENDED
from certgrad.rules.subject.user_rule import UserRule
from certgrad.signatures.cases import Case

from .changes import changes
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
from .step_search import backward, in_own_lines, numbers_of
from .steps import Change, changed

ONE_PROOF = 6.0
"""Seconds of one proof that a rule is right but for a mistake; most proofs end earlier, at their limit of steps."""
LIKELIEST, LIKELY = 16, 4
"""Factors on the usual limit of steps: for the proof of the first likely change, and of the other likely ones."""
RESERVED = 1.5
"""Seconds of the search that are kept for changes of one step, which are tried last."""
MAX_CHANGES = 4
"""At most this many changes of one step, right at the points that were tried, go to the proof. A change that is right
only at one value of a static number c, such as a factor 2 where c is 2, does not count."""


@dataclass(frozen=True)
class Cause:
    """Why a rule is wrong: the mistake in words, and the domain outside of which it is wrong, if there is one."""

    text: str = ""
    domain: tuple[str, ...] = ()
    mended: UserRule | None = None
    """The rule without the mistake, which is proved; None if no such rule was made."""
    change: Change | None = None
    """The change of one or several steps of the backward that mends the rule; None for mistakes of other kinds."""


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
    cause_search = _Search(one, until, twins)
    trial = cause_search.trial
    plain = replace(trial.rules, jvp=None, primal=None, both=None)
    right_there = trial.plausible(plain, {}, ())
    if right_there and is_proved(mended(one, Mistake("", plain))):
        return None  # right at these shapes: it is wrong at others, as the witness shows
    if cause := cause_search.first(lambda t: (_otherwise(t, change) for change in known)):
        return cause
    if cause := cause_search.first(lambda t: mistakes(t.one, rule, t.rules), reserved=RESERVED):
        return cause
    if cause_search.is_over():
        return None
    cause = cause_search.first(lambda t: forgotten(t.one, t.rules), reserved=RESERVED)
    not_linear = cause is None and nonlinear(one, trial)
    if cause is None and not not_linear:
        cause = cause_search.first_change_of_steps(witness)
    in_part = cause_search.first(_in_part)
    if cause is not None:
        return replace(cause, domain=in_part.domain) if in_part is not None else cause
    if in_part is not None:
        return in_part
    if cause := cause_search.first(lambda t: halves_of_arguments(t.one, t.rules)):
        return cause
    # A term that no cotangent multiplies is a mistake, and none that is meant.
    if not_linear and trial.at_no_cotangent():
        return Cause("it is not 0 where the cotangent of the output is: a term is not multiplied by that")
    if not_linear:
        return Cause(f"it is not linear in the cotangent of the output; {INTENDED}")
    if cause := cause_search.first(lambda t: right_where_written_once(t.one, t.rules), tried=True):
        return cause
    return None if right_there else cause_search.first(lambda t: where_right(t.one, t.rules))


class _Search:
    """A search for the mistake in a rule, until a time, with the trials of the rule and of its twins."""

    def __init__(self, one: UserRule, until: float, twins: Sequence[UserRule]) -> None:
        self.one, self.until = one, until
        self.trial = Trial(one)
        self.twin_trials = [*map(Trial, twins)]

    def is_over(self, reserved: float = 0.0) -> bool:
        """Return whether no more than `reserved` seconds are left."""
        return time.thread_time() > self.until - reserved

    def first(
        self, family: Callable[[Trial], Iterable[Mistake]], tried: bool = False, reserved: float = 0.0
    ) -> Cause | None:
        """Return the first mistake of a family that agrees at all twins and without which the rule is proved.

        None is returned if no mistake is, or when `reserved` seconds are left. If `tried`, the family has been tried
        at points already: its mistakes go to the proof at once, with more steps.
        """
        for k, mistake in enumerate(family(self.trial)):
            if self.is_over(reserved):
                return None
            agrees = tried or self.trial.agrees(mistake)
            if agrees and all(_agrees_elsewhere(mistake, t, family(t)) for t in self.twin_trials):
                patience = (LIKELY if k else LIKELIEST) if tried else 1
                candidates = (mended(self.one, special, patience) for special in _special(self.one, mistake))
                subject = next((s for s in candidates if is_proved(s, likely=tried)), None)
                if subject is not None:
                    return Cause(mistake.text, mistake.domain, subject, mistake.change)
        return None

    def first_change_of_steps(self, witness: Witness | None) -> Cause | None:
        """Return the first change of steps of the backward, right at points of all twins, that mends the rule."""
        right = (
            change
            for change in changes(self.one, self.trial.rules, witness)
            if all(t.agrees(_otherwise(t, change)) for t in self.twin_trials)
        )
        of_steps = list(islice(right, MAX_CHANGES))
        return self.first(lambda t: (_otherwise(t, change) for change in of_steps), tried=True)


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
    as_one_proof(subject, patience)
    subject.domain = (*one.domain, *mistake.domain)
    subject.signature = one.signature.renamed(mistake.fixed)
    subject.cases = (Case(subject.signature, one.cases[0].statics),)
    subject.rules = lambda statics: mistake.rules  # type: ignore[method-assign]
    return subject


def as_one_proof(subject: UserRule, patience: int = 1) -> None:
    """Restrict the audit of `subject` to the proof of the adjoint, with `patience` times the steps of a first try."""
    subject.claimed, subject.conformance, subject.proofs_alone = ("vjp_is_adjoint",), None, True
    subject.steps, subject.seconds = FIRST_STEPS * patience, ONE_PROOF


def is_proved(subject: UserRule, likely: bool = False) -> bool:
    """Return whether the rule is proved at all shapes, perhaps under hypotheses.

    Unless the proof is `likely` to succeed, it is first tried at one family of shapes alone, and a failure ends it.
    """
    if likely:
        return is_audited_proved(subject)
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
    return is_audited_proved(subject)


def is_audited_proved(subject: UserRule) -> bool:
    """Return whether an audit proves the rule; an audit that fails for any reason proves nothing."""
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
