"""The mutation run: `python -m tests.mutation [--ops relu,softmax] [--per-op 30] [--jobs 2] [--all]`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter

from tests.mutation._sample import judged_all
from tests.mutation._subjects import INDEX_RULES, SUBJECTS, how_many
from tests.mutation._verdicts import Judged


def main() -> int:
    """Judge the mutants, print the shares; 1 if a mutant that breaks a law is proved."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ops", default="", help="names of ops, separated by commas (default: all)")
    parser.add_argument("--libraries", action="store_true", help="rules of JAX, optax, Flax and numpyro, and no others")
    parser.add_argument("--per-op", type=int, default=45, help="mutants of each op (default: %(default)s)")
    parser.add_argument("--per-rule", type=int, default=110, help="mutants of each index rule (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: %(default)s)")
    parser.add_argument("--all", action="store_true", help="every mutant of every op (hours)")
    parser.add_argument(
        "--public", type=int, default=12, help="audit every k-th mutant as a user would (default: %(default)s)"
    )
    parser.add_argument(
        "--no-witnesses", action="store_true", help="search none: what is stopped counts as unproved, ten times faster"
    )
    parser.add_argument("--salt", default="", help="any text: another sample of the same size")
    parser.add_argument("--verbose", action="store_true", help="print every mutant")
    options = parser.parse_args()
    names = options.ops.split(",") if options.ops else list(SUBJECTS)
    if options.libraries:
        from tests.mutation.library_rules import library

        names = [op.name for op in library]
    indexed = {op.name for op in INDEX_RULES}
    counts = {n: None if options.all else how_many(n, options.per_op, options.per_rule) for n in names}
    start = time.perf_counter()
    judged: list[Judged] = []
    seconds: dict[str, float] = {}
    done = judged_all(counts, options.jobs, options.public, options.salt, not options.no_witnesses)
    for name, (found, spent) in zip(names, done, strict=True):
        judged += found
        seconds[name] = spent
        print(f"{name:34} {spent:6.1f} s  {_text(Counter(j.outcome for j in found))}", flush=True)
        for j in found:
            if options.verbose or j.failed:
                print(f"    {j.outcome:9} {j.mutation}  {j.detail[:200]}", flush=True)
    for name in sorted(seconds, key=lambda n: -seconds[n])[:8]:
        print(f"slow: {name} {seconds[name]:.1f} s")
    for title, part in (("index rules", indexed), ("library", set(SUBJECTS) - indexed)):
        here = [j for j in judged if j.op in part and j.differs]
        print(f"{title}: {len(here)} mutants break a law, {sum(j.outcome == 'WRONG' for j in here)} proved")
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
