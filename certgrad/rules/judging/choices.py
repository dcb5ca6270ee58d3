"""Which choice of ranks and dtypes counts for a rule that declares none, and what the report says of the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Protocol

import msgspec

from certgrad.errors import CertgradError
from certgrad.obligations.certificate import (
    AT_SIZES,
    PROOFS,
    CaseClaim,
    Claim,
    with_cases,
    with_claims,
    with_each_case,
)
from certgrad.obligations.terms.budget import allotted_seconds, auditing, budget
from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.declared.statics import Default, text_of
from certgrad.rules.finding.find import FoundRule
from certgrad.rules.inference.tried import REASONS_SHOWN, Tried
from certgrad.rules.subject.approximation import Declared
from certgrad.rules.subject.report import Report
from certgrad.rules.subject.user_rule import UserRule
from certgrad.signatures.nested import leaves
from certgrad.signatures.signature import ArraySpec, parse

from .check import Choice, choice_of
from .more_axes import is_parameter, right_with_an_axis_less, wrong_with_an_axis_more
from .passed_defaults import fails_with_passed_defaults

AT_INFERRED = "these shapes are inferred, and may not be those that are meant: certgrad.declare says which are"
DECIDED_VERDICTS = (*PROOFS, AT_SIZES)
LOOKS = 0.25
"""The part of an audit's seconds for all other choices of ranks; those left over are named as not tried."""


class Checked(Protocol):
    """The type of a function that audits a rule: with declaration `d`, in a `share` of the audit's seconds.

    `beside` are functions that approximate others, beyond those of the project.
    """

    def __call__(self, d: Declaration, share: float = ..., beside: Sequence[Declared] = ...) -> Report: ...


@dataclass(frozen=True)
class Audit:
    """The report on a rule, and the declaration that it was audited with."""

    report: Report
    declared: Declaration
    others: tuple[str, ...] = ()
    """What came of other choices of ranks, in words, where the shapes are inferred."""
    wrong_at_others: bool = False
    """Whether the rule is refuted at another choice, or fails at one with more axes where the function runs."""


def best_choice(
    found: FoundRule, tried: Tried, checked: Checked, known: Callable[[Declaration], tuple[Report, Declaration]]
) -> Audit:
    """Return the audit at one choice of ranks, with what came of the other choices.

    The choice is one at which code calls the rule and the rule is refuted; else the likeliest one at which it is
    proved, or the likeliest of all. Where calls say which ranks are meant, other choices do not count. A lower rank is
    tried only where the rule is not proved at a higher one, as a mistake may vanish at the lower one.

    Args:
        found: the rule.
        tried: the choices at which the rule traces, and the calls of it.
        checked: audits the rule with a declaration.
        known: audits the rule with a declaration, and as an approximation if it may be one; returns the report and the
            declaration that counts.
    """
    choices = _Choices(tried, known)
    choices.look(found)
    best = _best(choices, checked)
    report, declared = best.report, best.declared
    others, wrong_at_others = _at_other_choices(choices, best)
    guessed = not choices.in_calls and not best.wrong_as_called  # no call says which ranks are meant
    if guessed and (lower := _decided_at_lower_rank(tried, checked, report, declared)) is not None:
        others = [_declaration_verdict_text(tried, declared, report.verdict, report)]
        report, declared = lower
    if best.further and (where := tried.where_called(declared.signature)):
        others.insert(0, f"{where} calls it so")
    # A rule that is wrong for a matrix may be right for a vector, and nobody says that it is meant for matrices.
    if guessed and report.verdict == "refuted" and _at_defaults(report, declared):
        if fewer := right_with_an_axis_less(found, declared):
            report = _of_either_rank(report, declared.signature, fewer)
            wrong_at_others = True
    failures, fails_as_meant = _failing_uses(found, tried, report, declared, called=bool(choices.in_calls))
    return Audit(
        _of_inferred_shapes(report), declared, (*others, *failures), wrong_at_others=wrong_at_others or fails_as_meant
    )


