"""The exhibit of a rule in code: what a page shows beside its certificate."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence

from certgrad._subject import Subject, is_op
from certgrad.exhibits import exhibit, with_plots
from certgrad.exhibits.data import encode
from certgrad.obligations.certificate import Certificate, assumed
from certgrad.rules.causes.mend import mend
from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.finding.find import FoundRule
from certgrad.rules.judging.by_name import perhaps_audited
from certgrad.rules.subject.examine import apply_examination, examine
from certgrad.rules.subject.layers import plain_function, unwrapped
from certgrad.rules.subject.report import Report
from certgrad.rules.subject.user_rule import UserRule


def exhibited(
    found: FoundRule, table: Mapping[str, Sequence[Declaration]], certificate: Certificate, report: Report | None
) -> Iterator[bytes]:
    """Yield the exhibit of a rule, encoded, and then once more with its plots; b"" alone if none can be made.

    If there is a `report` on the rule and it is wrong, a mend of it is searched for and shown.
    """
    try:
        doc = inspect.getdoc(plain_function(unwrapped(found.rule))) or ""
        subject: Subject = found.rule
        mended = None
        if not is_op(found.rule):
            at = certificate.sizes[0] if certificate.sizes else None
            pairs = [(_rule_at(found, d, certificate, at), d) for d in perhaps_audited(found, table)]
            fitting = [(s, d) for s, d in pairs if [str(c.signature) for c in s.cases] == certificate.signature]
            rule, declaration = (fitting or pairs)[0]  # the declaration that the certificate is about, if it is there
            subject, mended = rule, mend(rule, report, declaration) if report is not None else None
        shown = exhibit(subject, doc, mended)
    except Exception:  # a verdict must not be lost because of a picture
        yield b""
        return
    yield encode(shown)
    try:
        yield encode(with_plots(shown, subject, certificate))
    except Exception:
        yield encode(shown)


def _rule_at(found: FoundRule, d: Declaration, certificate: Certificate, at: Mapping[str, int] | None) -> UserRule:
    """Return the rule by a declaration, with the claims of the certificate: its arguments, sizes and assumed bounds."""
    without = () if d.differentiable is not None else tuple(certificate.without_gradient or ())
    about = {"excluded": without, "at": at, "assumed": assumed(certificate), **d.claimed}
    rule = UserRule(found.rule, d.signature, name=found.name, ideal=d.approximates, **about)
    apply_examination(rule, examine(rule))
    return rule
