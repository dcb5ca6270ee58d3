"""The file of Coq for a subject and its certificate."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from certgrad._subject import Subject
from certgrad.jaxpr.at_shapes import DoesNotTraceError
from certgrad.jaxpr.at_symbols import at_symbols
from certgrad.obligations.certificate import Certificate, checksum
from certgrad.obligations.verify._programs import digest_of
from certgrad.specification.rule import UnreadableError

from ._errors import NotPrintedError
from ._names import identifier, mentioned
from ._programs import Function
from ._statements import Case, Section
from ._theorem import Theorem

HEADER = """(** {title}

    Printed by certgrad from the traced programs and the hypotheses of the certificate. Do not edit. *)

From Coq Require Import Reals ZArith Bool.
From Coquelicot Require Import Coquelicot.
From Certgrad Require Import {library}.
Open Scope R_scope.
"""
_PATH = re.compile(r"[.:]")
"""The separators between the parts of a rule's name."""
_DEFINED = re.compile(r"^(?:Definition|Fixpoint) ([\w']+)", re.MULTILINE)
CHECKSUM_MISMATCH = "its checksum does not fit: it was edited, or is not whole"
LIMIT = 10
"""Most seconds for the proof of one theorem."""


@dataclass(frozen=True)
class File:
    """The printed file of one subject."""

    name: str
    subject: str
    sections: tuple[Section, ...]
    requires: tuple[str, ...] = ("Library",)
    """The files of `proofs/` that the file requires."""

    @property
    def header(self) -> str:
        return HEADER.format(title=self.subject, library=" ".join(self.requires))

    @property
    def theorems(self) -> tuple[Theorem, ...]:
        return tuple(t for s in self.sections for t in s.theorems)

    def text(
        self,
        kept: Callable[[Theorem], bool] = lambda _: True,
        found: Mapping[str, int] = MappingProxyType({}),
        limit: int = LIMIT,
    ) -> str:
        """Return the text of the file. A theorem that is not kept, or cannot be printed, is only a comment on that.

        `found` gives by name the number of the proof script that proved a theorem before. `limit` are the seconds after
        which Coq gives up a script. Definitions that no kept theorem uses are left out.
        """
        out, mentioned = [self.header], self._mentioned(kept)
        for section in self.sections:
            out += [f"(** * {section.title} *)\n", *(f"{d.text}\n" for d in section.definitions if mentioned(d))]
            for theorem in section.theorems:
                if theorem.reason:
                    out.append(f"(* {theorem.name} is not here. {comment(theorem.reason)} *)\n")
                elif not kept(theorem):
                    out.append(f"(* {theorem.name} is not here. No proof of it was found. *)\n")
                else:
                    out.append(theorem.text(theorem.proof_sentence(found.get(theorem.name), limit)))
        return "\n".join(out)

    def session(self, kept: Callable[[Theorem], bool], found: Mapping[str, int], limit: int) -> str:
        """Return the text for `coqtop`, whose output shows which of the kept theorems are proved.

        `coqtop` continues after an error. So it echoes `@@` and a name before each part, and `@end` after a proof that
        it accepted; the `Abort All` after that discards a proof that it did not.
        """
        out, mentioned = [echo_sentence("@@header"), self.header], self._mentioned(kept)
        for section in self.sections:
            out += [echo_sentence(f"@@{section.title}"), *(d.text for d in section.definitions if mentioned(d))]
            for theorem in (t for t in section.theorems if not t.reason and kept(t)):
                text = theorem.text(f"Time {theorem.search_sentence(found.get(theorem.name), limit)}")
                out += [echo_sentence(f"@@{theorem.name}"), text, echo_sentence("@end"), "Abort All."]
        return "\n".join(out) + "\n"

    def _mentioned(self, kept: Callable[[Theorem], bool]) -> Callable[[Function], bool]:
        """Return the test whether a definition is used by a kept theorem, directly or through other definitions."""
        definitions = {n: d.text for s in self.sections for d in s.definitions for n in _DEFINED.findall(d.text)}
        theorems = [t for t in self.theorems if not t.reason and kept(t)]
        used = mentioned([text for t in theorems for text in (t.statement, *t.ways)], definitions)
        return lambda definition: not used.isdisjoint(_DEFINED.findall(definition.text))


