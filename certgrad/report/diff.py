"""The changes between two audits: lost proofs, new hypotheses, narrower claims, and improvements.

Rules are matched by name, claims by their code, and cases by their structural arguments and their signature up to the
names of its dimensions. A hypothesis is new if the former ones do not imply it; texts are not compared.
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
        """Whether something is no longer proved, or a proof covers less, or something is newly refuted."""
        return self.kind in LOSSES


@dataclass(frozen=True)
class Side:
    """One of the two audits that are compared."""

    certificates: Sequence[Certificate]
    remarks: Sequence[Remark] = ()
    problems: Sequence[str] = ()

    @property
    def by_name(self) -> Mapping[str, Certificate]:
        return {c.op: c for c in self.certificates}

    def not_audited(self, rule: str) -> str:
        """Return why a rule has no certificate; "" if nothing says so."""
        module = rule.partition(":")[0]
        remarks = [r for r in self.remarks if r.code in CODES_OF_UNAUDITED]
        reason = next((r.text for r in remarks if r.rule == rule or (":" not in r.rule and r.rule == module)), "")
        return reason or (self.problems[0] if self.problems and ":" in rule else "")


def changes(old: Side, new: Side) -> list[Change]:
    """Return all changes, losses first, and within a kind in the order of the old audit."""
    before, after = old.by_name, new.by_name
    all_changes: list[Change] = []
    for name, certificate in before.items():
        if name in after:
            all_changes += _of_rule(certificate, after[name], old, new)
        elif reason := new.not_audited(name):
            kind: Kind = "lost proof" if is_discharged(certificate.verdict) else "removed"
            all_changes.append(Change(name, kind, f"{verdict_text(certificate)} → {_line(reason)}"))
        else:
            all_changes.append(Change(name, "removed", f"it was {verdict_text(certificate)}"))
    for name, certificate in after.items():
        if name not in before:
            kind = "new refutation" if certificate.verdict == "refuted" else "new"
            all_changes.append(Change(name, kind, f"{verdict_text(certificate)}{_codes(certificate, 'refuted')}"))
    return sorted(all_changes, key=lambda one: _ORDER.index(one.kind))


def _of_rule(old: Certificate, new: Certificate, before: Side, after: Side) -> Iterator[Change]:
    """Yield the changes between two certificates of a rule, a change of the verdict first.

    `before` and `after` are the audits of the two certificates, which have the remarks on the rule.
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
    """Yield new and dropped hypotheses, and constraints of parameters.

    `kept` are the pairs of claims that are proved in both audits.
    """
    added: dict[str, list[str]] = {}
    dropped: dict[str, list[str]] = {}
    for old_claim, new_claim in kept:
        trees = [{h.tree: h.text for h in claim.hypotheses} for claim in (old_claim, new_claim)]
        for table, (wanted, rest) in ((added, (trees[1], trees[0])), (dropped, (trees[0], trees[1]))):
            for tree, text in wanted.items():
                if not implies([*rest], tree):
                    table.setdefault(text, []).append(old_claim.code)
    for name in dict.fromkeys([*old.params, *new.params]):
        was, now = (symbols(c.params.get(name, "")) for c in (old, new))
        if was != now:
            added |= {now: []} if now else {}
            dropped |= {was: []} if was else {}
    yield from (Change(old.op, "new hypothesis", text + _codes_suffix(codes)) for text, codes in added.items())
    yield from (
        Change(old.op, "fewer hypotheses", f"without {text}{_codes_suffix(codes)}") for text, codes in dropped.items()
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
        had, has: the claims of the old and of the new one, by kind.
        kept: the pairs of claims that are proved in both audits.
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
    # The scopes of proofs at sizes name the sizes, which were compared above.
    at_numbers = AT_SIZES in (old.verdict, new.verdict)
    scopes: dict[tuple[str, str, str], list[str]] = {}
    for old_claim, new_claim in kept:
        cases = {_key(case): case for case in new_claim.cases}
        for case in old_claim.cases:
            if not is_discharged(case.verdict):
                continue
            new_case = cases.get(_key(case))
            was, now = _scope(case.scope), _scope(new_case.scope) if new_case else ""
            if new_case is None or (not at_numbers and was != now):
                scopes.setdefault((case_name(case), was, now if new_case else "no claim"), []).append(old_claim.code)
    for (what, was, now), codes in scopes.items():
        kind: Kind = "wider" if "any rank" in now and "any rank" not in was else "narrower"
        yield Change(old.op, kind, f"{what}: {was} → {now}{_codes_suffix(codes)}")


def _turned(kept: Sequence[tuple[Claim, Claim]]) -> Iterator[tuple[list[str], str, str]]:
    """Yield the codes, the old and the new verdict of proofs that are now of another kind.

    The kinds are proved, proved up to rounding, and proved at sizes.
    """
    codes_by_change: dict[tuple[str, str], list[str]] = {}
    for old_claim, new_claim in kept:
        was, now = ("proved" if c.verdict in PROVED_AS_WRITTEN else c.verdict for c in (old_claim, new_claim))
        if was != now:
            codes_by_change.setdefault((was, now), []).append(old_claim.code)
    yield from ((codes, was, now) for (was, now), codes in codes_by_change.items())


def _wider(was: str, now: str) -> bool:
    ranked = ["proved", "proved up to rounding", AT_SIZES]
    return ranked.index(now) < ranked.index(was)


_NARROWING = (NO_GRADIENT, LEFT_OUT, OF_IDEAL)
"""Codes of remarks that say that a claim leaves something out."""


def _remarked(rule: str, before: Side, after: Side) -> Iterator[Change]:
    """Yield the new remarks that say that a claim leaves something out."""
    known_remarks = {(r.code, r.text) for r in before.remarks if r.rule == rule}
    for remark in after.remarks:
        if remark.rule == rule and remark.code in _NARROWING and (remark.code, remark.text) not in known_remarks:
            yield Change(rule, "narrower", f"{remark.code} {_line(remark.text)}")


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
    """Return a scope (shapes, ranks and dtypes) without the reasons in brackets."""
    return _INDUCTION.sub("", _REASON.sub("", text))


def _key(case: CaseClaim) -> tuple:
    """Return a key of a case: its signature up to the names of dimensions, and its structural arguments."""
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
