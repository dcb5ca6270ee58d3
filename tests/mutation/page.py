"""The page of what became of mutants: `python -m tests.mutation.page FILE …` writes `reports/mutants.json` and `.md`.

The files are those of `python -m tests.mutation.rules`. Each mutant counts once, as the last of its lines says.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

REPORTS = Path(__file__).resolve().parents[2] / "reports"
RESULTS, PAGE = REPORTS / "mutants.json", REPORTS / "mutants.md"
SOURCES = {
    "classes": "newer classes: `benchmarks/pairs`, and Pallas kernels of the tests and of JAX",
    "survey": "rules of the survey, `benchmarks/wild`",
    "libraries": "parts of libraries, `benchmarks/libraries`, with JAX's derivatives",
    "library": "the library's ops, rules of indices, and `examples/rules`",
}
BROKEN = ("refuted", "unproved", "narrowed", "unread", "proved", "crash")
LEFT_OUT = ("equal", "not made", "ended")
INTRODUCTION = """# Mutants

Made by `python -m tests.mutation.rules` and `python -m tests.mutation.page`. A mutant is a right rule of which one
equation of one traced program (the function, the value that the rule computes, its JVP, its VJP) is changed: also one
inside a loop, a branch, a Pallas kernel or a map over devices. Only rules that certgrad proves as they are have
mutants, for otherwise nothing would follow from a mutant that is not proved; each rule is taken at names of sizes and
at numbers, where both are proved.

Whether a mutant breaks a law is decided by evaluation on rational points of the rule's domain in ball arithmetic,
without the calculus: plain points, special ones, ties, large ones and points beside the program's own constants, at
three shapes. One for which no such point is found is **left out** (it may be equal, or wrong at points that were not
tried), as is a change that cannot be made. Of those that **break a law**:

- `refuted`, `unproved`: the verdict on that law. A mutant that takes more than 10 s of the processor counts as
  unproved (timed out). A mutant that is refuted at the most general shapes is not looked at further; all others, and
  every fortieth, go through the whole audit, without a comparison with calls.
- `narrowed`: proved under listed hypotheses that exclude every point found where the law fails.
- `unread`: proved under a hypothesis of which the evaluator of statements cannot say whether it excludes these points.
- **proved**: a wrong claim. There must be none.
- `crash`: certgrad raised an internal error."""


def gathered(lines: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The counts: of rules by source and verdict, and of mutants by source, sizes, kind of change and outcome."""
    rules: dict[Any, Mapping[str, Any]] = {}
    mutants: dict[Any, Mapping[str, Any]] = {}
    for line in lines:
        key = (line["source"], line["rule"], line["at"])
        if line["kind"] == "rule":
            rules[key] = line
        if line["kind"] == "mutant":
            mutants[(*key, line["mutant"])] = line
    found: dict[str, Any] = {}
    for source in SOURCES:
        here = [line for key, line in mutants.items() if key[0] == source]
        if not here:
            continue
        changes: dict[str, Counter[str]] = defaultdict(Counter)
        at: dict[str, Counter[str]] = defaultdict(Counter)
        for line in here:
            changes[line["change"]][line["outcome"]] += 1
            at[line["at"]][line["outcome"]] += 1
        found[source] = {
            "rules": _sorted(Counter(_short(line["verdict"]) for key, line in rules.items() if key[0] == source)),
            "with mutants that break a law": len({(m["rule"], m["at"]) for m in here if m["outcome"] in BROKEN}),
            "at": {k: _sorted(v) for k, v in sorted(at.items())},
            "changes": {k: _sorted(v) for k, v in sorted(changes.items())},
            "timed out": sum(m["detail"] == "timed out" and bool(m["laws"]) for m in here),
            "seconds": round(sum(m["seconds"] for m in here)),
            "code": _sorted(Counter(m["code"] for m in here)),
            "unread": sorted(f"{m['rule']} ({m['at']}): {m['mutant']}" for m in here if m["outcome"] == "unread"),
            "wrong": sorted(
                f"{m['rule']} ({m['at']}): {m['mutant']}: {m['detail']}"
                for m in here
                if m["outcome"] in ("proved", "crash") or m["detail"].startswith("defect")
            ),
        }
    return found


def _short(verdict: str) -> str:
    """What is said of a rule; of an exception its name."""
    return "does not trace, or has no such form" if ":" in verdict or verdict == "no such form" else verdict


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items()))