def echo_sentence(text: str) -> str:
    """Return a sentence of Coq at which it prints the text."""
    return f'Goal True. idtac "{text}". exact I. Qed.'


def comment(text: str) -> str:
    """Return the text as it may stand inside a comment of Coq."""
    return text.replace("(*", "( *").replace("*)", "* )").replace('"', "'")


def export(subject: Subject, certificate: Certificate, traced: Callable[[int], Any] | None = None) -> File:
    """Return the file of one subject: for each case of its certificate, a section of theorems, and one of definedness.

    A theorem is stated for each claim that is proved over the reals, and one that a point satisfies the hypotheses.
    Where something cannot be printed (a case, a claim that is not proved, a certificate whose checksum does not fit), a
    theorem without a statement has the reason.

    Args:
        traced: returns the programs of the case with a number, which must be those that the certificate is about, or
            raises NotPrintedError; without it, the subject is an op, whose programs are traced here.
    """
    if certificate.checksum != checksum(certificate):
        return not_printed(certificate, CHECKSUM_MISMATCH)
    if {len(certificate.traced), *(len(claim.cases) for claim in certificate.claims)} != {len(subject.cases)}:
        return not_printed(certificate, "its cases are not the declared ones")
    sections = []
    several = len(subject.cases) > 1
    subject_name = _PATH.sub("_", subject.name)
    for k, case in enumerate(subject.cases):
        name = f"{subject_name}_case_{k + 1}" if several else subject_name
        title = comment(f"{subject.name}: {case}")
        kinds = [claim.kind for claim in certificate.claims]
        try:
            programs = _of_op(subject, case, certificate.traced[k].digest) if traced is None else traced(k)
            statements = Case(subject, case, programs, name)
        except (DoesNotTraceError, UnreadableError, NotPrintedError) as error:
            sections.append(_without(title, name, kinds, f"not printed: {error}"))
            continue
        theorems, defined, hypotheses = [], [], []
        for claim in certificate.claims:
            verdict = claim.cases[k].verdict
            if verdict not in ("proved", "proved under hypotheses"):
                why = f"its verdict is '{verdict}'"
                theorems.append(Theorem(identifier(f"{name}_{claim.kind}"), claim.kind, reason=why))
                continue
            trees = [h.tree for h in claim.cases[k].hypotheses]
            hypotheses += [tree for tree in trees if tree not in hypotheses]
            theorems.append(statements.theorem(claim.kind, trees))
            # "forward equals reference" is never stated, and its reason need not be repeated for definedness
            if claim.kind != "forward_equals_reference":
                defined.append(statements.theorem(claim.kind, trees, where=True))
        if hypotheses:
            theorems.append(statements.point(hypotheses))
        sections.append(Section(title, statements.definitions, tuple(theorems)))
        # with infinities, the conditions are among the definitions of the programs already
        sections.append(
            Section(f"{title}, where it is defined", () if statements.infinite else statements.defining, tuple(defined))
        )
    return File(identifier(subject_name), subject.name, tuple(sections))


def not_printed(certificate: Certificate, reason: str) -> File:
    """Return the file of a certificate of which nothing can be printed, with the reason."""
    name = identifier(_PATH.sub("_", certificate.op))
    section = _without(comment(certificate.op), name, [claim.kind for claim in certificate.claims], reason)
    return File(name, certificate.op, (section,))


def _without(title: str, name: str, kinds: Sequence[str], reason: str) -> Section:
    """Return a section in which each theorem has only the reason why it is not printed."""
    return Section(title, (), tuple(Theorem(identifier(f"{name}_{kind}"), kind, reason=reason) for kind in kinds))


def _of_op(subject: Subject, case: Any, digest: str) -> Any:
    """Return the traced programs of an op. Raises NotPrintedError unless they have the certificate's digest."""
    programs = at_symbols(subject, case)
    if digest_of(subject, case, programs) != digest:
        raise NotPrintedError("the code is another than the certificate is about")
    return programs
