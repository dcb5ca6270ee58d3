"""How long a wrong rule takes: the seconds from the question to the verdict, for wrong rules of four sources.

Rules as people write them (`examples/rules`, names that start with `wrong_`) go through `certgrad.check`: witness,
its simplification, the likely cause. The ops of `examples/wrong_rules.py` and mutants of the library's rules that break
a law go through the audit of an op. The wrong rules of the survey are checked where their packages are installed.

All run in one process, one after the other, after a right rule of its own. Seconds are of processor time, which other
programs on the machine change less than the time that passes.

Of so many mutants of `examples/rules`, `--causes 200` looks at the likely causes that are printed: each is true if
`certgrad.check` proves the rule with that one change.

Run from anywhere: `python benchmarks/refutations.py [--only examples,ops,mutants,survey] [--mutants 72] [--causes 200]`
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent / "wild"))

from certgrad import audit, check
from certgrad.rules._declaration import Declaration
from examples.wrong_rules import rules as wrong_ops
from tests.mutation._points import broken, places
from tests.mutation._sample import sample
from tests.mutation._subjects import SUBJECTS
from tests.mutation._verdicts import mutated
from tests.mutation.code_rules import Refutation, refutations
from tests.mutation.code_rules import examples as code_rules

SURVEY = ("ott.math.utils:norm", "exojax.special.faddeeva:rewofzx")
"""The bugs of `benchmarks/wild/findings.toml` that are refuted."""
MEDIAN, NINE_IN_TEN = 0.3, 1.5
"""The seconds that are aimed at."""


@dataclass(frozen=True)
class Timing:
    """One wrong rule: what was said of it, and after how many seconds."""

    source: str
    name: str
    verdict: str
    seconds: float


Question = tuple[str, Callable[[], Any]]
"""A wrong rule by name, and what asks for its verdict."""


def examples() -> Iterator[Question]:
    """The rules of `examples/rules` whose names say that they are wrong."""
    for rule in code_rules(wrong=True):
        yield rule.name, _asked(rule.function, rule.declared)


def _asked(function: Any, declared: Declaration) -> Callable[[], Any]:
    said = {k: getattr(declared, k) for k in ("static", "differentiable", "domain", "surrogate", "approximates")}
    return lambda: check(function, declared.signature, **said).certificate


def ops() -> Iterator[Question]:
    """The ops of `examples/wrong_rules.py`."""
    for op in wrong_ops:
        yield op.name, partial(audit, op)


def mutants(count: int) -> Iterator[Question]:
    """One broken rule of each of so many ops: the first of those that the tests draw which breaks a law."""
    subjects = list(SUBJECTS.values())
    for op in subjects[:: max(1, len(subjects) // count)]:
        for one, mutation in sample(op, 6):
            try:
                found, _ = broken(mutated(one, mutation), mutation.role, places(one, one.cases[0]))
            except Exception:  # it does not run: no wrong rule, but none at all
                continue
            if found is not None:
                yield f"{one.name}: {mutation}", partial(audit, mutated(one, mutation))
                break


def survey() -> Iterator[Question]:
    """The wrong rules of the survey whose packages are installed."""
    from declared import DECLARED

    for name in SURVEY:
        module, _, attribute = name.partition(":")
        try:
            function = getattr(import_module(module), attribute)
        except ImportError:
            print(f"{name}: not installed")
            continue
        yield name, _asked(function, DECLARED[name])


def main() -> None:
    """Time every wrong rule, and print the slowest and the quantiles."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", default="examples,ops,mutants,survey", help="which sources, separated by commas")
    parser.add_argument("--mutants", type=int, default=72, help="of so many ops a broken rule (about)")
    parser.add_argument("--causes", type=int, default=0, help="look at the causes of so many mutants of the examples")
    given = parser.parse_args()
    sources = {"examples": examples, "ops": ops, "mutants": partial(mutants, given.mutants), "survey": survey}
    audit(SUBJECTS["softplus"])  # imports, and the start of JAX
    asked = [source for source in given.only.split(",") if source]
    timings = [timed(source, name, question) for source in asked for name, question in sources[source]()]
    report(timings)
    if given.causes:
        causes(given.causes)


def causes(count: int) -> None:
    """Of so many mutants of the examples that are refuted: how many have a likely cause, and whether each is true.

    Each is printed as it is found, with the state so far, so that a run that is cut off has said what it saw.
    """
    found = []
    for refutation in islice(refutations([rule for rule in code_rules() if not rule.declared.surrogate]), count):
        found.append(refutation)
        for one in refutation.told:
            print(f"{'true ' if one.true else 'FALSE'} {one.rule} ({one.mutation}): {one.argument}: {one.cause}")
            if not one.true:
                print(f"      {one.said}")
        if not refutation.told:
            print(f"none  {refutation.rule} ({refutation.mutation})")
        print(f"      {_state(found)}", flush=True)
    seconds = sorted(refutation.seconds for refutation in found)
    print(f"\n{_state(found)}")
    print("A cause is true if certgrad.check proves the rule with that one change.")
    print(f"median {seconds[len(seconds) // 2]:.2f} s, nine in ten within {seconds[int(0.9 * len(seconds))]:.2f} s")


def _state(found: list[Refutation]) -> str:
    told = [one for refutation in found for one in refutation.told]
    having = sum(bool(refutation.told) for refutation in found)
    true = sum(one.true for one in told)
    return f"{len(found)} refuted mutants, {having} with a likely cause; {len(told)} causes, {true} of them true"


def timed(source: str, name: str, question: Callable[[], Any]) -> Timing:
    """Ask for the verdict."""
    before = time.process_time()
    verdict = question().verdict
    return Timing(source, name, verdict, time.process_time() - before)


def quantile(timings: list[Timing], share: float) -> float:
    """The seconds within which this share of the rules has its verdict."""
    seconds = sorted(t.seconds for t in timings)
    return seconds[min(len(seconds) - 1, int(share * len(seconds)))]


def report(timings: list[Timing]) -> None:
    """The slowest, then the quantiles of each source and of all."""
    if not timings:
        return
    for t in sorted(timings, key=lambda t: -t.seconds)[:15]:
        print(f"{t.seconds:8.2f} s  {t.verdict:24}{t.source:10}{t.name}")
    print(f"\n{'source':12}{'rules':>6}{'median s':>10}{'90 % s':>10}{'slowest s':>11}  verdicts")
    for source in [*dict.fromkeys(t.source for t in timings), "all"]:
        mine = [t for t in timings if source in (t.source, "all")]
        row = f"{quantile(mine, 0.5):10.2f}{quantile(mine, 0.9):10.2f}{max(t.seconds for t in mine):11.2f}"
        said = ", ".join(f"{n} {verdict}" for verdict, n in Counter(t.verdict for t in mine).most_common())
        print(f"{source:12}{len(mine):6}{row}  {said}")
    print(f"\naimed at: median {MEDIAN} s, nine in ten within {NINE_IN_TEN} s")


if __name__ == "__main__":
    main()
