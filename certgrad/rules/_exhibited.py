"""What a page shows of a rule in code: the exhibit of the subject that its certificate is about."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence

from certgrad._subject import Subject
from certgrad.exhibits import exhibit
from certgrad.exhibits.data import Exhibit, Mend, encode
from certgrad.obligations.certificate import Certificate

from ._by_name import declarations_of
from ._declaration import Declaration
from ._examine import examine, settled
from ._find import Found
from ._layers import is_op, plain_function, unwrapped
from ._report import Report
from ._user_rule import UserRule


def exhibited(
    found: Found, table: Mapping[str, Sequence[Declaration]], certificate: Certificate, report: Report | None
) -> bytes:
    """The exhibit, encoded; empty where none can be made. With a report on a wrong rule, its mend is looked for."""
    try:
        doc = inspect.getdoc(plain_function(unwrapped(found.rule))) or ""
        subject = _subject(found, table, certificate)
        if subject is None:
            return encode(Exhibit(doc))
        return encode(exhibit(subject, certificate, doc, _mend(subject, certificate, report)))
    except Exception:  # a picture is no reason to lose a verdict
        return b""


def _subject(found: Found, table: Mapping[str, Sequence[Declaration]], certificate: Certificate) -> Subject | None:
    """The rule at the declaration that the certificate is about."""
    if is_op(found.rule):
        rule: Subject = found.rule
        return rule
    at = certificate.sizes[0] if certificate.sizes else None
    made = [_made(found, d, certificate, at) for d in declarations_of(found, table)]
    return next((s for s in made if [str(c.signature) for c in s.cases] == certificate.signature), made[0])


def _made(found: Found, d: Declaration, certificate: Certificate, at: Mapping[str, int] | None) -> UserRule:
    options = {k: v for k, v in d.options.items() if k in ("static", "differentiable", "domain")}
    without = () if options.get("differentiable") is not None else tuple(certificate.without_gradient or ())
    rule = UserRule(found.rule, d.signature, name=found.name, ideal=d.approximates, excluded=without, at=at, **options)
    settled(rule, examine(rule))
    return rule


def _mend(subject: Subject, certificate: Certificate, report: Report | None) -> Mend | None:
    return None
