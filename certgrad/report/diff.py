"""What changed between two audits: proofs lost, what they newly rest on, how far they reach, and what improved.

Rules are matched by name, claims by their code, cases by their signature up to the names of its dims and by their
structural arguments. A hypothesis is new if the former ones do not imply it; texts are not compared.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from certgrad.language.implication import implies
from certgrad.obligations.certificate import (
    AT_SIZES,
    PROOFS,
    PROVED_AS_WRITTEN,
    CaseClaim,
    Certificate,
    Claim,
    verdict_text,
)
from certgrad.report.audited import case_name, is_discharged
from certgrad.report.findings import CODES_OF_UNAUDITED, LEFT_OUT, NO_GRADIENT, OF_IDEAL
from certgrad.report.json import Remark
from certgrad.report.wording import number, symbols

FORMAT = 1
"""Version of the document of `certgrad diff --format json`."""

Kind = Literal[
    "lost proof",
    "new refutation",
    "new hypothesis",
    "narrower",
    "changed convention",
    "removed",
    "new",
    "proved",
    "fewer hypotheses",
    "wider",
]
LOSSES: tuple[Kind, ...] = ("lost proof", "new refutation", "new hypothesis", "narrower")
GAINS: tuple[Kind, ...] = ("proved", "fewer hypotheses", "wider")
_ORDER: tuple[Kind, ...] = (*LOSSES, "changed convention", "removed", "new", *GAINS)


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that is other than it was."""

    rule: str
    kind: Kind
    text: str

    @property
    def loss(self) -> bool:
        """Something that was proved is so no longer, or of less; or something new is wrong."""
        return self.kind in LOSSES


@dataclass(frozen=True)
class Side:
    """One of the two audits."""

    certificates: Sequence[Certificate]
    remarks: Sequence[Remark] = ()
    problems: Sequence[str] = ()

    @property
    def by_name(self) -> Mapping[str, Certificate]:
        return {c.op: c for c in self.certificates}

    def not_audited(self, rule: str) -> str:
        """Return why a rule has no certificate, or ""."""
        module = rule.partition(":")[0]
        said = [r for r in self.remarks if r.code in CODES_OF_UNAUDITED]
        reason = next((r.text for r in said if r.rule == rule or (":" not in r.rule and r.rule == module)), "")
        return reason or (self.problems[0] if self.problems and ":" in rule else "")


def changes(old: Side, new: Side) -> list[Change]:
    """All changes, losses first, in the order of the old audit."""
    before, after = old.by_name, new.by_name
    found: list[Change] = []
    for name, certificate in before.items():
        if name in after:
            found += _of_rule(certificate, after[name], old, new)
        elif reason := new.not_audited(name):
            kind: Kind = "lost proof" if is_discharged(certificate.verdict) else "removed"
            found.append(Change(name, kind, f"{verdict_text(certificate)} → {_line(reason)}"))
        else:
            found.append(Change(name, "removed", f"it was {verdict_text(certificate)}"))
    for name, certificate in after.items():
        if name not in before:
            kind = "new refutation" if certificate.verdict == "refuted" else "new"
            found.append(Change(name, kind, f"{verdict_text(certificate)}{_codes(certificate, 'refuted')}"))
    return sorted(found, key=lambda one: _ORDER.index(one.kind))


def _of_rule(old: Certificate, new: Certificate, before: Side, after: Side) -> Iterator[Change]:
    """Yield what changed between two certificates of a rule, the loss of a proof first.

    `before` and `after` are the audits that they are from, for the remarks on the rule.
    """
    had: dict[str, Claim] = {c.kind: c for c in old.claims}
    has: dict[str, Claim] = {c.kind: c for c in new.claims}
    lost = [
        c
        for kind, c in had.items()
        if is_discharged(c.verdict) and kind in has and not is_discharged(has[kind].verdict)
    ]
    if lost:
        verdict = has[lost[0].kind].verdict if len(lost) == 1 else new.verdict
        codes = ", ".join(c.code for c in lost)
        yield Change(old.op, "lost proof", f"{verdict_text(old)} → {verdict} ({codes})")
    elif new.verdict == "refuted" and old.verdict not in ("refuted", *PROOFS, AT_SIZES):
        yield Change(old.op, "new refutation", f"{verdict_text(old)} → refuted{_codes(new, 'refuted')}")
    elif not is_discharged(old.verdict) and is_discharged(new.verdict):
        yield Change(old.op, "proved", f"{verdict_text(old)} → {verdict_text(new)}")
    kept = [(had[kind], has[kind]) for kind in had if kind in has and _both_hold(had[kind], has[kind])]
    yield from _assumed(old, new, kept)
    yield from _reach(old, new, had, has, kept)
    yield from _remarked(old.op, before, after)
    yield from _conventions(old, new)


def _both_hold(old: Claim, new: Claim) -> bool:
    return is_discharged(old.verdict) and is_discharged(new.verdict)


