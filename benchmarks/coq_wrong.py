"""What Coq accepts of wrong rules, which must be nothing.

    python -m benchmarks.coq_wrong [--mutants 500] [--bare 200] [--ops log,softmax] [--jobs 2] [--limit 10] [--write]

The rules are those of ops of which Coq accepts all, by `reports/coq.md`. A mutant is a rule with one equation changed,
for which the ball evaluator finds a point that satisfies the certificate's hypotheses and at which a law fails, at
shapes that the theorem is about. A bare theorem is that of a right rule with one hypothesis taken away, which no other
restates. An obligation counts as accepted together with the theorem that its programs are defined, since Coq's
functions are total.
With `--write` what is found so far stands in `reports/coq_wrong.md`.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import msgspec

from certgrad.coq import DEFINED_SUFFIX, File, Kernel, Library, Result
from certgrad.coq._errors import NotPrintedError
from certgrad.coq._names import identifier
from certgrad.coq._programs import Function
from certgrad.coq._statements import Case, Section
from certgrad.errors import CertgradError
from certgrad.jaxpr.at_shapes import DoesNotTraceError
from certgrad.jaxpr.at_symbols import at_symbols
from certgrad.language.tree import Either, Statement
from certgrad.obligations.certificate import Certificate
from certgrad.ops import registry
from certgrad.ops._composed import Composed
from certgrad.ops._declare import Op
from certgrad.specification.rule import UnreadableError
from tests.mutation._points import Place, broken, places
from tests.mutation._sample import sample
from tests.mutation._verdicts import _excludes, mutated

REPORTS = Path(__file__).parents[1] / "reports"
CERTIFICATES = REPORTS / "certificates"
KINDS = ("jvp_is_derivative", "vjp_is_adjoint", "rule_runs_forward")
PROVED = ("proved", "proved under hypotheses")


def ops(names: str) -> Iterator[tuple[Op, Certificate]]:
    """Ops with rules of their own, with their certificates; a composed op is broken where its parts are."""
    for name in names.split(",") if names else sorted(accepted_ops()):
        op, path = registry.get(name), CERTIFICATES / f"{name}.json"
        if isinstance(op, Op) and not isinstance(op, Composed) and path.is_file():
            yield op, msgspec.json.decode(path.read_bytes(), type=Certificate)


def accepted_ops() -> set[str]:
    """The ops of which Coq accepts all, by the page."""
    row = re.compile(r"^\| (\w+) \| (\d+) of \2 \| (\d+) of \3 \|  \|$", re.MULTILINE)
    return {m[1] for m in row.finditer((REPORTS / "coq.md").read_text())} & set(registry.names())


def mutants(op: Op, certificate: Certificate, count: int) -> Iterator[File]:
    """So many files, each with the theorems of one mutant that are false; fewer where fewer break a law."""
    cases = [str(case) for case in op.cases]
    for k, (one, mutation) in enumerate(sample(op, 4 * count)):
        if not count:
            return
        if mutation.shapewise:  # the trace at symbols, which the theorem is about, is that of the right rule
            continue
        mutant, case = mutated(one, mutation), one.cases[0]
        at = cases.index(str(case))
        try:
            found, _ = broken(mutant, mutation.role, [p for p in places(one, case) if _is_meant(p, one)])
            if found is None:
                continue
            claims = [c for c in certificate.claims if c.kind in found.gaps and c.cases[at].verdict in PROVED]
            claims = [c for c in claims if not any(_excludes(h.tree, found) for h in c.cases[at].hypotheses)]
            name = identifier(f"{op.name}_mutant_{k}")
            read, right = (Case(rule, case, at_symbols(rule, case), name) for rule in (mutant, one))
            if _said(read) == _said(right):  # what was changed acts at shapes alone that agree
                continue
        except (CertgradError, DoesNotTraceError, UnreadableError, NotPrintedError):
            continue
        except Exception:  # a mutant may do anything, and one that fails in Python is no test of Coq
            continue
        trees = {c.kind: [h.tree for h in c.cases[at].hypotheses] for c in claims}
        pairs = [[read.theorem(kind, of), read.theorem(kind, of, where=True)] for kind, of in trees.items()]
        theorems = tuple(t for pair in pairs if not any(t.reason for t in pair) for t in pair)
        if theorems:
            count -= 1
            title, programs = f"{op.name} {mutation}".replace('"', "'"), _programs(read)
            yield File(f"{op.name}_{k}", title, (Section(f"{op.name}_{k}", programs, theorems),))


def _is_meant(place: Place, op: Op) -> bool:
    """Whether the theorem is about these shapes: star groups are one axis, operands that broadcast have one shape."""
    if op.broadcast:
        shapes = {one.dims for one in place.inputs if one.name in op.arg_names}
        return len(shapes) == 1 and all(len(shape) == 1 for shape in shapes)
    return all(len(group) == 1 for group in place.dims.stars.values())


def _programs(read: Case) -> tuple[Function, ...]:
    """The programs, and where they are defined: each once."""
    return tuple(dict.fromkeys((*read.definitions, *read.defining)))


def _said(read: Case) -> list[str]:
    """What the programs say. A definition that no output needs has a number and no other trace, so numbers are new."""

    def renumbered(text: str) -> str:
        new: dict[str, str] = {}
        return re.sub(r"\bv\d+", lambda m: new.setdefault(m[0], f"v{len(new)}"), text)

    return [renumbered(f.text) for f in _programs(read)]


def bare(op: Op, certificate: Certificate) -> Iterator[File]:
    """A file for each hypothesis of each obligation: the theorem without it, and that its programs are defined."""
    for at, case in enumerate(op.cases):
        try:
            read = Case(op, case, at_symbols(op, case), identifier(f"{op.name}_{at}"))
        except (DoesNotTraceError, UnreadableError, NotPrintedError):
            continue
        for claim in certificate.claims:
            trees = [h.tree for h in claim.cases[at].hypotheses]
            if claim.kind not in KINDS or claim.cases[at].verdict not in PROVED:
                continue
            for k, tree in enumerate(trees):
                if _said_again(tree, trees):
                    continue
                left = [t for t in trees if t is not tree]
                pair = [read.theorem(claim.kind, left), read.theorem(claim.kind, left, where=True)]
                if any(t.reason for t in pair):
                    continue
                name = f"{op.name}_{at}_{claim.kind}_without_{k}"
                text = claim.cases[at].hypotheses[k].text.replace('"', "'")
                named = tuple(replace(t, name=identifier(f"{t.name}_without_{k}")) for t in pair)
                yield File(name, f"{name} ({text})", (Section(name, _programs(read), named),))


def _said_again(hypothesis: Statement, among: Sequence[Statement]) -> bool:
    """Whether one of the others is that it holds or something else does: then it is said by both, or by neither."""

    def part(one: Statement, other: Statement) -> bool:
        return isinstance(other, Either) and one in other.parts

    return any(part(hypothesis, one) or part(one, hypothesis) for one in among if one is not hypothesis)


def spread(of: list[Iterator[File]], count: int) -> Iterator[File]:
    """So many files, one of each in turn."""
    while of and count:
        for one in list(of):
            file = next(one, None)
            if file is None:
                of.remove(one)
            elif count:
                count -= 1
                yield file


def main() -> int:
    """Judge them, print what is accepted; 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=20)
    parser.add_argument("--bare", type=int, default=10)
    parser.add_argument("--per-op", type=int, default=3)
    parser.add_argument("--ops", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=int, default=10)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    started = time.perf_counter()
    kernel = Kernel(Library(Path(".certgrad_cache") / "coq"), options.limit)
    known = list(ops(options.ops))
    found = [
        Asked("wrong rules", spread([mutants(*one, options.per_op) for one in known], options.mutants)),
        Asked("right rules without a hypothesis", spread([bare(*one) for one in known], options.bare)),
    ]
    left = list(found)
    while left:  # some of each in turn, so that a run that is cut short has seen both
        for asked in list(left):
            chunk = list(islice(asked.files, 4 * options.jobs))
            if not chunk:
                left.remove(asked)
            for result in kernel.judge_all(chunk, options.jobs):
                asked.count(result)
            print(f"  {asked} ({time.perf_counter() - started:.0f} s)", file=sys.stderr, flush=True)
            if options.write:
                (REPORTS / "coq_wrong.md").write_text(page(found, options.limit, kernel.library.release))
    print("\n".join(map(str, found)), flush=True)
    return 1 if any(asked.accepted for asked in found) else 0


