"""`reports/exact.md`: what exact evaluation says of the corpus, and why, of each rule that does not come out right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from benchmarks.corpus.entries import SOURCES, Entry, Record
from benchmarks.corpus.page import table
from certgrad.obligations.certificate import PROOFS

INTRODUCTION = """# Exact evaluation

Made by `python -m benchmarks.exact --write`. Rules of the corpus by `certgrad.exact` alone, which evaluates them over
the reals and over a finite field at once (docs/exact.md). A right rule is counted where the calculus proves it, under
the hypotheses of its proof. Seconds are of the processor, about six for a rule at most, tracing included."""
EXPLAINED = """A right rule that is proved and does not agree, or a wrong one that does not differ. `undecided`: both
sides are equal to hundreds of digits over the reals, and not by the laws of the model. `outside`: a program has no
meaning in the specification, or no point was found in the time."""


SERIES = "right of what is meant: the function runs a series of a library that is off by more than 10⁻⁹"


def good(entry: Entry, record: Record) -> bool:
    """It came out as it should."""
    return record.verdict == ("differs" if entry.expected == "wrong" else "agrees")


def page(entries: Sequence[Entry], found: Mapping[str, Record], audited: Mapping[str, Record]) -> str:
    """As Markdown."""
    right = [e for e in entries if e.expected == "right" and e.id in audited and audited[e.id].verdict in PROOFS]
    wrong = [e for e in entries if e.expected == "wrong"]
    rows = [
        _row(source, of, group, found)
        for source in SOURCES
        for of, group in (("right, proved", right), ("wrong", wrong))
        if any(e.source == source for e in group)
    ]
    rows += [_row("", of, group, found) for of, group in (("right, proved", right), ("wrong", wrong)) if group]
    agreeing = [found[e.id] for e in right if good(e, found[e.id])]
    levels = Counter(record.scope[0].partition(", in ")[0] for record in agreeing)
    limits = Counter(record.scope[1] for record in agreeing if len(record.scope) > 1)
    open_ = [e for e in (*right, *wrong) if not good(e, found[e.id])]
    slowest = sorted(right + wrong, key=lambda e: -found[e.id].seconds)[:10]
    return "\n\n".join(
        [
            INTRODUCTION,
            table(("source", "rules", "number", "as they should", "share", "median s", "slowest s"), rows),
            "## Levels",
            table(("level", "rules"), [(level, str(n)) for level, n in levels.most_common()]),
            _bounds(agreeing),
            "## Why there is no theorem",
            "What keeps an agreement from being one for all sizes (docs/exact.md, All sizes).",
            table(("reason", "rules"), [(reason, str(n)) for reason, n in limits.most_common()]),
            "## What did not come out so",
            EXPLAINED,
            table(("class", "rules"), [(c, str(n)) for c, n in Counter(map(_class(found), open_)).most_common()]),
            table(("entry", "is", "verdict", "why"), [_listed(e, found[e.id], _class(found)(e)) for e in open_]),
            "## The slowest",
            table(("entry", "seconds"), [(e.id, f"{found[e.id].seconds:.1f}") for e in slowest]),
            "",
        ]
    )


def _bounds(found: Sequence[Record]) -> str:
    """Of what agrees, the bounds on the error."""
    exact = [int(one.limits[0]) for one in found if one.scope[0] != "at points"]
    rest = f"{len(found) - len(exact)} rules agree at points alone: no bound below 2^-80 is known of them."
    if not exact:
        return rest
    return f"The bound on the error of what is exact: at most 2^{max(exact)}, median 2^{round(median(exact))}. {rest}"


def _row(source: str, of: str, group: Sequence[Entry], found: Mapping[str, Record]) -> tuple[str, ...]:
    chosen = [e for e in group if not source or e.source == source]
    count = sum(good(e, found[e.id]) for e in chosen)
    seconds = [found[e.id].seconds for e in chosen]
    share = f"{100 * count / len(chosen):.1f} %"
    return source or "all", of, str(len(chosen)), str(count), share, f"{median(seconds):.2f}", f"{max(seconds):.1f}"


KNOWN = {
    "cases/r17_unpool_duplicates:wrong": "wrong where the function itself is undefined: updates of one entry twice",
    "pairs/functions:beta_entropy_term/right": SERIES,
    "pairs/functions:inverse_mills/right": SERIES,
}
"""Looked at one by one. JAX's betaln is off by 1.2e-6 at b = 8, log_ndtr by 4e-9 at −20."""


def _class(found: Mapping[str, Record]) -> Callable[[Entry], str]:
    def of(entry: Entry) -> str:
        record = found[entry.id]
        for sign, name in CLASSES:
            if sign in record.reason:
                return name
        return KNOWN.get(entry.id, f"{record.verdict}, not explained")

    return of


CLASSES = (
    ("has no meaning here", "a primitive without a meaning in the specification"),
    ("not by the laws", "equal over the reals, by a law of functions that the model lacks"),
    ("is rounded", "a float of the code is rounded"),
    ("no point was found", "no point was found in the time"),
    ("of which nothing is known", "random numbers"),
    ("an argument of", "keys among the arguments"),
)
"""By what the reason says."""


def _listed(entry: Entry, record: Record, why: str) -> tuple[str, ...]:
    return entry.id, entry.expected, record.verdict, (record.reason[:160] or why).replace("|", "∣")
