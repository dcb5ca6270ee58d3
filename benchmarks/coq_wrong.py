"""What Coq accepts of wrong rules, which must be nothing.

    python -m benchmarks.coq_wrong [--mutants 500] [--bare 200] [--ops log,softmax] [--jobs 2] [--limit 10]

A mutant is a rule of the library with one equation changed, for which the ball evaluator finds a point that satisfies
the certificate's hypotheses and at which a law fails. A bare theorem is that of a right rule with one hypothesis taken
away; it is counted only together with the theorem that the programs are defined, since Coq's functions are total.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import msgspec

from certgrad.coq import File, Kernel, Library
from certgrad.coq._errors import NotPrintedError
from certgrad.coq._names import identifier
from certgrad.coq._statements import Case, Section
from certgrad.errors import CertgradError
from certgrad.obligations.certificate import Certificate
from certgrad.obligations.verify._programs import DoesNotTraceError, at_symbols
from certgrad.ops import registry
from certgrad.ops._composed import Composed
from certgrad.ops._declare import Op
from certgrad.specification.rule import UnreadableError
from tests.mutation._points import broken, places
from tests.mutation._sample import sample
from tests.mutation._verdicts import _excludes, mutated

CERTIFICATES = Path(__file__).parents[1] / "reports" / "certificates"
KINDS = ("jvp_is_derivative", "vjp_is_adjoint", "rule_runs_forward")
PROVED = ("proved", "proved under hypotheses")


def ops(names: str) -> Iterator[tuple[Op, Certificate]]:
    """Ops with rules of their own, with their certificates; a composed op is broken where its parts are."""
    for name in names.split(",") if names else registry.names():
        op, path = registry.get(name), CERTIFICATES / f"{name}.json"
        if isinstance(op, Op) and not isinstance(op, Composed) and path.is_file():
            yield op, msgspec.json.decode(path.read_bytes(), type=Certificate)


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
            found, _ = broken(mutant, mutation.role, places(one, case))
            if found is None:
                continue
            claims = [c for c in certificate.claims if c.kind in found.gaps and c.cases[at].verdict in PROVED]
            claims = [c for c in claims if not any(_excludes(h.tree, found) for h in c.cases[at].hypotheses)]
            read = Case(mutant, case, at_symbols(mutant, case), identifier(f"{op.name}_mutant_{k}"))
        except (CertgradError, DoesNotTraceError, UnreadableError, NotPrintedError):
            continue
        except Exception:  # a mutant may do anything, and one that fails in Python is no test of Coq
            continue
        theorems = [read.theorem(c.kind, [h.tree for h in c.cases[at].hypotheses]) for c in claims]
        theorems = [t for t in theorems if not t.reason]
        if theorems:
            count -= 1
            title = f"{op.name} {mutation}".replace('"', "'")
            yield File(f"{op.name}_{k}", title, (Section(f"{op.name}_{k}", read.definitions, tuple(theorems)),))


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
                left = [t for t in trees if t is not tree]
                pair = [read.theorem(claim.kind, left), read.theorem(claim.kind, left, where=True)]
                if any(t.reason for t in pair):
                    continue
                name = f"{op.name}_{at}_{claim.kind}_without_{k}"
                text = claim.cases[at].hypotheses[k].text.replace('"', "'")
                named = tuple(replace(t, name=identifier(f"{t.name}_without_{k}")) for t in pair)
                yield File(name, f"{name} ({text})", (Section(name, (*read.definitions, *read.defining), named),))


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
    options = parser.parse_args()
    started, wrong = time.perf_counter(), 0
    kernel = Kernel(Library(Path(".certgrad_cache") / "coq"), options.limit, remember=False)
    known = list(ops(options.ops))
    sets = {
        "wrong rules": (spread([mutants(*one, options.per_op) for one in known], options.mutants), False),
        "rules without a hypothesis": (spread([bare(*one) for one in known], options.bare), True),
    }
    for title, (files, together) in sets.items():
        judged = accepted = 0
        chunk: list[File] = []
        for file in (*files, None):
            if file is not None:
                chunk.append(file)
            if chunk and (file is None or len(chunk) == 4 * options.jobs):
                for result in kernel.judge_all(chunk, options.jobs):
                    judged += 1
                    believed = all if together else any
                    if believed(j.accepted for j in result.judged):
                        accepted += 1
                        print(f"ACCEPTED: {result.subject}", flush=True)
                chunk = []
                print(f"  {title}: {judged} judged, {accepted} accepted", file=sys.stderr, flush=True)
        wrong += accepted
        print(f"{title}: {accepted} of {judged} accepted ({time.perf_counter() - started:.0f} s)", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
