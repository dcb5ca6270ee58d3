"""What an audit hands to the reports, and the few facts about it that every format states."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from certgrad.errors import DomainError
from certgrad.hypotheses.implied import unsaid
from certgrad.hypotheses.parse import conjuncts, parse
from certgrad.hypotheses.tree import Statement
from certgrad.obligations.certificate import (
    AT_SIZES,
    HOLDS,
    ORDER,
    PROOFS,
    CaseClaim,
    Certificate,
    Claim,
    Hypothesis,
    VerdictName,
)
from certgrad.report.wording import number, symbols

if TYPE_CHECKING:
    from certgrad.exhibits.data import Exhibit

SHORT_NAMES = {
    "jvp_is_derivative": "jvp",
    "vjp_is_adjoint": "vjp",
    "rule_runs_forward": "fwd",
    "forward_equals_reference": "ref",
}


@dataclass(frozen=True)
class Place:
    """Where a rule is. `shown` is that for the reader: the file from the working directory, and the line."""

    file: str = ""
    line: int = 0
    shown: str = ""


NOWHERE = Place()


def place_of(where: str, file: str) -> Place:
    """Where a rule is, from `file.py:12` and its file in full."""
    line = where.rpartition(":")[2]
    if file in ("", "?") or not line.isdigit():
        return NOWHERE
    return Place(file, int(line), f"{from_here(file)}:{line}")


def from_here(file: str) -> str:
    """The file as it is named from the working directory; its name alone, where it is not under it."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else path.name


@dataclass(frozen=True)
class Audited:
    """A certificate and the seconds that it took. The time is for the reader; a certificate never holds it."""

    certificate: Certificate
    seconds: float
    reproduction: str = ""
    """A script that shows the refutation, for the reader."""
    place: Place = NOWHERE
    """Of a rule in code."""
    covered: frozenset[str] = frozenset()
    """Codes of findings that the project's baseline lists: known, and not to be shown again."""
    exhibit: "Exhibit | None" = None
    """What a page shows beside the certificate, where one was asked for."""
    coq: str = ""
    """The version of Coq that accepted the proof, where that was tried; empty where nothing says so."""

    @property
    def where(self) -> str:
        """File and line, of a rule in code."""
        return self.place.shown


@dataclass(frozen=True)
class Remarked:
    """A remark: what a proof of the rule does not cover, or why there is none. `rule` may name a module."""

    rule: str
    code: str
    text: str
    place: Place = NOWHERE
    fails: bool = False
    covered: bool = False
    """The project's baseline lists it."""


@dataclass(frozen=True)
class Audit:
    """All that an audit found, in the order asked for."""

    audited: Sequence[Audited]
    seconds: float = 0.0
    remarks: Sequence[Remarked] = ()
    missing: int = 0
    """How many rules were found and not audited."""
    failing: frozenset[VerdictName] = frozenset({"refuted"})
    """The verdicts on which it fails."""
    problems: Sequence[str] = ()
    """Why it is not complete: targets that could not be looked at, an interruption."""

    @property
    def certificates(self) -> list[Certificate]:
        return [one.certificate for one in self.audited]


def hypotheses_of(certificate: Certificate) -> list[Hypothesis]:
    """Every hypothesis of the certificate once, in the order of its claims. Where several sizes were looked at, one
    that not all of them need says at which it is one.
    """
    seen: dict[Statement, Hypothesis] = {}
    for claim in certificate.claims:
        for hypothesis in claim.hypotheses:
            seen.setdefault(hypothesis.tree, hypothesis)
    sizes = list(dict.fromkeys(case.scope for claim in certificate.claims for case in claim.cases))
    if not certificate.sizes or len(sizes) < 2:
        return list(seen.values())
    needed: dict[Statement, dict[str, None]] = {tree: {} for tree in seen}
    for case in (case for claim in certificate.claims for case in claim.cases):
        for hypothesis in case.hypotheses:
            needed.setdefault(hypothesis.tree, {})[case.scope] = None
    return [
        msgspec.structs.replace(h, text=f"{h.text} at {'; '.join(needed[tree])}")
        if 0 < len(needed[tree]) < len(sizes)
        else h
        for tree, h in seen.items()
    ]


def conditions(certificate: Certificate) -> list[str]:
    """What the claims rest on, as short text: the hypotheses, then the constraints of the op's parameters."""
    constraints = [symbols(constraint) for constraint in certificate.params.values() if constraint]
    hypotheses = hypotheses_of(certificate)
    stated = [one for n, c in certificate.params.items() for one in _statements(n, c)]
    found = [h.text for h in _needed(certificate, hypotheses, stated)]
    return [*dict.fromkeys(found + constraints), *(f"{one.literal} is {one.text}" for one in certificate.literals)]


