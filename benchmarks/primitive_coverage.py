"""What certgrad can follow of JAX: a table of every primitive of the installed JAX that has a derivative rule.

For each: semantics for all shapes, at concrete shapes only, or none, with the reason. Nothing here is a verdict written
by hand: each example program of the table that the tests use (`tests/obligations/meaning/semantics`) is traced at
symbolic dimensions and read by the calculus; where that fails, again at concrete sizes. A primitive counts by its best
example.

Run from anywhere: `python benchmarks/primitive_coverage.py [--none]`
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from certgrad.obligations.meaning.semantics import RULES, UnprovedError
from certgrad.obligations.meaning.semantics._registry import LIBRARY, REFUSED
from certgrad.obligations.terms.budget import BudgetError, limited
from certgrad.obligations.terms.session import clear_caches
from certgrad.obligations.tracing.jax_internals import primitives_with_rules
from tests.obligations.meaning.semantics.example import Example
from tests.obligations.meaning.semantics.numerics import interpreted, run_by, traced
from tests.obligations.meaning.semantics.table import EVERY

ALL, CONCRETE, NONE = "all shapes", "concrete shapes", "none"
ORDER = (ALL, CONCRETE, NONE)


@dataclass(frozen=True)
class Status:
    """How far the calculus follows a primitive, and why no further."""

    primitive: str
    level: str
    reason: str = ""


def status(primitive: str, examples: Iterable[Example]) -> Status:
    """The best that any example of the primitive shows."""
    found = [_of_example(primitive, e) for e in examples]
    if not found:
        return Status(primitive, NONE, REFUSED.get(primitive, "no example"))
    return min(found, key=lambda s: ORDER.index(s.level))


def _of_example(primitive: str, example: Example) -> Status:
    reasons = []
    for level, sizes in ((ALL, None), (CONCRETE, dict.fromkeys(example.dims, max(2, example.smallest)))):
        reason = _followed(primitive, example, sizes)
        if not reason:
            return Status(primitive, level, reasons[0] if reasons else "")
        reasons.append(reason)
    return Status(primitive, NONE, reasons[-1])


def _followed(primitive: str, example: Example, sizes: dict[str, int] | None) -> str:
    """Nothing where the calculus reads the program, which must run the primitive; else the reason."""
    clear_caches()
    try:
        program, specs = traced(example, example.first(), sizes)
    except Exception as error:
        return f"JAX does not trace it: {str(error).strip().splitlines()[0][:90]}"
    if primitive not in run_by(example, example.first(), specs):
        return f"its example does not run it ({example.id})"
    try:
        with limited():
            interpreted(example, program, specs)
    except (UnprovedError, BudgetError, ArithmeticError) as error:
        return str(error)
    return ""


def coverage() -> list[Status]:
    """Every primitive with a rule in the installed JAX, by name."""
    by_name: dict[str, list[Example]] = {}
    for e in EVERY:
        by_name.setdefault(e.primitive, []).append(e)
    return [status(name, by_name.get(name, [])) for name in primitives_with_rules()]


def counts(table: Iterable[Status]) -> Counter[str]:
    """How many primitives there are of each level."""
    return Counter(s.level for s in table)


def main(arguments: list[str] | None = None) -> Any:
    """Print the table and the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--none", action="store_true", help="only the primitives without semantics")
    options = parser.parse_args(arguments)
    table = coverage()
    for s in table:
        if s.level == NONE or not options.none:
            print(f"{s.primitive:32s}{s.level:18s}{s.reason}".rstrip())
    total = counts(table)
    print()
    print(
        f"{len(table)} primitives with a JVP or transpose rule in the installed JAX: "
        + ", ".join(f"{total[level]} {level}" for level in ORDER)
    )
    without = sorted({*RULES} - {*LIBRARY} - {s.primitive for s in table})
    print(f"{len(without)} more with semantics and no such rule: {', '.join(without)}")


if __name__ == "__main__":
    main()
