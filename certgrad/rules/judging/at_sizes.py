"""A rule that is not proved for sizes left open, at numbers: those that are given, small ones, and those of its code.

Shapes that Python insists are numbers, loops over an axis and masks made by numpy are no obstacle there. What is proved
is proved of these sizes alone, and the verdict says so; a refutation is a refutation. The first sizes that nobody gave
are distinct ones (`distinct_sizes.py`): where those are not proved, nothing is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isqrt, prod

import msgspec

from certgrad import rules
from certgrad.errors import SignatureError, UsageError
from certgrad.obligations.certificate import (
    AT_SIZES,
    PROOFS,
    CaseClaim,
    Certificate,
    Claim,
    sealed,
    sized,
    with_cases,
    with_claims,
)
from certgrad.obligations.conformance import LIMITS
from certgrad.obligations.generality.in_code import LARGEST, in_code
from certgrad.obligations.generality.reach import is_users, reachable
from certgrad.obligations.generality.traces import Traces
from certgrad.obligations.terms.budget import budget
from certgrad.obligations.tracing.jax_internals import Program
from certgrad.rules.subject.report import Report
from certgrad.rules.subject.user_rule import UserRule

from .distinct_sizes import FIRST, distinct_sizes
from .judged import Look, first_look, judged, report_of

Sizes = Mapping[str, int]
ALL_SECONDS = 40.0
"""Seconds after which no further sizes are tried."""
FURTHER = ((1,), (3, 2, 4, 5, 7, 6), (4,))
"""Further sizes that are tried, in order."""
DIVISIBLE = ((8, 16, 24, 32), (8,), (16,), (32,), (64,), (128,))
"""Sizes that are tried for code that needs sizes which divide."""
NOT_TELLING = "; no sizes above 1 that all differ were found at which the function runs"
LARGE = 64
"""Entries of an array from which on a mistake may be missed that shows in small ones."""
WANTED = 3
"""At so many sizes it is proved, beside those that are given and those of its code."""
OF_CODE = 3
"""Choices of sizes by numbers of the code that are tried."""
LEAST = 3
"""Smaller numbers of the code are among the small sizes anyway."""
ENTRIES = 4096
"""Sizes of the code at which an array has more entries are not tried."""


def read_sizes(said: Sizes | Sequence[Sizes], rule: UserRule) -> list[Sizes]:
    """The sizes that an author gives. Raises UsageError where they do not fit the signature."""
    found = [said] if isinstance(said, Mapping) else list(said)
    names = names_of(rule)
    for one in found:
        if not isinstance(one, Mapping) or not all(type(v) is int and v > 0 for v in one.values()):
            raise UsageError(f"The sizes {one!r} of {rule.name} ({rule.where}) are no positive integers by name.")
        if {*one} != {*names}:
            raise UsageError(
                f"The sizes of {rule.name} ({rule.where}) are given for {', '.join(one) or 'nothing'}; "
                f"its signature names {', '.join(names) or 'none'}."
            )
    return found


def names_of(rule: UserRule) -> list[str]:
    """Return the open sizes and star groups of a signature."""
    return [*rule.signature.stars, *rule.signature.names]


def first_sizes(rule: UserRule) -> Sizes:
    """Small sizes for what a signature leaves open."""
    return _row(names_of(rule), FIRST)


def _row(names: Sequence[str], sizes: Sequence[int]) -> Sizes:
    return {name: sizes[k % len(sizes)] for k, name in enumerate(names)}


def refuted_at(report: Report, look: Look, sizes: Sizes) -> Report | None:
    """The report at these numbers, where both sides are defined there and differ, or the function runs there and the
    rule fails; else None.
    """
    found = _at(look, sizes)
    if found is None or found.verdict != "refuted" or not (found.witness or found.reproduction):
        return None
    return _refuted(found, sizes, report)


def at_sizes(report: Report, look: Look, given: Sequence[Sizes]) -> Report:
    """The report at numbers, if something is proved or refuted there; else the one that is given.

    Args:
        report: what came of the rule with sizes left open; unproved.
        look: that attempt. Its traces say at which sizes something else was seen than is proved for sizes left open.
        given: sizes to look at first.
    """
    rule, differs_at = look.rule, look.traces.differs_at
    if not names_of(rule):  # at its only sizes a rule can fail, and is looked at already
        return report if rules.traces(look.traces) else _at(look, {}) or report
    proofs: list[tuple[Sizes, Report]] = []
    left_out: list[str] = []
    left = WANTED
    until = budget.until(ALL_SECONDS)
    if any(_entries(rule, sizes) > ENTRIES for sizes in differs_at):
        return report
    of_code = _of_code(rule)
    first = distinct_sizes(names_of(rule), lambda sizes: _forward(look, sizes), of_code)
    for sizes, counts in _tried(rule, [*differs_at, *given], first, of_code):
        if (counts and left == 0) or time.thread_time() > until:
            continue
        found = _at(look, sizes)
        if found is None:
            continue
        if found.verdict == "refuted":
            return _refuted(found, sizes, report)
        if found.verdict in PROOFS and (not proofs or _kinds(found) == _kinds(proofs[0][1])):
            proofs.append((sizes, found))
            left -= counts
        elif proofs and counts:
            left_out.append(f"{sized([sizes])}: {found.verdict}: {found.reason}")
        elif not counts:  # where it is asked for nothing is proved: what holds elsewhere is of little use
            return replace(report, left_out=(f"{sized([sizes])}: {found.reason}",))
        else:  # nor here; where it is large, something may be seen to be wrong where it is small
            small = _row(names_of(rule), (2,))
            there = _at(look, small) if _entries(rule, sizes) > LARGE else None
            return report if there is None or there.verdict != "refuted" else _refuted(there, small, report)
    if not proofs:
        return report
    proved = [sizes for sizes, _ in proofs]
    reason = report.reason + ("" if first or given else NOT_TELLING)
    certificate = rules.merged([_about(r.certificate, sizes, proved, reason) for sizes, r in proofs])
    certificate = sealed(msgspec.structs.replace(certificate, signature=report.certificate.signature))
    return _with_sizes(replace(proofs[0][1], left_out=tuple(left_out)), certificate)


def _at(look: Look, sizes: Sizes) -> Report | None:
    """The report on the rule at sizes. Where it does not trace it may fail; None where its function does not run."""
    attempt = replace(look.attempt, sizes=sizes, excluded=())
    rule = look.statement.rule(attempt)
    try:
        there = first_look(look.statement, attempt)
    except SignatureError:  # which counts where the rule traces
        if rules.traces(Traces(rule)):
            raise
    else:
        if rules.traces(there.traces):
            return judged(there)
    failure = rules.failure(rule)
    if failure is None:
        return None
    return replace(report_of(rule, rules.refuted(rule, failure)), reproduction=rules.of_failure(rule, failure))


def _forward(look: Look, sizes: Sizes) -> Program | None:
    """Return the function traced at sizes; None if an array is too large there."""
    if _entries(look.rule, sizes) > ENTRIES:
        return None
    return rules.forward_of(look.statement.rule(replace(look.attempt, sizes=sizes)))


def _refuted(found: Report, sizes: Sizes, report: Report) -> Report:
    """Return the report on a refutation at sizes."""
    if found.witness is None:  # a call shows it, but what of the rule is wrong was looked at before
        found = replace(found, arguments=report.arguments)
    return replace(found, certificate=_about(found.certificate, sizes, [sizes]))


def at_these(report: Report, sizes: Sizes, reason: str) -> Report:
    """The report of a rule that is proved with some sizes as numbers, which says that it is about these alone."""
    return _with_sizes(report, _about(report.certificate, sizes, [sizes], reason))


def _with_sizes(report: Report, certificate: Certificate) -> Report:
    arguments = tuple(replace(a, verdict=AT_SIZES) for a in report.arguments)
    return replace(report, certificate=certificate, arguments=arguments)


def _kinds(report: Report) -> list[str]:
    return [claim.kind for claim in report.claims]


def _of_code(rule: UserRule, more: int = 0) -> Sequence[Sizes]:
    """Return sizes made of the numbers of the rule's code, or of numbers larger by `more`."""
    numbers = {n + more for n in in_code(filter(is_users, reachable(rule))) if n > LEAST}
    found = [
        sizes
        for sizes in assignments(names_of(rule), sorted(numbers))
        if {*sizes.values()} & numbers and _entries(rule, sizes) <= ENTRIES
    ]
    return found[:OF_CODE]


