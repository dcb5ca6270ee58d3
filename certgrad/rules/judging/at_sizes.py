"""An audit at numbers for sizes, of a rule that is not proved with its sizes left open.

The numbers are those that the author gives, small ones, and those of the rule's code. With numbers for sizes, shapes
that Python needs as numbers, loops over an axis and masks made by numpy are no obstacle. A proof is about these sizes
alone, and the verdict says so; a refutation is a refutation. The first sizes beside those of the author are distinct
ones (`distinct_sizes.py`): where the rule is not proved at those, it is not proved.
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

from .distinct_sizes import FIRST_SIZES, distinct_sizes
from .judged import Look, first_look, judged, report_of

Sizes = Mapping[str, int]
ALL_SECONDS = 40.0
"""Seconds of processor time after which no further sizes are tried."""
FURTHER = ((1,), (3, 2, 4, 5, 7, 6), (4,))
"""Further sizes that are tried, in order."""
DIVISIBLE = ((8, 16, 24, 32), (8,), (16,), (32,), (64,), (128,))
"""Sizes that are tried for code which needs multiples of 8, 16, …"""
NOT_TELLING = "; no sizes above 1 that all differ were found at which the function runs"
LARGE = 64
"""With more entries in an array, the search for a witness may miss a mistake that it finds in small arrays."""
WANTED = 3
"""The number of optional sizes at which a proof is wanted, beside the sizes of the author and of the code."""
OF_CODE = 3
"""The number of choices of sizes with numbers of the code that are tried."""
LEAST = 3
"""Numbers of the code up to this one are left out: they are among the small sizes anyway."""
ENTRIES = 4096
"""Sizes made of the code's numbers are not tried if an argument has more entries there."""


def read_sizes(said: Sizes | Sequence[Sizes], rule: UserRule) -> list[Sizes]:
    """Return the sizes that an author gives, as a list. Raises UsageError where they do not fit the signature."""
    choices = [said] if isinstance(said, Mapping) else list(said)
    names = names_of(rule)
    for sizes in choices:
        if not isinstance(sizes, Mapping) or not all(type(v) is int and v > 0 for v in sizes.values()):
            raise UsageError(f"The sizes {sizes!r} of {rule.name} ({rule.where}) are no positive integers by name.")
        if {*sizes} != {*names}:
            raise UsageError(
                f"The sizes of {rule.name} ({rule.where}) are given for {', '.join(sizes) or 'nothing'}; "
                f"its signature names {', '.join(names) or 'none'}."
            )
    return choices


def names_of(rule: UserRule) -> list[str]:
    """Return the names of the star groups and of the open sizes of a signature."""
    return [*rule.signature.stars, *rule.signature.names]


def first_sizes(rule: UserRule) -> Sizes:
    """Return small distinct sizes for what a signature leaves open."""
    return _row(names_of(rule), FIRST_SIZES)


def _row(names: Sequence[str], sizes: Sequence[int]) -> Sizes:
    return {name: sizes[k % len(sizes)] for k, name in enumerate(names)}


def refuted_at(report: Report, look: Look, sizes: Sizes) -> Report | None:
    """Return the report on a refutation at `sizes`; None if the rule is not refuted there.

    It is refuted where the two sides differ at a point, or where the rule fails and the function runs. `report` is the
    report with sizes left open.
    """
    report_there = _report_at_sizes(look, sizes)
    if (
        report_there is None
        or report_there.verdict != "refuted"
        or not (report_there.witness or report_there.reproduction)
    ):
        return None
    return _refuted(report_there, sizes, report)