class _Choices:
    """The choices of ranks for a rule, by number, the likeliest first, and the verdicts at them."""

    def __init__(self, tried: Tried, known: Callable[[Declaration], tuple[Report, Declaration]]) -> None:
        self.tried, self.declarations = tried, tried.declarations
        self.in_calls = [k for k, candidate in enumerate(tried.found) if tried.where_called(candidate.signature)]
        """The choices that agree with a call of the rule in code."""
        self.meant = self.in_calls or [*range(len(self.declarations) - len(tried.below))]
        """The choices that may be the best one."""
        self.in_full = cache(lambda k: known(self.declarations[k]))
        """Audits the rule in full at a choice; that takes long, and is done once for each choice at most."""
        self.looked: dict[int, Choice] = {}
        """The verdicts of first looks, by number, and that of the full audit at the first choice if it is a proof."""
        self.not_tried: list[Declaration] = []
        """The choices for which no time was left."""

    def look(self, found: FoundRule) -> None:
        """Audit the rule in full at the likeliest choice, and take a first look at the others.

        A lower rank is left out if the rule is proved at another choice, and so is a choice that is part of a proved
        one: it would say nothing new.
        """
        likeliest = self.meant[0]
        first, _ = self.in_full(likeliest)
        if first.verdict in PROOFS:
            self.looked[likeliest] = Choice(first.certificate)
        choices = self.declarations
        with auditing(LOOKS * allotted_seconds()):
            for k, choice in enumerate(choices if len(choices) > 1 else ()):
                if k in self.looked:
                    continue
                proved = [choices[j] for j, look in self.looked.items() if look.verdict in PROOFS]
                if (choice in self.tried.lower and proved) or any(_is_part_of(choice, one) for one in proved):
                    continue
                if budget.over("it"):
                    self.not_tried.append(choice)
                    continue
                with suppress(CertgradError):
                    self.looked[k] = choice_of(found.rule, choice, found.name, allotted_seconds())

    def verdict_at(self, k: int) -> str:
        """Return the verdict at a choice, by a full audit if a first look proved the rule there."""
        look = self.looked[k]
        return look.verdict if look.verdict not in PROOFS else self.in_full(k)[0].verdict


@dataclass(frozen=True)
class _Best:
    """The choice that counts, with the report there."""

    report: Report
    declared: Declaration
    wrong_as_called: bool
    """Whether a call agrees with the choice, and the rule is refuted there."""
    further: list[int]
    """The numbers of the other choices that the report has to name."""


def _best(choices: _Choices, checked: Checked) -> _Best:
    """Return the choice that counts: see `best_choice`."""
    looked, meant = choices.looked, choices.meant
    likely = next((k for k, look in looked.items() if k in meant and look.verdict in PROOFS), meant[0])
    wrong = _wrong_as_called(choices.tried, looked, likely)
    best = likely if wrong is None else wrong
    report, declared = choices.in_full(best)
    # If nothing is proved, a choice counts at which the rule is proved under bounds that the audit may assume.
    if wrong is None and report.verdict not in DECIDED_VERDICTS:
        under = (k for k, look in looked.items() if k != best and k in meant and look.under_assumed())
        if (under_bounds := next(under, None)) is not None:
            best, declared = under_bounds, choices.declarations[under_bounds]
            report = checked(declared)
    further = [k for k, look in looked.items() if k != best and _otherwise(look, report)]
    return _Best(report, declared, wrong is not None, further)


def _at_other_choices(choices: _Choices, best: _Best) -> tuple[list[str], bool]:
    """Return texts on the verdicts at the choices other than the best one, and whether the rule is refuted at one."""
    refuted = any(choices.looked[k].verdict == "refuted" for k in best.further)
    texts = [
        _declaration_verdict_text(choices.tried, choices.declarations[k], choices.verdict_at(k)) for k in best.further
    ]
    texts += [
        f'with "{choice.signature}" it is not tried: the other choices took {LOOKS * allotted_seconds():g} s'
        for choice in choices.not_tried
    ]
    return texts, refuted


