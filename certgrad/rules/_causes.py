"""The likely cause of a wrong rule: the first of a catalogue of mistakes under which the proof goes through.

A cause is not guessed: "half the derivative" is said where twice the rule is proved, "the sum in line 12 is treated
as a constant" where the rule is proved to be the adjoint of that derivative.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import jax.numpy as jnp

from certgrad._subject import Rules
from certgrad.errors import CertgradError
from certgrad.obligations.auditing.audit import audit
from certgrad.obligations.auditing.witnesses import search
from certgrad.obligations.certificate import PROOFS, CaseClaim, Certificate, Witness
from certgrad.obligations.certificate import worst as worst_of
from certgrad.obligations.generality.instances import family
from certgrad.ops._declare import Case
from certgrad.ops._signature import ArraySpec, Dim, Signature, Star

from ._missing import missing_term
from ._mistakes import INTENDED, Mistake, mistakes
from ._otherwise import Change, changes
from ._plausible import Trial
from ._report import ArgumentClaim
from ._reproduction import numbers
from ._steps import changed
from ._user_rule import UserRule

SHARE = 2.0
"""How much longer than for its verdict is looked for what is wrong with a rule, all its arguments together."""
LEAST = 8.0
"""So many seconds are given to that however quick the verdict was."""
ONE_PROOF = 6.0
NOT_ALONE = "not looked at on its own: that took longer than the verdict on all arguments together is worth"
Made = Callable[[str, "dict[str, Any] | None"], UserRule]
"""The same rule for one argument alone (all of them, if none is named), at other static values (its own, if None)."""


def diagnosed(rule: UserRule, certificate: Certificate, made: Made, seconds: float) -> tuple[ArgumentClaim, ...]:
    """What is claimed of each argument on its own, with the likely cause where that is wrong.

    The verdict took so many `seconds`; causes are looked for as long as that is in proportion.
    """
    until = time.process_time() + max(SHARE * seconds, LEAST)
    adjoint = [c for claim in certificate.claims if claim.kind != "rule_runs_forward" for c in claim.cases]
    if not any(c.verdict in ("refuted", "unproved") for c in adjoint):
        return tuple(ArgumentClaim(n, "proved") for n in rule.moving)
    out = []
    for name in rule.moving:
        if certificate.verdict == "unproved" and time.process_time() > until:
            out.append(ArgumentClaim(name, "unproved", reason=NOT_ALONE))
            continue
        one = made(name, None) if len(rule.moving) > 1 else rule
        if one is not rule:
            one.claim([kind for kind in one.kinds if kind != "rule_runs_forward"])
        try:
            found = audit(one) if one is not rule else certificate
        except Exception as error:  # whatever the rule does when it is traced
            out.append(ArgumentClaim(name, "unproved", reason=str(error), cause=_shape_cause(str(error))))
            continue
        cases = [c for claim in found.claims if claim.kind != "rule_runs_forward" for c in claim.cases]
        worst = _decisive(cases)
        if worst is None:
            out.append(ArgumentClaim(name, worst_of([c.verdict for c in cases])))
            continue
        cause, missing, domain = _shape_cause(worst.reason), "", ""
        if worst.verdict == "refuted":
            k = cases.index(worst) % len(one.cases)
            if not cause:
                at_case = _at_the_case(name, one, rule, k, worst, made)
                twin = _twin(at_case[0], lambda statics, name=name: made(name, statics))
                cause, domain = likely_cause(*at_case, until, worst.witness, twin)
                cause += _of_case(rule, one, k) if cause else ""
            missing = "" if INTENDED in cause else missing_term(one, k)
        claim = ArgumentClaim(name, worst.verdict, worst.reason, worst.residual, worst.witness, cause, missing, domain)
        out.append(claim)
    return tuple(out)


def _at_the_case(
    name: str, one: UserRule, rule: UserRule, k: int, case: CaseClaim, made: Made
) -> tuple[UserRule, UserRule]:
    """The rule for one argument and the whole rule, at the static values where it is wrong."""
    if (len(one.choices) == 1 and not one.params) or case.witness is None:
        return one, rule
    statics = one.statics_of(k, numbers(one, case.witness))
    return made(name, statics), made("", statics)


def _decisive(cases: Sequence[CaseClaim]) -> CaseClaim | None:
    for verdict in ("refuted", "unproved"):
        for case in reversed(cases):
            if case.verdict == verdict:
                return case
    return None


def _shape_cause(reason: str) -> str:
    """The mistake that JAX itself reports: a cotangent of another shape than its argument."""
    if "but the float argument has shape" in reason or ("bwd" in reason and "shape" in reason):
        return "a sum over the axes that were broadcast is missing: the cotangent has another shape than its argument"
    return ""


def _twin(one: UserRule, made: Callable[[dict[str, Any]], UserRule]) -> UserRule | None:
    """The same rule at other values of its real numbers: what is said of it has to be true there as well."""
    statics = one.cases[0].statics
    others = {n: 1.5 * v + 0.25 for n, v in statics.items() if type(v) is float}
    try:
        return made({**statics, **others}) if others else None
    except CertgradError:
        return None


def _of_case(rule: UserRule, one: UserRule, k: int) -> str:
    """At which of several static values a cause is one."""
    varied = {n for n in rule.choices[0] if len({repr(c.get(n)) for c in rule.choices}) > 1}
    found = [f"{n} = {v}" for n, v in one.cases[k].statics.items() if n in varied]
    return f" (at {', '.join(found)})" if found else ""


def likely_cause(
    one: UserRule, rule: UserRule, until: float, witness: Witness | None = None, twin: UserRule | None = None
) -> tuple[str, str]:
    """The mistake that explains the cotangent of the only argument that `one` moves, and the domain outside of which
    alone it is one; empty if none does in time. It is proved that the rule is right but for it.
    """
    trial = Trial(one)
    there = Trial(twin) if twin is not None else None
    plain = replace(trial.rules, jvp=None, primal=None)
    if trial.plausible(plain, {}, ()) and holds(one, Mistake("", plain)):
        return "", ""  # right at these shapes: it is wrong at others, which the witness shows
    for mistake in mistakes(one, rule, trial.rules):
        if time.process_time() > until:
            return "", ""
        if trial.agrees(mistake) and (there is None or _also(there, rule, mistake)) and holds(one, mistake):
            return mistake.text, " and ".join(mistake.domain)
    if nonlinear(one, trial):
        return f"it is not linear in the cotangent of the output; {INTENDED}", ""
    for change in changes(one, trial.rules, witness):
        if time.process_time() > until:
            return "", ""
        if there is not None and not there.agrees(_otherwise(there.rules, change)):
            continue
        if holds(one, _otherwise(trial.rules, change)):
            return change.text, ""
    return "", ""


def _also(there: Trial, rule: UserRule, mistake: Mistake) -> bool:
    """The same is plausible where real numbers have other values."""
    same = (m for m in mistakes(there.one, rule, there.rules) if m.text == mistake.text)
    return any(map(there.agrees, same))


def holds(one: UserRule, mistake: Mistake) -> bool:
    """The rule but for the mistake is proved: at all shapes, or those of the mistake."""
    mended = copy(one)
    mended.claimed, mended.conformance, mended.seconds = ("vjp_is_adjoint",), None, ONE_PROOF
    mended.domain = (*one.domain, *mistake.domain)
    mended.signature = _at(one.signature, mistake.fixed)
    mended.cases = (Case(mended.signature, one.cases[0].statics),)
    mended.rules = lambda statics: mistake.rules  # type: ignore[method-assign]
    try:
        return audit(mended).verdict in PROOFS
    except Exception:  # what does not even trace does not hold
        return False


def _at(signature: Signature, fixed: Mapping[str, str]) -> Signature:
    """With some of its sizes set."""
    if not fixed:
        return signature

    def spec(one: ArraySpec) -> ArraySpec:
        texts = [re.sub(r"[A-Za-z_]\w*", lambda m: fixed.get(m[0], m[0]), str(d)) for d in one.dims]
        return replace(
            one, dims=tuple(d if isinstance(d, Star) else Dim(t) for d, t in zip(one.dims, texts, strict=True))
        )

    return Signature(tuple(map(spec, signature.inputs)), tuple(map(spec, signature.outputs)))


def _otherwise(rules: Rules, change: Change) -> Mistake:
    """The rule with one step done otherwise."""

    def vjp(args: list, seeds: list, params: list) -> list:
        count = len(args)
        run = changed(lambda *xs: rules.vjp(list(xs[:count]), list(xs[count:]), params), change.key, change.act)
        return run(*args, *seeds)

    return Mistake(change.text, replace(rules, jvp=None, primal=None, both=None, vjp=vjp))


def nonlinear(one: UserRule, trial: Trial) -> bool:
    """Twice the cotangent of the output does not give twice the cotangent: there is a point that shows it rigorously."""
    if not trial.nonlinear():
        return False
    rules = trial.rules

    def of(args: list, scale: int) -> list:
        seeds = [scale * jnp.ones_like(y) for y in rules.forward(args, [])]
        return rules.vjp(args, seeds, [])

    double = copy(one)
    double.undefined_differs = False
    found = Rules(
        forward=lambda args, params: [2 * c for c in of(args, 1)], jvp=None, vjp=rules.vjp, primal=lambda a, p: of(a, 2)
    )
    double.rules = lambda statics: found  # type: ignore[method-assign]
    try:
        return search(double, family(one, one.cases[0]).prove[0], "rule_runs_forward") is not None
    except Exception:
        return False
