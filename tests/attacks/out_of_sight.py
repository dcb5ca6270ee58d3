"""State that lies beyond where one looks: behind attributes, past the first entries, inside of arrays of objects; and
questions that are asked by what an attribute holds."""

from __future__ import annotations

import concurrent.futures
import gc
import operator
import queue
import threading
import types
import weakref
from functools import partial

import numpy as np

from .attack import Attack
from .called_back import Link, arithmetic, hidden, hidden_by_type
from .example import custom
from .makers import LATE, ones, square

LATER, ASKED = "D state out of sight, late", "D questions out of sight"
SIZE = 23


class Holder:
    """An object that is not called."""

    def __init__(self, **own):
        self.__dict__.update(own)


class Slots:
    __slots__ = ("kept",)


def add_to_set(seen):
    seen.add(Link())


def add_key(seen):
    operator.setitem(seen, Link(), None)


def add_value(seen):
    operator.setitem(seen, len(seen), Link())


TABLES = {
    "set": (weakref.WeakSet, add_to_set),
    "keys": (weakref.WeakKeyDictionary, add_key),
    "values": (weakref.WeakValueDictionary, add_value),
}


def by_attribute(table, add):
    holder = Holder(seen=table())

    def count():
        add(holder.seen)
        return len(holder.seen)

    return count


def by_namespace(table, add):
    holder = types.SimpleNamespace(seen=table())

    def count():
        add(holder.seen)
        return len(holder.seen)

    return count


def by_an_inner_attribute(table, add):
    holder = Holder(inner=Holder(seen=table()))

    def count():
        add(holder.inner.seen)
        return len(holder.inner.seen)

    return count


def by_a_class(table, add):
    class Kind:
        seen = table()

    def count():
        add(Kind.seen)
        return len(Kind.seen)

    return count


def by_a_slot(table, add):
    holder = Slots()
    holder.kept = table()

    def count():
        add(holder.kept)
        return len(holder.kept)

    return count


def by_getattr(table, add):
    holder = Holder(seen=table())
    find = operator.attrgetter("seen")

    def count():
        add(find(holder))
        return len(find(holder))

    return count


def in_a_dict(table, add):
    holder = {"seen": table()}

    def count():
        add(holder["seen"])
        return len(holder["seen"])

    return count


def in_a_partial(table, add):
    def counted(seen):
        add(seen)
        return len(seen)

    return partial(counted, table())


def in_a_method(table, add):
    class Counts:
        def __init__(self):
            self.seen = table()

        def count(self):
            add(self.seen)
            return len(self.seen)

    return Counts().count


PLACES = [
    by_attribute,
    by_namespace,
    by_an_inner_attribute,
    by_a_class,
    by_a_slot,
    by_getattr,
    in_a_dict,
    in_a_partial,
    in_a_method,
]


def far_in_a_list():
    numbers = [0] * 1000

    def count():
        operator.setitem(numbers, 900, operator.getitem(numbers, 900) + 1)
        return numbers[900]

    return count


def far_in_a_dict():
    numbers = dict.fromkeys(range(1000), 0)

    def count():
        operator.setitem(numbers, 900, operator.getitem(numbers, 900) + 1)
        return numbers[900]

    return count


def in_an_array_of_objects():
    boxes = np.empty(1, dtype=object)
    boxes[0] = [0]

    def count():
        operator.setitem(boxes[0], 0, boxes[0][0] + 1)
        return boxes[0][0]

    return count


def far_in_an_array_of_objects():
    boxes = np.empty(900, dtype=object)
    boxes[:] = [[0] for _ in range(900)]

    def count():
        operator.setitem(boxes[899], 0, boxes[899][0] + 1)
        return boxes[899][0]

    return count


def deep_in_attributes():
    holder = Holder(n=[0])
    for _ in range(12):
        holder = Holder(inner=holder)
    find = operator.attrgetter(".".join(["inner"] * 12) + ".n")

    def count():
        operator.setitem(find(holder), 0, find(holder)[0] + 1)
        return find(holder)[0]

    return count


def in_place():
    numbers = [0]

    def count():
        operator.iadd(numbers, [0])
        return len(numbers) - 1

    return count


def by_a_frozen_pair():
    pair = (Slots(), 1)
    pair[0].kept = 0

    def count():
        object.__setattr__(pair[0], "kept", pair[0].kept + 1)
        return pair[0].kept

    return count


def by_memory():
    numbers = bytearray(8)
    view = memoryview(numbers)

    def count():
        operator.setitem(view, 0, (view[0] + 1) % 256)
        return view[0]

    return count


PLAIN = [
    far_in_a_list,
    far_in_a_dict,
    in_an_array_of_objects,
    far_in_an_array_of_objects,
    deep_in_attributes,
    in_place,
    by_a_frozen_pair,
    by_memory,
]


def counted(make):
    """x², whose gradient is doubled after many calls."""

    def rule():
        count = make()
        gc.disable()  # as programs do that cannot wait for it; `conftest` switches it on again
        return custom(square, lambda x: (x * x, x), lambda x, g: ((4 if count() > LATE else 2) * x * g,))

    return rule


# --- questions asked by what an attribute holds ---

WORKERS = Holder(pool=concurrent.futures.ThreadPoolExecutor(1), asked=queue.Queue(), told=queue.SimpleQueue())
WORKERS.pool.submit(len, "").result()
BOX = [None, None, threading.Event(), threading.Event()]


def answer():
    while True:
        ask, x = WORKERS.asked.get()
        WORKERS.told.put(int(bool(ask(x))))


def answer_in_the_box():
    while True:
        BOX[2].wait()
        BOX[2].clear()
        ask, x = BOX[0]
        BOX[:2] = [None, int(bool(ask(x)))]
        BOX[3].set()


threading.Thread(target=answer, daemon=True).start()
threading.Thread(target=answer_in_the_box, daemon=True).start()


def by_an_attributes_worker(ask):
    return lambda x: int(bool(WORKERS.pool.submit(ask, x).result()))


def by_an_attributes_queue(ask):
    def asks(x):
        WORKERS.asked.put((ask, x))
        return WORKERS.told.get()

    return asks


def by_a_box(ask):
    def asks(x):
        operator.setitem(BOX, 0, (ask, x))
        BOX[2].set()
        BOX[3].wait()
        BOX[3].clear()
        found = BOX[1]
        operator.setitem(BOX, 1, None)
        return found

    return asks


def by_start_new(ask):
    import _thread

    def asks(x):
        found, done = [], threading.Lock()
        done.acquire()
        _thread.start_new(lambda: (found.append(int(bool(ask(x)))), done.release()), ())
        done.acquire()
        return found[0]

    return asks


WAYS = [by_an_attributes_worker, by_an_attributes_queue, by_a_box, by_start_new]
QUESTIONS = {"known": hidden, "typed": hidden_by_type}
ATTACKS = [
    *(
        Attack(
            f"weak_{name}_{place.__name__}", LATER, counted(partial(place, *TABLES[name])), square, "n -> n", ones(3)
        )
        for place in PLACES
        for name in TABLES
    ),
    *(Attack(f"state_{make.__name__}", LATER, counted(make), square, "n -> n", ones(3)) for make in PLAIN),
    *(
        Attack(f"{way.__name__}_{name}", ASKED, arithmetic(way(ask)), square, "n -> n", ones(SIZE))
        for way in WAYS
        for name, ask in QUESTIONS.items()
    ),
]