def _assumed(old: Certificate, new: Certificate, kept: Sequence[tuple[Claim, Claim]]) -> Iterator[Change]:
    """Hypotheses, and constraints of parameters, of the claims that are proved in both."""
    more: dict[str, list[str]] = {}
    less: dict[str, list[str]] = {}
    for one, other in kept:
        trees = [{h.tree: h.text for h in claim.hypotheses} for claim in (one, other)]
        for table, (wanted, rest) in ((more, (trees[1], trees[0])), (less, (trees[0], trees[1]))):
            for tree, text in wanted.items():
                if not implies([*rest], tree):
                    table.setdefault(text, []).append(one.code)
    for name in dict.fromkeys([*old.params, *new.params]):
        was, now = (symbols(c.params.get(name, "")) for c in (old, new))
        if was != now:
            more |= {now: []} if now else {}
            less |= {was: []} if was else {}
    yield from (Change(old.op, "new hypothesis", text + _codes_suffix(codes)) for text, codes in more.items())
    yield from (
        Change(old.op, "fewer hypotheses", f"without {text}{_codes_suffix(codes)}") for text, codes in less.items()
    )


def _reach(
    old: Certificate,
    new: Certificate,
    had: Mapping[str, Claim],
    has: Mapping[str, Claim],
    kept: Sequence[tuple[Claim, Claim]],
) -> Iterator[Change]:
    """Yield the changes in what the claims cover: sizes, ranks, dtypes, cases, arguments.

    Args:
        old, new: the certificates.
        had, has: the claims of each by kind.
        kept: the claims that are proved in both.
    """
    gone = [c.code for kind, c in had.items() if kind not in has and is_discharged(c.verdict)]
    if gone:
        yield Change(old.op, "narrower", f"{', '.join(gone)} {'is' if len(gone) == 1 else 'are'} not claimed any more")
    for codes, was, now in _turned(kept):
        yield Change(old.op, "wider" if _wider(was, now) else "narrower", f"{was} → {now}{_codes_suffix(codes)}")
    missing = sorted(set(new.without_gradient or ()) - set(old.without_gradient or ()))
    if missing:
        yield Change(old.op, "narrower", f"no gradient for {', '.join(missing)} any more")
    if old.verdict == new.verdict == AT_SIZES:
        sizes = [s for s in old.sizes or () if s not in (new.sizes or ())]
        if sizes:
            yield Change(old.op, "narrower", f"not proved any more at {'; '.join(map(_sizes, sizes))}")
    at_numbers = AT_SIZES in (old.verdict, new.verdict)
    scopes: dict[tuple[str, str, str], list[str]] = {}
    for one, other in kept:
        cases = {_key(case): case for case in other.cases}
        for case in one.cases:
            if not is_discharged(case.verdict):
                continue
            same = cases.get(_key(case))
            was, now = _scope(case.scope), _scope(same.scope) if same else ""
            if same is None or (not at_numbers and was != now):
                scopes.setdefault((case_name(case), was, now if same else "no claim"), []).append(one.code)
    for (what, was, now), codes in scopes.items():
        kind: Kind = "wider" if "any rank" in now and "any rank" not in was else "narrower"
        yield Change(old.op, kind, f"{what}: {was} → {now}{_codes_suffix(codes)}")


def _turned(kept: Sequence[tuple[Claim, Claim]]) -> Iterator[tuple[list[str], str, str]]:
    """Proofs that became proofs of another reach: up to rounding, or at sizes."""
    found: dict[tuple[str, str], list[str]] = {}
    for one, other in kept:
        was, now = ("proved" if c.verdict in PROVED_AS_WRITTEN else c.verdict for c in (one, other))
        if was != now:
            found.setdefault((was, now), []).append(one.code)
    yield from ((codes, was, now) for (was, now), codes in found.items())


def _wider(was: str, now: str) -> bool:
    ranked = ["proved", "proved up to rounding", AT_SIZES]
    return ranked.index(now) < ranked.index(was)


_NARROWING = (NO_GRADIENT, LEFT_OUT, OF_IDEAL)
"""Remarks by which a claim leaves something out."""


def _remarked(rule: str, before: Side, after: Side) -> Iterator[Change]:
    known = {(r.code, r.text) for r in before.remarks if r.rule == rule}
    for one in after.remarks:
        if one.rule == rule and one.code in _NARROWING and (one.code, one.text) not in known:
            yield Change(rule, "narrower", f"{one.code} {_line(one.text)}")


def _conventions(old: Certificate, new: Certificate) -> Iterator[Change]:
    """Yield changed conventions at points that both certificates name."""
    now = {c.point: c.rule for c in new.conventions}
    for one in old.conventions:
        if now.get(one.point, one.rule) != one.rule:
            text = f"at {one.point}: {number(one.rule)} → {number(now[one.point])}"
            yield Change(old.op, "changed convention", text)


_REASON = re.compile(r" \([^()]*(\([^()]*\)[^()]*)*\)")
_INDUCTION = re.compile(r", by induction over \d+ nodes?")
_NAME = re.compile(r"(?<![:\w])[A-Za-z_]\w*")


def _scope(text: str) -> str:
    """Return the shapes, ranks and dtypes of a scope, without the reason."""
    return _INDUCTION.sub("", _REASON.sub("", text))


def _key(case: CaseClaim) -> tuple:
    """Return a case's key: its signature up to the names of dims, and its structural arguments."""
    names: dict[str, str] = {}
    signature = _NAME.sub(lambda found: names.setdefault(found[0], f"d{len(names)}"), case.signature)
    return signature, tuple(sorted(case.statics.items()))


def _sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sorted(sizes.items()))


def _codes(certificate: Certificate, verdict: str) -> str:
    return _codes_suffix([c.code for c in certificate.claims if c.verdict == verdict])


def _codes_suffix(codes: Sequence[str]) -> str:
    return f" ({', '.join(dict.fromkeys(codes))})" if codes else ""


def _line(text: str) -> str:
    return " ".join(text.split())
