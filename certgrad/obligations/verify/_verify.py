"""The check of one certificate: declaration, versions, digests, then every claim of every case at many points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import msgspec

from certgrad._subject import Subject
from certgrad.errors import UnknownOpError
from certgrad.jaxpr.at_shapes import DoesNotTraceError
from certgrad.jaxpr.at_symbols import at_symbols
from certgrad.obligations.certificate import PROVED_AS_WRITTEN, Certificate
from certgrad.obligations.verify._case import Case, Counts, NotCheckedError
from certgrad.obligations.verify._declared import contradictions, other_versions
from certgrad.obligations.verify._programs import digest_of
from certgrad.process.threads import without_collection
from certgrad.signatures.cases import Case as SubjectCase

Outcome = Literal["verified", "failed", "not checked", "not a proof"]
BALLS = "balls"
DRAWS = 10
"""Points drawn for a case, over all its shapes. Points on boundaries come on top."""


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the check of one certificate.

    `verified`: the code is the one that was proved, and all claims agree at all points. `failed`: they do not, or the
    certificate contradicts the declaration or itself. `not checked`: it could not be decided here, for the reasons in
    `problems`. `not a proof`: the certificate itself says that something is refuted, unproved or a surrogate. The
    numbers count cases, shapes, points, points on boundaries, and claims at points that stayed undecided.
    """

    op: str
    outcome: Outcome
    problems: tuple[str, ...] = ()
    cases: int = 0
    shapes: int = 0
    points: int = 0
    boundary: int = 0
    undecided: int = 0
    level: str = ""
    """How it is verified: exactly, as `certgrad.exact.level` says, or by balls alone. Points at which equal numbers
    are compared are checked by balls in any case."""

    @property
    def exact(self) -> bool:
        """Whether it is verified exactly, but for points at which equal numbers are compared."""
        return self.outcome == "verified" and self.level != BALLS

    error: str = ""
    """A bound on the probability that a wrong claim passed the exact check."""


def verify(
    certificate: Certificate,
    op: Subject | None = None,
    *,
    seed: str = "",
    draws: int = DRAWS,
    traced: Callable[[int], Mapping[str, Any]] | None = None,
    one_program: Callable[[], bool] | None = None,
) -> Verification:
    """Return the result of a check of a certificate against the code of its op (or of `op`), without the calculus.

    The draws depend on the certificate's digests and `seed` alone. `traced(k)` returns the programs of case k at
    symbolic sizes by their digests, if they are traced in another way than an op's. `one_program` says whether the code
    runs these programs at all sizes; without it that is taken as true, as for ops, whose audit has heard it.
    """
    if op is None:
        from certgrad.ops import registry

        try:
            op = registry.get(certificate.op)
        except UnknownOpError:
            return _ended(certificate, "not checked", "the op is not in the library, so there is no code to trace")
    versions = other_versions(certificate)
    if versions:
        text = f"made with {', '.join(versions)}; install those versions, or audit again with these"
        return _ended(certificate, "not checked", text)
    problems = list(contradictions(certificate, op))
    if problems:
        return _ended(certificate, "failed", *problems)
    if certificate.verdict not in PROVED_AS_WRITTEN:
        open_claims = [f"{c.id} is {c.verdict}" for c in certificate.claims if c.verdict not in PROVED_AS_WRITTEN]
        return _ended(certificate, "not a proof", *open_claims)
    with without_collection():
        return _checked(
            certificate, op, seed, draws, traced or (lambda k: _traced(op, op.cases[k])), one_program or (lambda: True)
        )


def _traced(op: Subject, case: SubjectCase) -> dict[str, Any]:
    programs = at_symbols(op, case)
    return {digest_of(op, case, programs): programs}


def _checked(
    certificate: Certificate,
    op: Subject,
    seed: str,
    draws: int,
    traced: Callable[[int], Mapping[str, Any]],
    one_program: Callable[[], bool],
) -> Verification:
    """Return the outcome of the second check of all cases, with its level.

    The level is that of exact evaluation if it covers each case at some sizes or at all, else that of balls.
    """
    total = Counts()
    failures: list[str] = []
    for k, case in enumerate(op.cases):
        where = f"case {case}"
        try:
            if (symbols := traced(k).get(certificate.traced[k].digest)) is None:
                failures.append(f"{where}: the code traces to another program than the one that was proved")
                continue
            failures += Case(op, case, certificate, k, symbols).check(total, seed, draws)
        except DoesNotTraceError as error:
            failures.append(f"{where}: {error}")
        except NotCheckedError as error:
            return _ended(certificate, "not checked", f"{where}: {error}")
    counts = {"cases": len(op.cases), "shapes": total.shapes, "points": total.points, "boundary": total.boundary}
    counts["undecided"] = total.undecided
    all_exact = not failures and all(exact_result.sizes or exact_result.everywhere for exact_result in total.exact)
    from certgrad import exact  # it reads users' rules, which are verified here

    result = exact.together(total.exact) if all_exact and total.exact else None
    if result is not None and result.everywhere and not one_program():
        result = replace(result, everywhere=False)
    level = exact.level(result) if result is not None else ""
    return Verification(
        op=certificate.op,
        outcome="failed" if failures else "verified",
        problems=tuple(failures),
        level="" if failures else level or BALLS,
        error=f"2^{result.bound}" if result is not None and level else "",
        **counts,
    )


def _ended(certificate: Certificate, outcome: Outcome, *problems: str) -> Verification:
    """Return an outcome without evaluations, with the reasons for it."""
    return Verification(op=certificate.op, outcome=outcome, problems=problems)