def at_sizes(report: Report, look: Look, given: Sequence[Sizes]) -> Report:
    """Return the report at numbers for sizes, if the rule is proved or refuted there; else `report`.

    Sizes are tried in the order of `_candidate_sizes`. The first refutation ends the search. All proofs are merged into
    one certificate, which names the sizes; it needs a proof at the sizes that are not optional, and at the first
    optional ones.

    Args:
        report: the unproved report on the rule with sizes left open.
        look: the attempt with sizes left open. Its traces say at which sizes something else was seen
            to happen than what is proved for open sizes.
        given: sizes to try first.
    """
    rule, differs_at = look.rule, look.traces.differs_at
    if not names_of(rule):  # without open sizes, a rule that traces was tried already; one that fails may be refuted
        return report if rules.traces(look.traces) else _report_at_sizes(look, {}) or report
    proofs: list[tuple[Sizes, Report]] = []
    left_out: list[str] = []
    optional_wanted = WANTED
    until = budget.until(ALL_SECONDS)
    if any(_entries(rule, sizes) > ENTRIES for sizes in differs_at):
        return report
    of_code = _of_code(rule)
    first = distinct_sizes(names_of(rule), lambda sizes: _forward(look, sizes), of_code)
    for sizes, optional in _candidate_sizes(rule, [*differs_at, *given], first, of_code):
        # There is no `break`: sizes that are not optional may follow.
        if (optional and optional_wanted == 0) or time.thread_time() > until:
            continue
        report_there = _report_at_sizes(look, sizes)
        if report_there is None:
            continue
        if report_there.verdict == "refuted":
            return _refuted(report_there, sizes, report)
        if report_there.verdict in PROOFS and (not proofs or _kinds(report_there) == _kinds(proofs[0][1])):
            proofs.append((sizes, report_there))
            optional_wanted -= optional
        elif proofs and optional:
            left_out.append(f"{sized([sizes])}: {report_there.verdict}: {report_there.reason}")
        elif not optional:
            # The author's or the code's own sizes were asked for, and are not proved: proofs at others would not answer
            # that.
            return replace(report, left_out=(f"{sized([sizes])}: {report_there.reason}",))
        else:
            # Neither proved nor refuted at the first optional sizes. If an array was large there, a mistake may show
            # more easily at size 2.
            refutation = _refuted_where_small(look, report) if _entries(rule, sizes) > LARGE else None
            return refutation or report
    if not proofs:
        return report
    proved = [sizes for sizes, _ in proofs]
    reason = report.reason + ("" if first or given else NOT_TELLING)
    certificate = rules.merged([_about(r.certificate, sizes, proved, reason) for sizes, r in proofs])
    certificate = sealed(msgspec.structs.replace(certificate, signature=report.certificate.signature))
    return _with_sizes(replace(proofs[0][1], left_out=tuple(left_out)), certificate)


def _refuted_where_small(look: Look, report: Report) -> Report | None:
    """Return the report on a refutation with all sizes 2; None if the rule is not refuted there."""
    small = _row(names_of(look.rule), (2,))
    report_there = _report_at_sizes(look, small)
    return (
        _refuted(report_there, small, report)
        if report_there is not None and report_there.verdict == "refuted"
        else None
    )


def _report_at_sizes(look: Look, sizes: Sizes) -> Report | None:
    """Return the report on the rule at `sizes`; None where its function does not run.

    Where the function runs and the rule does not trace, the report is the refutation that the rule fails. Raises
    SignatureError where the rule traces and returns other shapes than its signature says.
    """
    attempt = replace(look.attempt, sizes=sizes, excluded=())
    rule = look.statement.rule(attempt)
    try:
        look_there = first_look(look.statement, attempt)
    except SignatureError:  # the signature is wrong only if the rule traces
        if rules.traces(Traces(rule)):
            raise
    else:
        if rules.traces(look_there.traces):
            return judged(look_there)
    failure = rules.failure(rule)
    if failure is None:
        return None
    return replace(report_of(rule, rules.refuted(rule, failure)), reproduction=rules.of_failure(rule, failure))


def _forward(look: Look, sizes: Sizes) -> Program | None:
    """Return the function traced at sizes; None if an array is too large or the function does not run."""
    if _entries(look.rule, sizes) > ENTRIES:
        return None
    return rules.forward_of(look.statement.rule(replace(look.attempt, sizes=sizes)))


def _refuted(found: Report, sizes: Sizes, report: Report) -> Report:
    """Return the refutation `found` at `sizes` as a report on the rule of `report`, which has its sizes left open."""
    if (
        found.witness is None
    ):  # a failing call shows the mistake, and does not say of which argument: the earlier report does
        found = replace(found, arguments=report.arguments)
    return replace(found, certificate=_about(found.certificate, sizes, [sizes]))


def at_these(report: Report, sizes: Sizes, reason: str) -> Report:
    """Return the report of a rule that is proved with some sizes as numbers, with the verdict `proved at sizes`.

    Its claims name these sizes, and the `reason` why the rule is not proved for all.
    """
    return _with_sizes(report, _about(report.certificate, sizes, [sizes], reason))


def _with_sizes(report: Report, certificate: Certificate) -> Report:
    arguments = tuple(replace(a, verdict=AT_SIZES) for a in report.arguments)
    return replace(report, certificate=certificate, arguments=arguments)


def _kinds(report: Report) -> list[str]:
    return [claim.kind for claim in report.claims]


def _of_code(rule: UserRule, more: int = 0) -> Sequence[Sizes]:
    """Return sizes that take the integers in the rule's code, each plus `more`: at most `OF_CODE` choices."""
    numbers = {n + more for n in in_code(filter(is_users, reachable(rule))) if n > LEAST}
    choices = [
        sizes
        for sizes in assignments(names_of(rule), sorted(numbers))
        if {*sizes.values()} & numbers and _entries(rule, sizes) <= ENTRIES
    ]
    return choices[:OF_CODE]