def _decided_at_lower_rank(
    tried: Tried, checked: Checked, report: Report, declared: Declaration
) -> tuple[Report, Declaration] | None:
    """Return the report and the choice of a lower rank at which the rule is proved, if the given report proves nothing.

    A first look leaves sizes open. At a lower rank the rule may be proved in full, or at numbers for sizes.
    """
    if report.verdict in DECIDED_VERDICTS or declared in tried.lower:
        return None
    for choice in tried.lower:
        if (lower := checked(choice)).verdict in DECIDED_VERDICTS:
            return lower, choice
    return None


def _failing_uses(
    found: FoundRule, tried: Tried, report: Report, declared: Declaration, *, called: bool
) -> tuple[list[str], bool]:
    """Return texts on uses that the function allows and at which the rule fails, and whether one may be meant.

    These are other signatures, and defaults that are passed by place. A proved rule is tried with one axis more, unless
    it is `called` in code, which says how many axes are meant.
    """
    texts: list[str] = []
    # A rule that is proved for a vector may be wrong for a batch of vectors.
    longer_signature, failing = "", ""
    if not called and report.verdict in PROOFS:
        longer_signature, failing = wrong_with_an_axis_more(found, declared, report.assumed)
    refuted_with_more = bool(longer_signature) and not failing
    if refuted_with_more:
        texts.append(f'with "{longer_signature}" it is refuted')
    names = UserRule(found.rule, declared.signature, static=declared.static, name=found.name).arg_names
    failures, may_be_meant = _failures_at_others(tried, declared, names)
    texts += failures
    if failing:
        texts.append(f'the function also runs with "{longer_signature}", where its rule fails: {failing}')
    passed, error = fails_with_passed_defaults(found, declared)
    if passed:
        texts.append(f"with {passed} passed by place, its rule fails and the function runs: {error}")
    return texts, refuted_with_more or may_be_meant or bool(passed)


def _failures_at_others(tried: Tried, declared: Declaration, names: Sequence[str]) -> tuple[list[str], bool]:
    """Return texts on other signatures at which the function runs and its rule fails, and whether one may be meant.

    A signature may be meant if it has more axes, or differs in parameters alone, which then lack the axes of rows.
    """
    refused = [(text, why) for text, why in tried.refused.items() if text != declared.signature]
    may_be_meant = [
        (text, why)
        for text, why in refused
        if _rank(text) > _rank(declared.signature) or _shares_parameters(text, declared.signature, names)
    ]
    if may_be_meant:
        text, why = min(may_be_meant, key=lambda one: not tried.where_called(one[0]))
        return [f'with "{text}"{_as_called(tried, text)} its rule fails and the function runs: {why}'], True
    if not refused:
        return [], False
    where = tried.where_called(refused[0][0])
    texts = " and ".join(f'"{text}"' for text, _ in refused[: 1 if where else REASONS_SHOWN])
    called = f", as {where} calls it" if where else ""
    return [f"the function also runs with {texts}{called}, where its rule fails: {refused[0][1]}"], False


def _at_defaults(report: Report, declared: Declaration) -> bool:
    """Return whether every refuted case has the options at their defaults."""
    stands = {name: text_of(value.value) for name, value in declared.static.items() if isinstance(value, Default)}
    cases = [case for claim in report.certificate.claims for case in claim.cases if case.verdict == "refuted"]
    return all(case.statics.get(name, text) == text for case in cases for name, text in stands.items())


