"""A run over the rules of a source: mutants of each in turn, a line for each."""

from __future__ import annotations

import hashlib
import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

import jax

from certgrad.obligations.auditing import audit as audits
from certgrad.obligations.terms.session import clear_caches
from tests.mutation._asked import PROVED, OutOfTime, answered, limit
from tests.mutation._changes import Mutation
from tests.mutation._lines import Lines
from tests.mutation._rules_mutated import Right
from tests.mutation._sources import Subject

RULE, MUTANT, DONE = "rule", "mutant", "done"
"""What a line is about: a rule as it is, a mutant, or that there is nothing more to be done of a rule."""
OF_RULE = 30.0
"""Seconds of the processor to prove the rule as it is."""
OF_MUTANT = 10.0
MOST = 3
"""For one mutant that breaks a law so many are tried."""
WHOLE = 40
"""Every so many-th mutant goes through the whole audit, whatever is found at the most general shapes."""


def ordered(subject: Subject, mutations: Sequence[Mutation], salt: str = "") -> list[Mutation]:
    """One of each program and kind of change in turn, in an order drawn from their names."""
    groups: dict[tuple[str, str], list[tuple[str, Mutation]]] = defaultdict(list)
    for mutation in mutations:
        text = f"{salt} {subject.key} {mutation}"
        groups[mutation.role, mutation.change].append((hashlib.sha256(text.encode()).hexdigest(), mutation))
    queues = sorted((sorted(g, key=lambda t: t[0]) for g in groups.values()), key=lambda q: q[0][0])
    return [q[k][1] for k in range(max(map(len, queues), default=0)) for q in queues if k < len(q)]


def run(subject: Subject, lines: Lines, wanted: int, seconds: float, changes: Collection[str] = ()) -> None:
    """Mutants of one rule until so many break a law, at most `MOST` times as many, within so many seconds.

    Of these `changes` alone, if there are any: what else was made does then not count.
    """
    mine = [line for line in lines.known if (line["source"], line["rule"], line["at"]) == subject.key]
    about = dict(zip(("source", "rule", "at"), subject.key, strict=True))
    rule = next((line for line in mine if line["kind"] == RULE), None)
    if rule is not None and rule["verdict"] not in PROVED:
        return
    tried = {
        line["mutant"]: line for line in mine if line["kind"] == MUTANT and (not changes or line["change"] in changes)
    }
    broken = sum(bool(line["laws"]) for line in tried.values())
    spent = sum(line["seconds"] for line in tried.values())
    over = spent > seconds or any(line["kind"] == DONE for line in mine)
    if over or broken >= wanted or len(tried) >= MOST * wanted:
        return
    if rule is None:
        lines.begin({"kind": RULE, **about, "seconds": 0.0})
    try:
        right, verdict, took = _right(subject)
    finally:
        clear_caches()
    if rule is None:
        lines.add({"kind": RULE, **about, "verdict": verdict, "seconds": took})
    if right is None or verdict not in PROVED:
        return
    try:
        with limit(OF_RULE):
            made = right.mutations()
            mutations = ordered(subject, [m for m in made if not changes or m.change in changes])
            assert right.places
    except (OutOfTime, Exception) as error:
        lines.add({"kind": DONE, **about, "why": f"{type(error).__name__}: {error}"[:200]})
        return
    if not changes and set(map(str, mutations)) <= set(tried):
        lines.add({"kind": DONE, **about, "why": "there are no more"})
    for k, mutation in enumerate(mutations):
        if broken >= wanted or len(tried) >= MOST * wanted or spent > seconds:
            break
        name = str(mutation)
        if name in tried:
            continue
        what = {"kind": MUTANT, **about, "mutant": name, "program": mutation.role, "change": mutation.change}
        lines.begin({**what, "seconds": 0.0})
        tried[name] = line = {**what, **_told(right, mutation, whole=k % WHOLE == 0)}
        broken += bool(line["laws"])
        spent += line["seconds"]
        lines.add(line)


def _told(right: Right, mutation: Mutation, whole: bool) -> dict[str, Any]:
    """What became of a mutant, as a line says it."""
    before = time.process_time()
    answer = answered(right, mutation, OF_MUTANT, whole)
    found = {"outcome": answer.outcome, "laws": list(answer.laws), "detail": answer.detail}
    return {**found, "seconds": round(time.process_time() - before, 2)}


def again(subjects: Sequence[Subject], lines: Lines, outcomes: Collection[str]) -> None:
    """Ask once more of the mutants whose last line says one of these outcomes, whatever code said it."""
    by_key = {subject.key: subject for subject in subjects}
    last = {(x["source"], x["rule"], x["at"], x["mutant"]): x for x in lines.all if x["kind"] == MUTANT}
    for key, line in last.items():
        subject = by_key.get(key[:3])
        if subject is None or line["outcome"] not in outcomes:
            continue
        right, _, _ = _right(subject)
        if right is not None:
            mutation = next(m for m in right.mutations() if str(m) == line["mutant"])
            lines.add({**line, **_told(right, mutation, whole=True)})


def _right(subject: Subject) -> tuple[Right | None, str, float]:
    """The rule, what is said of it as it is, and the seconds that took."""
    before = time.process_time()
    right, verdict = None, "no such form"
    try:
        with limit(OF_RULE):
            rule = subject.make()
            if rule is not None:
                rule.seconds = OF_RULE / 3
                certificate = audits.audit(rule)
                right, verdict = Right(rule), str(certificate.verdict)
                _ = right.programs
    except OutOfTime:
        right, verdict = None, "out of time"
    except Exception as error:
        right, verdict = None, f"{type(error).__name__}: {error}"[:200]
    return right, verdict, round(time.process_time() - before, 2)


def run_all(
    subjects: Sequence[Subject], lines: Lines, wanted: int, seconds: float, changes: Collection[str] = ()
) -> None:
    """A run over rules. What JAX keeps of the programs of one is of no use to the next."""
    for subject in subjects:
        run(subject, lines, wanted, seconds, changes)
        jax.clear_caches()
