"""The rules that took longest: right ones that are proved, and what ends unproved."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from benchmarks.bench._clock import python, seconds
from benchmarks.bench._figure import Figure
from benchmarks.bench._subjects import CASES, Rule, in_modules, of_reports, warm_up

RULES = (
    "r02_causal_alignment",
    "r08c_hmm_small",
    "r13_eigh_broadened",
    "r15b_softmin_chain",
    "r28_state_cotangent",
    "r30_deq",
    "r31_cholesky",
    "solvers.ridge",
    "linear.attention",
)
"""Of `corpus/cases` the right rule of the file, or of `examples/rules`: the slowest of what `make corpus` recorded."""
PROVED, BUDGET = 20.0, 20.0
LIMIT = 400
"""Seconds of processor time after which a rule's process is ended."""
NAMES = ("the slowest right rule that is proved", "the slowest unproved")


def figures(short: bool) -> Iterator[Figure]:
    """Each rule in a process of its own; nothing of it in the short form."""
    if short:
        return
    taken: dict[str, dict[str, float]] = {"proved": {}, "unproved": {}}
    absent = [name for name in RULES if name not in _rules()]
    for name in RULES:
        if name in absent:
            continue
        done = python("-m", "benchmarks.bench.slow", name, limit=LIMIT)
        if done.out_of_time:
            taken["unproved"][name] = float(LIMIT)
        elif done.code:
            raise RuntimeError(f"{name}: {done.errors[-400:]}")
        else:
            verdict, spent = done.output.split()[-2:]
            if verdict != "refuted":
                taken["unproved" if verdict == "unproved" else "proved"][name] = float(spent)
    left_out = f"; not there: {', '.join(absent)}" if absent else ""
    for title, kind, aim in zip(NAMES, taken, (PROVED, BUDGET), strict=True):
        slowest = max(taken[kind], key=lambda name: taken[kind][name], default="")
        if slowest:
            yield Figure(
                title, taken[kind][slowest], "s", at_most=aim, note=f"{slowest}, of {len(taken[kind])}{left_out}"
            )
        else:
            yield Figure(title, None, "s", at_most=aim, note=f"none of the list{left_out}", optional=True)


def _rules() -> dict[str, Rule]:
    rules = [*in_modules("examples.rules"), *(of_reports("right") if CASES.exists() else ())]
    return {rule.name: rule for rule in rules}


if __name__ == "__main__":
    rule = _rules()[sys.argv[1]]
    warm_up()
    spent, verdict = seconds(rule.audit)
    print(verdict.split()[0], spent)
