"""Wrong rules, from the question to the verdict with its cause, beside `check_grads` of the same rule."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from benchmarks.bench._clock import quantile
from benchmarks.bench._figure import Figure
from benchmarks.bench._subjects import LibraryOp, Rule, in_modules, of_reports, timed
from examples.wrong_rules import rules as wrong_ops
from tests.mutation._points import broken, places
from tests.mutation._sample import sample
from tests.mutation._subjects import SUBJECTS
from tests.mutation._verdicts import mutated

MEDIAN, NINE_IN_TEN = 3.0, 12.0
MUTANTS = 36
"""Of so many ops of the library one broken rule, about."""


def figures(short: bool) -> Iterator[Figure]:
    """The median of the ratios of rules in code, and what nine in ten do not exceed; then the same of ops."""
    in_code = [rule for rule in in_modules("examples.rules") if ".wrong_" in rule.name]
    yield from _quantiles("a wrong rule", in_code[::4] if short else [*in_code, *of_reports("wrong")])
    if not short:
        ops = [LibraryOp(op.name, op) for op in wrong_ops]
        yield from _quantiles("a wrong op", [*ops, *_mutants()])


def _quantiles(what: str, subjects: list[Rule] | list[LibraryOp]) -> Iterator[Figure]:
    compared = [*timed(subjects)]
    refuted = [one for one in compared if one.verdict == "refuted"]
    ratios = [one.ratio for one in refuted]
    slowest = max(refuted, key=lambda one: one.ratio)
    note = f"{len(refuted)} rules, {len(compared) - len(refuted)} of the list not refuted"
    yield Figure(f"{what}, the median", median(ratios), beside="check_grads", at_most=MEDIAN, note=note)
    note = f"median {median(one.audit for one in refuted):.2f} s; most: {slowest.name}, {slowest.ratio:.1f}"
    most = quantile(ratios, 0.9)
    yield Figure(f"{what}, nine in ten", most, beside="check_grads", at_most=NINE_IN_TEN, note=note)


def _mutants() -> Iterator[LibraryOp]:
    """One broken rule of each of some ops: the first of those that the tests draw which breaks a law."""
    subjects = [*SUBJECTS.values()]
    for op in subjects[:: len(subjects) // MUTANTS]:
        for one, mutation in sample(op, 6):
            mutant = mutated(one, mutation)
            try:
                broken_at, _ = broken(mutant, mutation.role, places(one, one.cases[0]))
            except Exception:  # it does not run: no wrong rule, but none at all
                continue
            if broken_at is not None:
                yield LibraryOp(f"{one.name}: {mutation}", mutant)
                break