def _tried(
    rule: UserRule, given: Sequence[Sizes], first: Sizes | None, of_code: Sequence[Sizes]
) -> Iterator[tuple[Sizes, bool]]:
    """Yield sizes to try, each once, and whether it is one of those of which a few are enough."""
    names = names_of(rule)
    further = [_row(names, row) for row in (*FURTHER, *DIVISIBLE)]
    found = [*((s, False) for s in given), (first or first_sizes(rule), True)]
    # Only an axis that is longer has an entry of that number.
    found += [*((s, False) for s in of_code), *((s, True) for s in (*_of_code(rule, 1), *further))]
    seen: list[Sizes] = []
    for sizes, counts in found:
        if sizes not in seen:
            seen.append(sizes)
            yield sizes, counts


def _entries(rule: UserRule, sizes: Sizes) -> int:
    """Return the number of entries of the largest argument."""
    shapes = [spec.at(sizes).dims for spec in rule.signature.inputs]
    return max((prod(int(str(d)) for d in dims) for dims in shapes), default=0)


def _about(certificate: Certificate, sizes: Sizes, proved: Sequence[Sizes], reason: str = "") -> Certificate:
    """The certificate of a rule at sizes, with the sizes where it is `proved` and the `reason` why not for all."""
    text = sized([sizes])

    def scope(case: CaseClaim) -> str:
        return ", ".join([text, *(limit for limit in LIMITS if limit in case.scope)])

    def turned(claim: Claim) -> Claim:
        cases = [
            msgspec.structs.replace(c, scope=scope(c), verdict=AT_SIZES, reason=reason)
            if c.verdict in PROOFS
            else msgspec.structs.replace(c, scope=scope(c))
            for c in claim.cases
        ]
        statement = f"at {sized(proved)}, {claim.statement}" if sizes else claim.statement
        return with_cases(claim, cases, statement=statement)

    return with_claims(certificate, map(turned, certificate.claims), sizes=[dict(sizes)])


