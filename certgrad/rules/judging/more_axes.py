"""Audits of a rule with inferred shapes at one axis more or less, where its verdict may be another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from certgrad import rules
from certgrad.errors import CertgradError
from certgrad.obligations.certificate import PROOFS
from certgrad.obligations.generality.traces import Traces
from certgrad.obligations.terms.budget import allotted_seconds
from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.finding.find import FoundRule
from certgrad.rules.subject.defaults import AXIS
from certgrad.rules.subject.traced import failed, names_no_axis, why_untraced
from certgrad.rules.subject.user_rule import UserRule
from certgrad.signatures.signature import ArraySpec
from certgrad.signatures.sizes import named_size

from .check import choice_of

PARAMETERS = frozenset("b bias beta g gain gamma offset scale shift w weight".split())
"""Names, or last words of names, of arguments that are usually shared by all rows of a batch."""
LEADING = ("b", "h", "n", "batch")
"""Names for the leading axis: the first one that the signature does not use is taken."""


def is_parameter(name: str, names: Sequence[str]) -> bool:
    """Return whether the name of an argument is that of a parameter; `b` beside `a` is not, but the second of two."""
    return name.rpartition("_")[2] in PARAMETERS and not (name == "b" and "a" in names)


def wrong_with_an_axis_more(found: FoundRule, declared: Declaration, assumed: Sequence[str]) -> tuple[str, str]:
    """Return the signature with one leading axis more if the rule is wrong there, and its error.

    Two empty texts if nothing is wrong there, or the function does not run. If the rule runs and is refuted, the error
    is "". The rule is proved at the declared shapes, under the conditions in `assumed`.
    """
    with suppress(CertgradError):
        rule = UserRule(found.rule, declared.signature, static=declared.static, name=found.name)
        text = _with_an_axis_more(rule)
        if not text or not isinstance(declared.signature, str) or names_no_axis(rule):
            return "", ""
        with_axis = UserRule(found.rule, text, static=declared.static, name=found.name)
        traces = Traces(with_axis)
        why, _ = why_untraced(with_axis, traces)
        if (error := failed(traces)) is not None:
            return ("", "") if error.of_function else (text, error.brief)
        if why:
            return text, why
        # A check at points is cheap, and says whether an audit is worth its time.
        if rules.differs_at_a_point(with_axis):
            choice = choice_of(found.rule, replace(declared, signature=text), found.name, allotted_seconds())
            proved = choice.proved_under(assumed) if assumed else choice.under_assumed()
            if choice.verdict == "refuted" and not proved:
                return text, ""
    return "", ""


def right_with_an_axis_less(found: FoundRule, declared: Declaration) -> str:
    """Return the signature with one leading axis less at which a refuted rule is proved; "" if there is none.

    All arguments but parameters lose their first axis; after that, one vector may become a scalar as well. Only the
    first such signature at which the rule traces is audited.
    """
    if any(map(AXIS.fullmatch, declared.static)):  # the number of an axis would mean another one
        return ""
    with suppress(CertgradError):
        rule = UserRule(found.rule, declared.signature, static=declared.static, name=found.name)
        specs = [
            replace(spec, dims=spec.dims[1:]) if not is_parameter(arg, rule.arg_names) else spec
            for arg, spec in zip(rule.arg_names, rule.signature.inputs, strict=True)
        ]
        if isinstance(declared.signature, str) and not rule.signature.stars and any(spec.dims for spec in specs):
            for fewer in [specs, *_with_one_scalar(specs)]:
                text = _text(fewer)
                if rules.traces(Traces(UserRule(found.rule, text, static=declared.static, name=found.name))):
                    choice = choice_of(found.rule, replace(declared, signature=text), found.name, allotted_seconds())
                    return text if choice.verdict in PROOFS else ""
    return ""


def _with_one_scalar(specs: Sequence[ArraySpec]) -> Iterator[Sequence[ArraySpec]]:
    """Yield the specs with one vector made a scalar, the last vector first: an angle beside an axis and a point."""
    for k in reversed(range(len(specs))):
        if len(specs[k].dims) == 1 and len(specs) > 1:
            yield [*specs[:k], replace(specs[k], dims=()), *specs[k + 1 :]]


def _with_an_axis_more(rule: UserRule) -> str:
    """Return the signature with one more leading axis for all arrays but parameters.

    "" if no array gets an axis, if the signature has star groups, or if all names for an axis are taken.
    """
    signature = rule.signature
    name = next((n for n in LEADING if n not in signature.names), None)
    if name is None or signature.stars:
        return ""
    specs = [
        replace(spec, dims=(named_size(name), *spec.dims))
        if spec.dims and not is_parameter(arg, rule.arg_names)
        else spec
        for arg, spec in zip(rule.arg_names, signature.inputs, strict=True)
    ]
    return "" if specs == [*signature.inputs] else _text(specs)


def _text(specs: Sequence[ArraySpec]) -> str:
    return ", ".join(str(spec) or "()" for spec in specs)
