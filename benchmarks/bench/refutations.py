"""Wrong rules, from the question to the verdict with its cause, beside `check_grads` of the same rule."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from benchmarks.bench._clock import quantile
from benchmarks.bench._declared import in_modules, of_reports, timed
from benchmarks.bench._figure import Figure

MEDIAN, NINE_IN_TEN = 3.0, 12.0


def figures(short: bool) -> Iterator[Figure]:
    """The median of the rules' ratios, and what nine in ten do not exceed."""
    rules = [rule for rule in in_modules("examples.rules") if ".wrong_" in rule.name]
    if short:
        rules = rules[::4]
    else:
        rules += of_reports("wrong")
    refuted = [one for one in timed(rules) if one.report.verdict == "refuted"]
    assert refuted, "no rule is refuted"
    ratios = [one.ratio for one in refuted]
    slowest = max(refuted, key=lambda one: one.ratio)
    note = f"{len(refuted)} rules, {len(rules) - len(refuted)} of the list not refuted"
    yield Figure("a wrong rule, the median", median(ratios), beside="check_grads", at_most=MEDIAN, note=note)
    note = f"median {median(one.check for one in refuted):.2f} s; most: {slowest.rule.name}, {slowest.ratio:.1f}"
    nine = quantile(ratios, 0.9)
    yield Figure("a wrong rule, nine in ten", nine, beside="check_grads", at_most=NINE_IN_TEN, note=note)