def _of_either_rank(report: Report, wrong: object, right: str) -> Report:
    """Return the report with its refuted cases made unproved, as nobody says which shapes are meant.

    The rule is wrong with the shapes `wrong` and proved with the shapes `right`. An audit fails on such a report as on
    a refutation.
    """
    text = f'with "{wrong}", and with "{right}" the rule is proved: certgrad.declare says which is meant'

    def unproved(case: CaseClaim) -> CaseClaim:
        if case.verdict != "refuted":
            return case
        return msgspec.structs.replace(
            case, verdict="unproved", witness=None, reason=f"it differs {text}\n{case.reason}"
        )

    def without_refutation(claim: Claim) -> Claim:
        contradicted = f"the two sides differ {text}" if claim.verdict == "refuted" else claim.contradicted
        return with_cases(claim, map(unproved, claim.cases), contradicted=contradicted)

    return replace(
        report, certificate=with_claims(report.certificate, map(without_refutation, report.certificate.claims))
    )


def _shares_parameters(text: str, signature: Any, names: Sequence[str]) -> bool:
    """Return whether `text` differs from the signature only in parameters (`bias`, `scale`) that lack leading axes.

    The function broadcasts such parameters, and a rule that fails there lacks a sum over the leading axes.
    """
    fewer, all_axes = _specs(text), _specs(signature)
    pairs = [(n, a.dims, b.dims) for n, a, b in zip(names, fewer, all_axes, strict=True) if a.dims != b.dims]
    return all(a and a == b[-len(a) :] and is_parameter(n, names) for n, a, b in pairs)


def _is_part_of(choice: Declaration, other: Declaration) -> bool:
    """Return whether a proof at `other` covers `choice`: its shapes are equal, its dtypes equal or `float`."""
    pairs = zip(_specs(choice.signature), _specs(other.signature), strict=True)
    return all(a.dims == b.dims and b.dtype in (a.dtype, "float") for a, b in pairs)


def _rank(signature: Any) -> int:
    """Return the largest number of axes of an argument."""
    return max(len(spec.dims) for spec in _specs(signature))


def _specs(signature: Any) -> Sequence[ArraySpec]:
    return parse(f"{', '.join(leaves(signature))} ->").inputs


def _wrong_as_called(tried: Tried, looked: Mapping[int, Choice], likely: int) -> int | None:
    """Return the number of a choice that a call agrees with and at which the rule is refuted; None if there is none.

    A call does not count if the rule is proved at a choice that agrees with it, also under bounds that the audit may
    assume. At the choice `likely` such bounds are left to its full audit.
    """
    for _, signatures in tried.calls:
        agreeing = {k: one for k, one in looked.items() if tried.declarations[k].signature in signatures}
        if any(one.verdict in PROOFS for one in agreeing.values()):
            continue
        refuted = [k for k, one in agreeing.items() if one.verdict == "refuted"]
        if refuted and (refuted[0] == likely or not any(agreeing[k].under_assumed() for k in refuted)):
            return refuted[0]
    return None


def _otherwise(choice: Choice, report: Report) -> bool:
    """Return whether the report has to name another choice, as the verdict there is another one.

    A choice at which the rule is proved is named if the report proves nothing. One at which it is not proved is named
    unless it is proved under the bounds that the report assumes.
    """
    if choice.verdict in PROOFS:
        return report.verdict not in DECIDED_VERDICTS
    return not (report.assumed and choice.proved_under(report.assumed))


def _declaration_verdict_text(tried: Tried, declared: Declaration, verdict: str, report: Report | None = None) -> str:
    causes = [f"the cotangent of {a.name}: {a.cause}" for a in report.arguments if a.cause] if report else []
    called = _as_called(tried, declared.signature)
    return f'with "{declared.signature}"{called} it is {verdict}{f" ({causes[0]})" if causes else ""}'


def _as_called(tried: Tried, signature: object) -> str:
    where = tried.where_called(signature)
    return f", as {where} calls it," if where else ""


def _of_inferred_shapes(report: Report) -> Report:
    """Return the report; the reasons of refuted and unproved cases say that the shapes are inferred."""

    def at_inferred(_: Claim, case: CaseClaim) -> CaseClaim:
        if case.verdict not in ("refuted", "unproved"):
            return case
        return msgspec.structs.replace(case, reason=f"{case.reason}\n{AT_INFERRED}")

    return replace(report, certificate=with_each_case(report.certificate, at_inferred))
