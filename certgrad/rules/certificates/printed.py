"""Certificates of rules in code as files of Coq, from the current code, which is traced as the audit traces it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from certgrad._subject import Subject, is_op
from certgrad.coq import File, NotPrintedError, export, not_printed
from certgrad.errors import CertgradError
from certgrad.obligations.certificate import Certificate
from certgrad.obligations.generality.traces import Traces
from certgrad.rules.finding.find import FoundRule
from certgrad.rules.judging.by_name import declarations_of
from certgrad.rules.project.configuration import nearest

from .verify import as_audited, named_as_found, traced_case, unlike_what_was_audited


def print_rule(certificate: Certificate, found: FoundRule) -> File:
    """Return the certificate as a file of Coq; if it cannot be printed, a file in which each theorem says why.

    The certificate does not choose the code: it has to be about the rule that was found under its name, with the rule's
    current declaration.
    """
    if found.problem:
        return not_printed(certificate, found.problem)
    if is_op(found.rule):
        named = named_as_found(found)
        differences = unlike_what_was_audited(certificate, [named])
        return not_printed(certificate, differences[0]) if differences else export(named, certificate)
    if certificate.sizes:
        return not_printed(certificate, "it was proved at sizes alone")
    why = "nothing says the shapes of the rule"
    try:
        for declared in declarations_of(found, nearest(Path.cwd()).declarations):
            if declared.approximates is not None:
                why = "its derivative is that of another function"
                continue
            rule = as_audited(found, declared, certificate)
            if isinstance(rule, str):
                why = rule
            elif len(rule.whole.cases) != len(certificate.traced):
                why = "the certificate is about other cases"
            else:
                printed = _Printed(rule.whole, certificate)  # `export` asks it for the programs of each case
                file = export(rule.whole, certificate, printed.programs)
                why = printed.other or "; ".join(unlike_what_was_audited(certificate, rule.parts))
                if not why:
                    return file
    except CertgradError as error:
        why = str(error)
    return not_printed(certificate, why)


class _Printed:
    """The traced programs of a rule's cases, for a certificate of the same programs."""

    def __init__(self, rule: Subject, certificate: Certificate) -> None:
        self.certificate, self.traces = certificate, Traces(rule)
        self.other = ""
        """Why the rule is not the one that the certificate is about; "" if it is, as far as it was looked at."""

    def programs(self, k: int) -> Any:
        """Return the programs of case `k`, in 64 or in 32 bits as the certificate has them.

        Raises NotPrintedError if neither has the certificate's digest.
        """
        for programs, digest in traced_case(self.traces, k):
            if isinstance(programs, CertgradError):
                self.other = str(programs)
            elif digest == self.certificate.traced[k].digest:
                self.other = ""
                return programs
            else:
                self.other = "the code is another than the certificate is about"
        raise NotPrintedError(self.other)
