"""The results of an audit as all reports take them, and texts that every format has."""

import ast
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from certgrad.errors import DomainError
from certgrad.language.canonical import canonical
from certgrad.language.once import ANY_AXES, merge_rank_variants, needless
from certgrad.language.parse import conjuncts, parse
from certgrad.language.tree import Index, Statement, walk
from certgrad.obligations.certificate import (
    ASSUMED,
    AT_SIZES,
    ORDER,
    PROOFS,
    PROVED_AS_WRITTEN,
    CaseClaim,
    Certificate,
    Claim,
    Hypothesis,
    VerdictName,
)
from certgrad.obligations.certificate import verdict_text as _stated
from certgrad.report import findings as _findings
from certgrad.report.wording import but_for_causes, number, symbols
from certgrad.signatures.nested import leaves
from certgrad.signatures.signature import for_people

_AFTER = re.compile(r"(.*?)((?:  \w+=.*)?)", re.DOTALL)
"""Matches a signature, and the values of keyword arguments after it, each after two blanks."""
_NO_OUTPUTS = re.compile(r" -> *$")
SHORT_NAMES = {
    "jvp_is_derivative": "jvp",
    "vjp_is_adjoint": "vjp",
    "rule_runs_forward": "fwd",
    "forward_equals_reference": "ref",
}


@dataclass(frozen=True)
class Place:
    """The file and line of a rule; `shown` is both as text, with the file relative to the working directory."""

    file: str = ""
    line: int = 0
    shown: str = ""


NO_PLACE = Place()


def place_of(where: str, file: str) -> Place:
    """Return a rule's place from `file.py:12` and its full file name; `NO_PLACE` if these name none."""
    line = where.rpartition(":")[2]
    if file in ("", "?") or not line.isdigit():
        return NO_PLACE
    return Place(file, int(line), f"{from_here(file)}:{line}")


def from_here(file: str) -> str:
    """Return the path of a file relative to the working directory; its name alone if it is not below that."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else path.name


class RuleResult(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The result of one rule or op: its certificate, or remarks on why there is none, or the ignored codes.

    Processes send results, the cache stores them, and reports are made of them.
    """

    name: str
    where: str = ""
    """For a rule in code: its file name and line."""
    file: str = ""
    """The full path of the file."""
    certificate: Certificate | None = None
    remarks: list[_findings.Remark] = []
    notes: list[str] = []
    seconds: float = 0.0
    """The seconds of the audit; a certificate never contains them."""
    reproduction: str = ""
    """A script that shows the refutation; "" if there is none."""
    report: str = ""
    """The report on the rule as text, if it is not proved."""
    second: Certificate | None = None
    """The certificate on second derivatives (the rule of the rule), if that was asked for."""
    second_reproduction: str = ""
    """A script that shows the refutation of `second`."""
    cache_problem: str = ""
    """Why the cache could not be written; "" if it was."""
    inferred: str = ""
    """The inferred declaration of the audit, as a line of `[tool.certgrad.signatures]`; "" if one was declared."""
    exhibit: bytes = b""
    """What a page shows of the rule, if requested: an `ExhibitUpdate` brings it after the result."""
    graphs: list[bytes] = []
    """For a composed op: the certified graph of each case, encoded, if requested."""
    ignored: list[str] = []
    """The codes of the obligations, if all of them are ignored and there is no certificate."""
    of: str = ""
    """For a second-order result: the name of the rule whose cotangents it is about."""
    covered: list[str] | UnsetType = UNSET
    """Codes of findings that the project's baseline lists, which are not shown again. Set for a report."""
    level: str | UnsetType = UNSET
    """How far exact evaluation agrees, if that was asked for: `exact for all sizes`, or `balls`."""
    coq: str | UnsetType = UNSET
    """The version of Coq that accepted the proof, if that is known. Set for a report."""

    @property
    def stated(self) -> str:
        """The verdict with its limits and its level: `proved · exact for all sizes`."""
        verdict = _stated(self.certificate) if self.certificate is not None else ""
        return f"{verdict} · {self.level}" if self.level else verdict

    @property
    def place(self) -> Place:
        """The file and line of the rule."""
        return place_of(self.where, self.file)

    @property
    def named(self) -> str:
        """The name of the rule with its file and line."""
        shown = self.place.shown
        return f"{self.name} ({shown})" if shown else self.name

    @property
    def missing(self) -> bool:
        """Whether this is a rule that could not be audited; False for a module that does not import."""
        return (
            self.certificate is None
            and ":" in self.name
            and any(r.code in _findings.CODES_OF_UNAUDITED for r in self.remarks)
        )

    @property
    def findings(self) -> list[_findings.Finding]:
        """The findings on the rule: claims that are not proved, and remarks."""
        return _findings.findings_of(self.name, self.certificate, self.remarks)

    @property
    def each(self) -> "list[RuleResult]":
        """This result, and a second one on second derivatives if there is a certificate on them."""
        if self.second is None:
            return [self]
        return [
            self,
            RuleResult(
                name=self.second.op,
                where=self.where,
                file=self.file,
                certificate=self.second,
                reproduction=self.second_reproduction,
                inferred=self.inferred,
                of=self.name,
            ),
        ]


