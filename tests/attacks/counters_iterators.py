"""Ways to count calls: iterators and containers."""

from __future__ import annotations

import collections
import functools
import itertools
import operator
import queue


def itertools_count():
    calls = itertools.count()
    return lambda: next(calls)


def dunder_next():
    return itertools.count().__next__


def partial_next():
    return functools.partial(next, itertools.count())


def enumerated():
    calls = enumerate(itertools.repeat(None))
    return lambda: next(calls)[0]


def zipped():
    calls = zip(itertools.count(), itertools.repeat(2), strict=False)

    return lambda: next(calls)[0]


def generator():
    def counting():
        n = 0
        while True:
            yield n
            n += 1

    values = counting()
    return lambda: next(values)


def generator_send():
    def counting():
        n = 0
        while True:
            n += 1
            yield n

    return functools.partial(counting().send, None)


def mapped():
    calls = map(operator.index, itertools.count())
    return lambda: next(iter(calls))


def unpacked():
    calls = itertools.count()

    def count():
        n, _ = (*itertools.islice(calls, 1), None)
        return n

    return count


def bound_setitem():
    table = {"calls": 0}
    put = table.__setitem__

    def count():
        put("calls", table["calls"] + 1)
        return table["calls"]

    return count


def bound_append():
    calls = []
    note = calls.append

    def count():
        note(None)
        return len(calls)

    return count


def operator_setitem():
    calls = [0]

    def count():
        operator.setitem(calls, 0, calls[0] + 1)
        return calls[0]

    return count


def walrus():
    calls = [0]

    def count():
        calls[0] = (n := calls[0] + 1)
        return n

    return count


def bound_pop():
    left = list(range(10000))
    take = left.pop
    return lambda: 9999 - take()


def pop_first():
    left = dict.fromkeys(range(10000))

    def count():
        n = next(iter(left))
        del left[n]
        return n

    return count


def a_deque():
    left = collections.deque(range(10000))
    return left.popleft


def a_queue():
    calls = queue.SimpleQueue()

    def count():
        calls.put(None)
        return calls.qsize()

    return count


def a_counter():
    calls = collections.Counter()

    def count():
        calls.update("x")
        return calls["x"]

    return count


def default_factory():
    seen = collections.defaultdict(itertools.count().__next__)
    return lambda: seen[len(seen)]


def on_missing():
    class Table(dict):
        def __missing__(self, key):
            self[key] = None
            return key

    table = Table()
    return lambda: table[len(table)]
