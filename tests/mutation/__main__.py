"""The mutation run: `python -m tests.mutation [--ops relu,softmax] [--per-op 30] [--all]`."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from certgrad.ops import registry
from tests.mutation._sample import run
from tests.mutation._verdicts import Judged


def main() -> int:
    """Judge the mutants, print the shares; 1 if a mutant that breaks a law is proved."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ops", default="", help="names of ops, separated by commas (default: all)")
    parser.add_argument("--per-op", type=int, default=30, help="how many mutants of each op (default: %(default)s)")
    parser.add_argument("--all", action="store_true", help="every mutant of every op (hours)")
    parser.add_argument(
        "--public", type=int, default=12, help="audit every k-th mutant as a user would (default: %(default)s)"
    )
    parser.add_argument("--salt", default="", help="any text: another sample of the same size")
    parser.add_argument("--verbose", action="store_true", help="print every mutant")
    options = parser.parse_args()
    names = options.ops.split(",") if options.ops else list(registry.names())
    start = time.perf_counter()
    judged: list[Judged] = []
    for name in names:
        before = time.perf_counter()
        found = list(
            run(registry.get(name), None if options.all else options.per_op, options.public, salt=options.salt)
        )
        judged += found
        counts = Counter(j.outcome for j in found)
        print(f"{name:34} {time.perf_counter() - before:6.1f} s  {_text(counts)}", flush=True)
        for j in found:
            if options.verbose or j.failed:
                print(f"    {j.outcome:9} {j.mutation}  {j.detail[:200]}", flush=True)
    summary(judged, time.perf_counter() - start)
    return 1 if any(j.failed for j in judged) else 0


def summary(judged: list[Judged], seconds: float) -> None:
    """The numbers of the whole run."""
    counts = Counter(j.outcome for j in judged)
    differ = [j for j in judged if j.differs]
    print(f"\n{len(judged)} mutants in {seconds:.0f} s: {_text(counts)}")
    reasons = Counter(j.detail.split(":")[0][:70] for j in judged if j.outcome == "unproved")
    for reason, n in reasons.most_common(12):
        print(f"  unproved: {n:5}  {reason}")
    for j in judged:
        if j.failed or j.outcome == "narrowed":
            print(f"  {j.outcome}: {j.op}, {j.mutation}: {j.detail[:300]}")
    stopped = counts["refuted"] + counts["unproved"]
    total = max(len(differ), 1)
    print(
        f"{len(differ)} mutants break a law: {stopped} not proved "
        f"(refuted {counts['refuted'] / total:.1%}, unproved {counts['unproved'] / total:.1%}), "
        f"{counts['narrowed']} proved under further hypotheses that exclude the breaks, {counts['WRONG']} proved"
    )


def _text(counts: Counter[str]) -> str:
    order = ("refuted", "unproved", "narrowed", "WRONG", "kink", "crash", "harmless", "same", "malformed")
    return ", ".join(f"{counts[k]} {k}" for k in order if counts[k])


if __name__ == "__main__":
    sys.exit(main())