def listed(certificate: Certificate) -> list[str]:
    """The hypotheses, as short text, each once and less those that others imply: no x ≠ 0 beside x > 0."""
    return sorted({h.text for h in _needed(certificate, hypotheses_of(certificate))})


def _statements(parameter: str, constraint: str) -> Sequence[Statement]:
    """What a constraint says; nothing for one that is none, as a foreign certificate may hold any text."""
    try:
        return conjuncts(parse(constraint, (parameter,))) if constraint else ()
    except DomainError:
        return ()


def _needed(
    certificate: Certificate, hypotheses: Sequence[Hypothesis], given: Sequence[Statement] = ()
) -> list[Hypothesis]:
    """Those that no others imply, nor what is given. Of those that some sizes alone need, none stands for another."""
    implied = set() if certificate.sizes else unsaid([*given, *(h.tree for h in hypotheses)])
    return [h for k, h in enumerate(hypotheses, len(given)) if k not in implied]


def open_cases(certificates: Iterable[Certificate]) -> list[tuple[Claim, CaseClaim]]:
    """The refuted, unproved and surrogate cases, in order, each with its claim. A claim that names no case stands for
    itself.
    """
    found = []
    for certificate in certificates:
        for claim in certificate.claims:
            if is_discharged(claim.verdict):
                continue
            cases = [case for case in claim.cases if not is_discharged(case.verdict)]
            found += [(claim, case) for case in cases or [_whole(certificate, claim)]]
    return found


def _whole(certificate: Certificate, claim: Claim) -> CaseClaim:
    return CaseClaim(signature="; ".join(certificate.signature), statics={}, scope="", verdict=claim.verdict)


def is_discharged(verdict: VerdictName) -> bool:
    """Whether the verdict is a proof, with or without hypotheses, if only of the program with its literals moved, or
    of some sizes.
    """
    return verdict in (*PROOFS, AT_SIZES)


def count(certificates: Sequence[Certificate]) -> dict[VerdictName, int]:
    """How many certificates carry each verdict, every verdict listed."""
    return {verdict: sum(c.verdict == verdict for c in certificates) for verdict in ORDER}


def summary(certificates: Sequence[Certificate], missing: int = 0) -> str:
    """One line: `95 ops: 60 proved, 35 proved under hypotheses, 0 unproved, 0 refuted`; with `missing` rules that could
    not be audited, `4 of 12 rules: …`.
    """
    partly = [c for c in certificates if c.ignored and is_discharged(c.verdict)]
    counts = count([c for c in certificates if c not in partly])
    always = (*HOLDS, "unproved", "refuted")
    parts = [f"{counts[verdict]} {verdict}" for verdict in ORDER if verdict in always or counts[verdict]]
    parts += [f"{len(partly)} in part, with obligations ignored"] if partly else []
    word = "rule" if (certificates or missing) and all(":" in c.op for c in certificates) else "op"
    total = len(certificates) + missing
    counted = f"{len(certificates)} of {total}" if missing else str(total)
    return f"{counted} {word}{'' if total == 1 else 's'}: {', '.join(parts)}"


def conventions(certificate: Certificate) -> list[str]:
    """The conventions as short text: `0 at x = 0`."""
    return [f"{number(convention.rule)} at {convention.point}" for convention in certificate.conventions]


def signatures(certificate: Certificate, limit: int = 4) -> list[str]:
    """The op's cases, each once; of many, the first ones and how many more there are."""
    lines = list(dict.fromkeys(map(_as_written, certificate.signature)))
    return lines if len(lines) <= limit else [*lines[: limit - 1], f"and {len(lines) - limit + 1} more cases"]


def _as_written(signature: str) -> str:
    """A signature that says nothing of the outputs ends in no arrow, which would say that they are scalars; and of an
    array of floats that the claim does not move it says no dtype.
    """
    return re.sub(r" ->(?= *$|  )", "", signature).replace(":held", "").rstrip()


def options_of(certificate: Certificate) -> str:
    """The values of static arguments at which a rule was looked at, each choice once: `clip=0.2, reduction=mean`."""
    return "; ".join(dict.fromkeys(filter(None, (_options(c) for claim in certificate.claims for c in claim.cases))))


def _options(case: CaseClaim) -> str:
    return ", ".join(f"{name}={value}" for name, value in case.statics.items())


def case_name(case: CaseClaim) -> str:
    """The case as the op declares it: `*a n *c -> *a *c (axis=-1)`."""
    statics = _options(case)
    signature = _as_written(case.signature)
    return f"{signature} ({statics})" if statics else signature