SMALL = (1, 2, 3, 4, 5, 6, 7, 8, 16, 512)
"""The last is more than integers of 8 bits can hold."""
MOST = 48
"""At most this many integers in the code are tried, the smallest first."""


def assignments(names: Sequence[str], numbers: Sequence[int]) -> list[dict[str, int]]:
    """Return values of all dimensions, so that each takes every size: the fixed ones first, then the code's.

    Dimensions take different sizes, the next of the list each. A number of the code may count the entries of an array,
    their bytes, or be a square: then it is a product of sizes.
    """
    told = sorted(numbers)[:MOST]
    near = {m for n in told for m in (n - 1, n, n + 1) if 0 < m <= LARGEST}
    near |= {isqrt(n) + k for n in told for k in (0, 1) if n > SMALL[-1]}
    near |= {a // b for a in told for b in told if 1 < b < a and a % b == 0 and a > SMALL[-1]}
    near |= {n // width for n in told for width in (2, 4, 8) if n % width == 0 and n > 2 * width}
    listed = [*SMALL, *sorted(near - {*SMALL})]
    out = [_turned(names, listed, k) for k in range(len(listed))]
    if len(names) > 1:
        out += [_product(names, n) for n in told if n > 3]
        out += [dict.fromkeys(names, n) for n in told if n > 1]
    return list({str(a): a for a in out}.values())


def _turned(names: Sequence[str], sizes: Sequence[int], start: int) -> dict[str, int]:
    """The dimensions at consecutive sizes of the list, those after a large one at small sizes."""
    found = {name: sizes[(start + k) % len(sizes)] for k, name in enumerate(names)}
    first = found[names[0]]
    if first > 512:
        found = {name: first if k == 0 else SMALL[1 + k % 3] for k, name in enumerate(names)}
    return found


def _product(names: Sequence[str], number: int) -> dict[str, int]:
    """Sizes whose product is the number: the first prime factors one by one, the rest last."""
    left, sizes = number, []
    for _ in names[1:]:
        factor = next((p for p in range(2, min(left, 1000)) if left % p == 0), 1)
        sizes.append(factor)
        left //= factor
    return dict(zip(names, [*sizes, left], strict=True))