@dataclass
class Asked:
    """One set of files, none of which ought to be accepted, and what came of those that were judged."""

    title: str
    files: Iterator[File]
    judged: int = 0
    accepted: list[str] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)

    def count(self, result: Result) -> None:
        self.judged += 1
        kinds: dict[str, list[bool]] = {}
        for judged in result.judged:
            kinds.setdefault(judged.kind.removesuffix(DEFINED_SUFFIX), []).append(judged.accepted)
        if any(map(all, kinds.values())):
            self.accepted.append(result.subject)
            print(f"ACCEPTED: {result.subject}", flush=True)
        left = [j.reason for j in result.judged if not j.accepted]
        self.reasons.update("no proof was found" if r.startswith("no proof was found:") else r for r in left[:1])

    def __str__(self) -> str:
        return f"{self.title}: {len(self.accepted)} of {self.judged} accepted"


def page(found: Sequence[Asked], limit: int, version: str) -> str:
    """Markdown, the same for the same results."""
    lines = [
        "# What Coq accepts of wrong rules",
        "",
        "Made by `python -m benchmarks.coq_wrong --write`: of ops of which Coq accepts all, rules with one equation",
        "changed, each with a point inside the hypotheses at which a law fails; and theorems on right rules without",
        "one of their hypotheses. An obligation is accepted together with that its programs are defined.",
        f"A proof may take {limit} s. Coq {version}.",
        "",
        "| | accepted | of |",
        "| --- | ---: | ---: |",
        *(f"| {asked.title} | {len(asked.accepted)} | {asked.judged} |" for asked in found),
    ]
    for asked in found:
        lines += ["", f"## {asked.title.capitalize()}", "", "| why not | files |", "| --- | ---: |"]
        lines += [f"| {reason} | {count} |" for reason, count in asked.reasons.most_common()]
        lines += [f"| **accepted**: {name} | 1 |" for name in asked.accepted]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