def page(results: Mapping[str, Any]) -> str:
    """As Markdown."""
    sources = results["sources"]
    parts = [INTRODUCTION, _versions(results)]
    rows = [(SOURCES[name], *_figures(sources[name])) for name in sources]
    header = ("source", "rules", "made", "left out", "break a law", *BROKEN, "timed out")
    total = [sum(int(str(row[k]).replace(",", "")) for row in rows) for k in range(1, len(header))]
    parts += ["## All", _table(header, [*rows, ("all", *(f"{n:,}" for n in total))])]
    parts.append(_at(sources))
    for name, one in sources.items():
        parts += [f"## {SOURCES[name][0].upper()}{SOURCES[name][1:]}", _rules(one), _changes(one["changes"])]
        for title, what in (("Proved, crashed, or stopped by the last look alone", "wrong"), ("Unread", "unread")):
            if one[what]:
                parts += [f"{title}:", "\n".join(f"- {_plain(text)}" for text in one[what])]
    return "\n\n".join(parts) + "\n"


def _versions(results: Mapping[str, Any]) -> str:
    texts = [f"{n:,} by the code of {results['commits'].get(code, 'an earlier commit')}" for code, n in _codes(results)]
    return f"Mutants {', '.join(texts)}."


def _codes(results: Mapping[str, Any]) -> list[tuple[str, int]]:
    found: Counter[str] = Counter()
    for one in results["sources"].values():
        found.update(one["code"])
    return sorted(found.items())


def _figures(one: Mapping[str, Any]) -> tuple[str, ...]:
    counts: Counter[str] = Counter()
    for outcomes in one["changes"].values():
        counts.update(outcomes)
    broken = sum(counts[k] for k in BROKEN)
    left_out = sum(counts[k] for k in LEFT_OUT)
    numbers = [one["with mutants that break a law"], counts.total(), left_out, broken]
    return tuple(f"{n:,}" for n in [*numbers, *(counts[k] for k in BROKEN), one["timed out"]])


def _at(sources: Mapping[str, Any]) -> str:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for one in sources.values():
        for at, outcomes in one["at"].items():
            counts[at].update(outcomes)
    rows = [(f"at {at}", f"{sum(c[k] for k in BROKEN):,}", *(f"{c[k]:,}" for k in BROKEN)) for at, c in counts.items()]
    return _table(("sizes", "break a law", *BROKEN), rows)


def _rules(one: Mapping[str, Any]) -> str:
    return f"Rules as they are, at names and at numbers: {', '.join(f'{n:,} {v}' for v, n in one['rules'].items())}."


def _changes(changes: Mapping[str, Mapping[str, int]]) -> str:
    rows = []
    for change, outcomes in changes.items():
        broken = sum(outcomes.get(k, 0) for k in BROKEN)
        left_out = sum(outcomes.get(k, 0) for k in LEFT_OUT)
        rows.append((change, f"{broken + left_out:,}", f"{left_out:,}", f"{broken:,}", *_cells(outcomes)))
    return _table(("kind of change", "made", "left out", "break a law", *BROKEN), rows)


def _cells(outcomes: Mapping[str, int]) -> list[str]:
    return [f"{outcomes.get(k, 0):,}" for k in BROKEN]


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("|", "∣").replace("[", "\\[")


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---", *("---:" for _ in header[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _commits(codes: Iterable[str], before: Mapping[str, str]) -> dict[str, str]:
    """The commits by digests of the package's code: that of the code here, and those that are known."""
    from tests.mutation._lines import code

    command = ["git", "log", "-1", "--format=%h", "--", "certgrad"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPORTS.parent)
    here = {code(): f"commit {done.stdout.strip()}"} if done.stdout.strip() else {}
    known = {**before, **here}
    return {c: known[c] for c in sorted(codes) if c in known}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="files of results; without any the page is made anew")
    parser.add_argument(
        "--commit", action="append", default=[], metavar="DIGEST=COMMIT", help="of which commit a digest of code is"
    )
    options = parser.parse_args()
    before = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {"sources": {}, "commits": {}}
    results = before
    if options.files:
        from tests.mutation._lines import read

        sources = gathered(line for path in options.files for line in read(path))
        codes = {c for one in sources.values() for c in one["code"]}
        said = {digest: f"commit {commit}" for digest, _, commit in (text.partition("=") for text in options.commit)}
        results = {"commits": _commits(codes, before["commits"] | said), "sources": sources}
        RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    PAGE.write_text(page(results), "utf-8")


if __name__ == "__main__":
    main()
