"""Which mutants a run looks at: the same ones every time, spread over the rules, the kinds of change and the cases."""

from __future__ import annotations

import hashlib
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from certgrad.ops import Op
from tests.mutation._changes import Mutation
from tests.mutation._points import Place, places
from tests.mutation._subjects import subject
from tests.mutation._verdicts import Judged, judge, mutants_of


def run(op: Op, count: int | None, public: int = 0, refute: bool = True, salt: str = "") -> Iterator[Judged]:
    """Judge so many mutants of an op (None: all), every `public`-th by a whole audit; `salt` draws others."""
    where: dict[str, list[Place]] = {}
    for k, (one, mutation) in enumerate(sample(op, count, salt)):
        case = one.cases[0]
        if str(case) not in where:
            where[str(case)] = places(one, case)
        yield judge(one, mutation, where[str(case)], public > 0 and k % public == 0, refute)


def judged_all(
    counts: Mapping[str, int | None], jobs: int, public: int, salt: str, refute: bool = True
) -> Iterator[tuple[list[Judged], float]]:
    """For each op by name: the judgement of so many of its mutants, and the seconds it took. In the order given."""
    judged = partial(_judged, public=public, refute=refute, salt=salt)
    if jobs <= 1:
        yield from map(judged, counts.items())
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(judged, counts.items())


def _judged(item: tuple[str, int | None], public: int, refute: bool, salt: str) -> tuple[list[Judged], float]:
    name, count = item
    before = time.perf_counter()
    return list(run(subject(name), count, public, refute, salt)), time.perf_counter() - before


def sample(op: Op, count: int | None, salt: str = "") -> list[tuple[Op, Mutation]]:
    """So many mutants of an op: one of each rule and kind of change in turn, in an order drawn from their names."""
    every = list(mutants_of(op))
    if count is None:
        return every
    groups: dict[tuple[str, str], list[tuple[str, tuple[Op, Mutation]]]] = defaultdict(list)
    for one, mutation in every:
        key = _digest(f"{salt}{op.name} {one.cases[0]} {mutation}")
        kind = "at special shapes" if mutation.shapewise else mutation.change
        groups[mutation.role, kind].append((key, (one, mutation)))
    queues = sorted(sorted(group, key=lambda t: t[0]) for group in groups.values())
    queues.sort(key=lambda q: q[0][0])
    chosen = []
    while queues and len(chosen) < count:
        for queue in queues[: count - len(chosen)]:
            chosen.append(queue.pop(0)[1])
        queues = [q for q in queues if q]
    return chosen


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