def _candidate_sizes(
    rule: UserRule, given: Sequence[Sizes], first: Sizes | None, of_code: Sequence[Sizes]
) -> Iterator[tuple[Sizes, bool]]:
    """Yield sizes to try, each once, and whether they are optional.

    The sizes that are given and those with numbers of the code are not optional: the rule has to be proved at all of
    them. Of the optional ones a few are enough (`WANTED`).
    """
    names = names_of(rule)
    further = [_row(names, row) for row in (*FURTHER, *DIVISIBLE)]
    listed = [*((s, False) for s in given), (first or first_sizes(rule), True)]
    # With the code's numbers, and optionally with 1 more: only an axis that is longer than n has an entry n.
    listed += [*((s, False) for s in of_code), *((s, True) for s in (*_of_code(rule, 1), *further))]
    seen: list[Sizes] = []
    for sizes, optional in listed:
        if sizes not in seen:
            seen.append(sizes)
            yield sizes, optional


def _entries(rule: UserRule, sizes: Sizes) -> int:
    """Return the number of entries of the largest argument."""
    shapes = [spec.at(sizes).dims for spec in rule.signature.inputs]
    return max((prod(int(str(d)) for d in dims) for dims in shapes), default=0)


def _about(certificate: Certificate, sizes: Sizes, proved: Sequence[Sizes], reason: str = "") -> Certificate:
    """Return a certificate at sizes that says so in its scopes, statements and verdicts (`proved at sizes`).

    Args:
        certificate: the certificate of the rule at `sizes`.
        sizes: the sizes of this certificate, which its scopes name.
        proved: all sizes at which the rule is proved, which its statements name.
        reason: why the rule is not proved for all sizes.
    """
    text = sized([sizes])

    def scope(case: CaseClaim) -> str:
        return ", ".join([text, *(limit for limit in LIMITS if limit in case.scope)])

    def at_sizes_alone(claim: Claim) -> Claim:
        cases = [
            msgspec.structs.replace(c, scope=scope(c), verdict=AT_SIZES, reason=reason)
            if c.verdict in PROOFS
            else msgspec.structs.replace(c, scope=scope(c))
            for c in claim.cases
        ]
        statement = f"at {sized(proved)}, {claim.statement}" if sizes else claim.statement
        return with_cases(claim, cases, statement=statement)

    return with_claims(certificate, map(at_sizes_alone, certificate.claims), sizes=[dict(sizes)])


SMALL = (1, 2, 3, 4, 5, 6, 7, 8, 16, 512)
"""Small sizes that are tried anyway. The last one is more than integers of 8 bits can hold."""
MOST = 48
"""At most this many integers in the code are tried, the smallest first."""


def assignments(names: Sequence[str], numbers: Sequence[int]) -> list[dict[str, int]]:
    """Return assignments of a number to each of the dimensions `names`; each dimension takes every size in one of them.

    The sizes are small ones and those that `numbers`, the integers of the code, suggest: n, n ± 1, and factors of n, as
    n may count the entries of an array or their bytes, or be a square. In most assignments the dimensions take
    consecutive sizes of the list; in the last ones all are equal, or their product is a number of the code.
    """
    of_code = sorted(numbers)[:MOST]
    near = {m for n in of_code for m in (n - 1, n, n + 1) if 0 < m <= LARGEST}
    # A number may be the entries of a square array, the product of two sizes, or bytes of entries of 2, 4 or 8 bytes.
    near |= {isqrt(n) + k for n in of_code for k in (0, 1) if n > SMALL[-1]}
    near |= {a // b for a in of_code for b in of_code if 1 < b < a and a % b == 0 and a > SMALL[-1]}
    near |= {n // width for n in of_code for width in (2, 4, 8) if n % width == 0 and n > 2 * width}
    sizes = [*SMALL, *sorted(near - {*SMALL})]
    out = [_consecutive(names, sizes, k) for k in range(len(sizes))]
    if len(names) > 1:
        out += [_product(names, n) for n in of_code if n > 3]
        out += [dict.fromkeys(names, n) for n in of_code if n > 1]
    return list({str(a): a for a in out}.values())


def _consecutive(names: Sequence[str], sizes: Sequence[int], start: int) -> dict[str, int]:
    """Return the dimensions at consecutive sizes from `sizes[start]` on.

    If the first is large, the others take small sizes, so that arrays stay small.
    """
    assignment = {name: sizes[(start + k) % len(sizes)] for k, name in enumerate(names)}
    first = assignment[names[0]]
    if first > 512:
        assignment = {name: first if k == 0 else SMALL[1 + k % 3] for k, name in enumerate(names)}
    return assignment


def _product(names: Sequence[str], number: int) -> dict[str, int]:
    """Return sizes whose product is `number`: a prime factor for each name, and what is left of it for the last."""
    rest, sizes = number, []
    for _ in names[1:]:
        factor = next((p for p in range(2, min(rest, 1000)) if rest % p == 0), 1)
        sizes.append(factor)
        rest //= factor
    return dict(zip(names, [*sizes, rest], strict=True))