def certificates_of(results: Iterable[RuleResult]) -> list[Certificate]:
    """Return the certificates of results that have one."""
    return [one.certificate for one in results if one.certificate is not None]


@dataclass(frozen=True)
class Audit:
    """The results of an audit, in the order of the targets."""

    results: Sequence[RuleResult]
    seconds: float = 0.0
    failing: frozenset[VerdictName] = frozenset({"refuted"})
    """The verdicts on which the audit fails."""
    problems: Sequence[str] = ()
    """Why the audit is not complete: targets that could not be audited, an interruption."""
    strict: _findings.Strictness = False
    """Whether the audit fails on all remarks, or the names of those that it fails on."""

    @property
    def certified(self) -> list[tuple[RuleResult, Certificate]]:
        """The results that have a certificate, each with it."""
        return [(one, one.certificate) for one in self.results if one.certificate is not None]

    @property
    def certificates(self) -> list[Certificate]:
        return certificates_of(self.results)

    @property
    def missing(self) -> int:
        """The number of rules that were found and not audited."""
        return sum(one.missing for one in self.results)


def hypotheses_of(certificate: Certificate) -> list[Hypothesis]:
    """Return every hypothesis of a certificate once, in the order of its claims, with one for all ranks.

    In a certificate about several sizes, a hypothesis that only some of them need says which these are.
    """
    by_tree: dict[Statement, Hypothesis] = {}
    for claim in certificate.claims:
        for hypothesis in claim.hypotheses:
            by_tree.setdefault(hypothesis.tree, hypothesis)
    sizes = list(dict.fromkeys(case.scope for claim in certificate.claims for case in claim.cases))
    if not certificate.sizes or len(sizes) < 2:
        return merged_hypotheses(list(by_tree.values()))
    needed: dict[Statement, dict[str, None]] = {tree: {} for tree in by_tree}
    for case in (case for claim in certificate.claims for case in claim.cases):
        for hypothesis in case.hypotheses:
            needed.setdefault(hypothesis.tree, {})[case.scope] = None
    return [
        msgspec.structs.replace(h, text=f"{h.text} at {'; '.join(needed[tree])}")
        if 0 < len(needed[tree]) < len(sizes)
        else h
        for tree, h in by_tree.items()
    ]


def merged_hypotheses(hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Return the hypotheses, with one in place of several that differ in the rank alone: `(Σj x[…,j]^2) > 0`."""
    statements = merge_rank_variants([h.tree for h in hypotheses])
    return [
        h if statements[k] is h.tree else _worded_for_all_ranks(h, statements[k])
        for k, h in enumerate(hypotheses)
        if k in statements
    ]


def _worded_for_all_ranks(hypothesis: Hypothesis, statement: Statement) -> Hypothesis:
    """Return the hypothesis at one rank reworded as `statement`, which is about all ranks: `…` in place of an index."""
    index = next(n.name for n in walk(hypothesis.tree) if isinstance(n, Index) and n.name not in {*_indices(statement)})
    among = re.compile(rf"(?<=[\[{{,]){index}(?=[\]}},])")
    return msgspec.structs.replace(
        hypothesis,
        tree=statement,
        text=among.sub(ANY_AXES, hypothesis.text),
        latex=among.sub(r"\\dots", hypothesis.latex),
        prose=among.sub(ANY_AXES, hypothesis.prose),
    )


def _indices(statement: Statement) -> Iterator[str]:
    return (node.name for node in walk(statement) if isinstance(node, Index))


def conditions(certificate: Certificate) -> list[str]:
    """Return the hypotheses as short text, then the constraints of the op's parameters."""
    constraints = [symbols(constraint) for constraint in certificate.params.values() if constraint]
    hypotheses = hypotheses_of(certificate)
    if certificate.domain:  # hypotheses that the author did not declare come first
        hypotheses.sort(key=lambda h: h.source == "domain")
    hypotheses.sort(key=lambda h: h.source != ASSUMED)
    stated = [one for n, c in certificate.params.items() for one in _statements((n,), c)]
    hypothesis_texts = [as_listed(h) for h in _without_implied(certificate, hypotheses, stated)]
    return [
        *dict.fromkeys(hypothesis_texts + constraints),
        *(f"{one.literal} is {one.text}" for one in certificate.literals),
    ]


def listed(certificate: Certificate) -> list[str]:
    """Return the hypotheses as sorted short texts, without those that others imply: no x ≠ 0 beside x > 0."""
    return sorted({h.text for h in _without_implied(certificate, hypotheses_of(certificate))})


def hypotheses_as_listed(certificate: Certificate) -> list[str]:
    """Return the hypotheses as `listed` does, with a mark at those that are assumed."""
    return sorted({as_listed(h) for h in _without_implied(certificate, hypotheses_of(certificate))})


def as_listed(hypothesis: Hypothesis) -> str:
    """Return the text of a hypothesis, with a mark if it is assumed."""
    return f"{hypothesis.text} (assumed: not declared)" if hypothesis.source == ASSUMED else hypothesis.text


def beyond_domain(certificate: Certificate) -> list[Hypothesis]:
    """Return the hypotheses that exclude a part of the declared domain; [] if no domain is declared."""
    hypotheses = hypotheses_of(certificate)
    stated = [one for text in certificate.domain for one in _statements(_names_in(text), text)]
    stated += [h.tree for h in hypotheses if h.source == "domain"]  # also those that are no comparison
    if not certificate.domain:
        return []
    declared = set(map(canonical, stated))
    needed = _without_implied(certificate, hypotheses, stated)
    return [h for h in needed if h.source not in ("domain", ASSUMED) and canonical(h.tree) not in declared]


def _names_in(text: str) -> tuple[str, ...]:
    """Return the names in a condition; () if it is no expression."""
    try:
        nodes = ast.walk(ast.parse(text.strip(), mode="eval"))
    except (SyntaxError, ValueError):
        return ()
    return tuple(sorted({node.id for node in nodes if isinstance(node, ast.Name)}))


def _statements(names: tuple[str, ...], condition: str) -> Sequence[Statement]:
    """Return a condition as statements; () if it does not parse, as in a certificate from elsewhere."""
    try:
        return conjuncts(parse(condition, names)) if condition else ()
    except DomainError:
        return ()


def _without_implied(
    certificate: Certificate, hypotheses: Sequence[Hypothesis], given: Sequence[Statement] = ()
) -> list[Hypothesis]:
    """Return the hypotheses that neither others nor `given` imply; all of them if the certificate is about sizes.

    A hypothesis that only some sizes need cannot replace another one.
    """
    implied = set() if certificate.sizes else needless([*given, *(h.tree for h in hypotheses)])
    return [h for k, h in enumerate(hypotheses, len(given)) if k not in implied]


def open_cases(certificates: Iterable[Certificate]) -> list[tuple[Claim, CaseClaim]]:
    """Return the refuted, unproved and surrogate cases in order, each with its claim.

    An open claim without an open case gets a case that stands for the whole claim.
    """
    pairs = []
    for certificate in certificates:
        for claim in certificate.claims:
            if is_discharged(claim.verdict):
                continue
            cases = [case for case in claim.cases if not is_discharged(case.verdict)]
            pairs += [(claim, case) for case in cases or [_whole_claim_case(certificate, claim)]]
    return pairs


def told_once(certificate: Certificate, covered: Collection[str] = ()) -> dict[str, list[str]]:
    """Return the codes to report, each with the codes of other claims that are open for the same reason.

    Of claims with the same reason the one with the gravest verdict is reported, for all of them; but claims that are
    `covered` by a baseline and others are kept apart.
    """
    by_reason: dict[Any, list[Claim]] = {}
    for claim in certificate.claims:
        cases = [case for case in claim.cases if not is_discharged(case.verdict)]
        only_reasons = bool(cases) and all(case.reason and case.witness is None and not case.residual for case in cases)
        reasons = [(case.signature, *sorted(case.statics.items()), *but_for_causes(case.reason)) for case in cases]
        key = (claim.code in covered, tuple(reasons)) if only_reasons else claim.id
        by_reason.setdefault(key, []).append(claim)
    gravest = ((max(claims, key=lambda c: ORDER.index(c.verdict)), claims) for claims in by_reason.values())
    return {first.code: [c.code for c in claims if c is not first] for first, claims in gravest}


def _whole_claim_case(certificate: Certificate, claim: Claim) -> CaseClaim:
    return CaseClaim(signature="; ".join(certificate.signature), statics={}, scope="", verdict=claim.verdict)


def is_discharged(verdict: VerdictName) -> bool:
    """Return whether a verdict is a proof: with or without hypotheses, up to rounding, or at sizes."""
    return verdict in (*PROOFS, AT_SIZES)


def count(certificates: Sequence[Certificate]) -> dict[VerdictName, int]:
    """Return, for every verdict, the number of certificates that have it."""
    return {verdict: sum(c.verdict == verdict for c in certificates) for verdict in ORDER}


def summary(certificates: Sequence[Certificate], missing: int = 0) -> str:
    """Return one line: `95 ops: 60 proved, 35 proved under hypotheses, 0 unproved, 0 refuted`.

    With `missing` rules that could not be audited, it begins with `4 of 12 rules`.
    """
    partly = [c for c in certificates if c.ignored and is_discharged(c.verdict)]
    counts = count([c for c in certificates if c not in partly])
    always = (*PROVED_AS_WRITTEN, "unproved", "refuted")
    parts = [f"{counts[verdict]} {verdict}" for verdict in ORDER if verdict in always or counts[verdict]]
    parts += [f"{len(partly)} in part, with obligations ignored"] if partly else []
    word = "rule" if (certificates or missing) and all(":" in c.op for c in certificates) else "op"
    total = len(certificates) + missing
    counted = f"{len(certificates)} of {total}" if missing else str(total)
    return f"{counted} {word}{'' if total == 1 else 's'}: {', '.join(parts)}"


def conventions(certificate: Certificate) -> list[str]:
    """Return the conventions as short text: `0 at x = 0`."""
    return [f"{number(convention.rule)} at {convention.point}" for convention in certificate.conventions]


def signatures(certificate: Certificate, limit: int = 4, inferred: str = "") -> list[str]:
    """Return the signatures of a certificate, each once: at most `limit` lines, the last of which counts the rest."""
    lines = list(dict.fromkeys(as_written(one, inferred) for one in certificate.signature))
    return lines if len(lines) <= limit else [*lines[: limit - 1], f"and {len(lines) - limit + 1} more cases"]


def as_written(signature: str, inferred: str = "") -> str:
    """Return a signature as people read it.

    A signature without outputs has no arrow at its end, which would make them scalars, and arrays that are held fixed
    have no mark. If the signature is that of the declaration `inferred`, it is written with the containers of that.
    """
    flat, statics = _AFTER.fullmatch(signature.replace(":held", "")).groups("")  # type: ignore[union-attr]
    flat = for_people(_NO_OUTPUTS.sub("", flat))
    declared = tomllib.loads(f"said = {inferred}")["said"] if inferred else ""
    text = declared if isinstance(declared, str) else declared["signature"]
    is_inferred = bool(text) and for_people(", ".join(leaves(text))) == flat
    return (for_people(text) if is_inferred else flat) + statics


def options_of(certificate: Certificate) -> str:
    """Return the static arguments of the cases, each choice once: `clip=0.2, reduction=mean`."""
    return "; ".join(dict.fromkeys(filter(None, (_options(c) for claim in certificate.claims for c in claim.cases))))


def _options(case: CaseClaim) -> str:
    return ", ".join(f"{name}={value}" for name, value in case.statics.items())


def case_name(case: CaseClaim, inferred: str = "") -> str:
    """Return a case as its signature with its static arguments: `*a n *c -> *a *c (axis=-1)`."""
    statics = _options(case)
    signature = as_written(case.signature, inferred)
    return f"{signature} ({statics})" if statics else signature
