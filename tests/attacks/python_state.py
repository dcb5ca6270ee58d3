"""A5: Python with a state. Each way to count calls makes a rule that is wrong from the second call on, and one that is
right at the first 150 calls: no number of traces shows it."""

from __future__ import annotations

import array
import collections
import contextvars
import ctypes
import functools
import io
import itertools
import operator
import os
import queue
import sys
import tempfile
import threading
import types
import uuid
import weakref

import jax
import numpy as np

from .attack import Attack
from .example import custom
from .makers import ones, square

LATE = 150


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

    def count():
        for n, _ in calls:
            return n

    return count


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


def attribute_of_function():
    def count():
        count.calls += 1
        return count.calls

    count.calls = 0
    return count


def by_setattr():
    box = types.SimpleNamespace(calls=0)

    def count():
        setattr(box, "calls", box.calls + 1)  # noqa: B010
        return box.calls

    return count


def object_dict():
    class Box:
        calls = 0

    box = Box()

    def count():
        box.__dict__["calls"] = box.calls + 1
        return box.calls

    return count


def update_vars():
    box = types.SimpleNamespace(calls=0)

    def count():
        vars(box).update(calls=box.calls + 1)
        return box.calls

    return count


def a_property():
    class Box:
        calls = 0

        @property
        def count(self):
            type(self).calls += 1
            return self.calls

    box = Box()
    return lambda: box.count


def a_descriptor():
    class Count:
        calls = 0

        def __get__(self, instance, owner):
            self.calls += 1
            return self.calls

    class Options:
        calls = Count()

    return lambda: Options.calls


def on_getattr():
    class Options:
        def __getattr__(self, name):
            return len(self.__dict__.setdefault("seen", [])) + (self.__dict__["seen"].append(1) or 0)

    options = Options()
    return lambda: options.missing


def an_operator():
    class Number:
        calls = 0

        def __neg__(self):
            Number.calls += 1
            return Number.calls

    number = Number()
    return lambda: -number


def a_comparison():
    class Number:
        calls = 0

        def __lt__(self, other):
            self.calls += 1
            return self.calls < other

    number = Number()
    return lambda: 0 if number < LATE else LATE


def a_length():
    class Sized:
        calls = 0

        def __len__(self):
            self.calls += 1
            return self.calls

    sized = Sized()
    return lambda: len(sized)


def a_format():
    class Shown:
        calls = 0

        def __str__(self):
            self.calls += 1
            return str(self.calls)

    shown = Shown()
    return lambda: int(f"{shown}")


def a_hash():
    class Key:
        calls = 0

        def __hash__(self):
            self.calls += 1
            return self.calls

    key = Key()
    return lambda: hash(key)


def a_context_manager():
    class Scope:
        calls = 0

        def __enter__(self):
            self.calls += 1
            return self.calls

        def __exit__(self, *_):
            return False

    scope = Scope()

    def count():
        with scope as n:
            return n

    return count


def a_callable():
    class Count:
        def __init__(self):
            self.calls = 0

        def __call__(self):
            self.calls += 1
            return self.calls

    return Count()


def a_metaclass():
    class Meta(type):
        made = 0

        def __call__(cls):
            Meta.made += 1
            return Meta.made

    class Thing(metaclass=Meta):
        pass

    return lambda: Thing()


def subclasses():
    class Base:
        pass

    kept = []

    def count():
        kept.append(type("Child", (Base,), {}))
        return len(Base.__subclasses__())

    return count


def default_argument():
    def count(calls=[0]):  # noqa: B006
        calls[0] += 1
        return calls[0]

    return count


def dunder_defaults():
    def count(n=0):
        count.__defaults__ = (n + 1,)
        return n

    return count


def numpy_add_at():
    calls = np.zeros(1, int)

    def count():
        np.add.at(calls, 0, 1)
        return int(calls[0])

    return count


def numpy_out():
    calls = np.zeros((), int)

    def count():
        np.add(calls, 1, out=calls)
        return int(calls)

    return count


def numpy_fill():
    calls = np.zeros(1, int)

    def count():
        calls.fill(calls[0] + 1)
        return int(calls[0])

    return count


def numpy_put():
    calls = np.zeros(1, int)

    def count():
        np.put(calls, 0, calls[0] + 1)
        return int(calls[0])

    return count


def numpy_random():
    state = np.random.RandomState(0)

    def count():
        state.rand()
        return state.get_state()[2] // 2

    return count


def a_buffer():
    calls = bytearray(8)
    view = memoryview(calls).cast("q")

    def count():
        view[0] = view[0] + 1
        return view[0]

    return count


def an_array():
    calls = array.array("q", [0])

    def count():
        calls.append(0)
        return len(calls)

    return count


def a_c_number():
    calls = ctypes.c_long(0)

    def count():
        calls.value += 1
        return calls.value

    return count


def environment():
    name = f"CALLS_{uuid.uuid4().hex}"

    def count():
        os.environ[name] = str(int(os.environ.get(name, "0")) + 1)
        return int(os.environ[name])

    return count


def a_file():
    path = os.path.join(tempfile.mkdtemp(), "calls")

    def count():
        with open(path, "a") as file:
            file.write("x")
        return os.path.getsize(path)

    return count


def a_temporary_file():
    file = tempfile.TemporaryFile()
    return lambda: file.write(b"x") and file.tell()


def a_text_buffer():
    buffer = io.StringIO()

    def count():
        buffer.write("x")
        return buffer.tell()

    return count


def print_to():
    buffer = io.StringIO()

    def count():
        print(end="x", file=buffer)
        return len(buffer.getvalue())

    return count


def a_context_variable():
    calls = contextvars.ContextVar("calls", default=0)

    def count():
        calls.set(calls.get() + 1)
        return calls.get()

    return count


def thread_local():
    here = threading.local()

    def count():
        here.calls = getattr(here, "calls", 0) + 1
        return here.calls

    return count


def a_semaphore():
    left = threading.Semaphore(LATE)
    return lambda: 0 if left.acquire(blocking=False) else LATE


def an_event():
    done, calls = threading.Event(), itertools.count()

    def count():
        if done.is_set():
            return LATE
        if next(calls) >= LATE:
            done.set()
        return 0

    return count


def lru_cache():
    @functools.lru_cache(maxsize=1)
    def seen(n):
        return None

    def count():
        seen(0)
        return seen.cache_info().hits

    return count


def cached_property():
    class Box:
        made = 0

        @functools.cached_property
        def first(self):
            Box.made += 1
            return Box.made

    return lambda: Box().first


def weak_set():
    class Thing:
        pass

    known, kept = weakref.WeakSet(), []

    def count():
        kept.append(Thing())
        known.add(kept[-1])
        return len(known)

    return count


def sys_modules():
    name = f"options_{uuid.uuid4().hex}"

    def count():
        module = sys.modules.setdefault(name, types.ModuleType(name))
        module.calls = getattr(module, "calls", 0) + 1
        return module.calls

    return count


def by_globals():
    name = f"calls_{uuid.uuid4().hex}"

    def count():
        globals()[name] = globals().get(name, 0) + 1
        return globals()[name]

    return count


def by_exec():
    space = {"calls": 0}

    def count():
        exec("calls += 1", space)
        return space["calls"]

    return count


def by_eval():
    return functools.partial(eval, "next(calls)", {"calls": itertools.count()})


def compiled_elsewhere():
    space: dict = {}
    exec("import itertools\ncalls = itertools.count()\ndef count():\n    return next(calls)", space)
    return space["count"]


def jax_configuration():
    calls = itertools.count()
    jax.config.update("jax_log_compiles", False)

    def count():
        if jax.config.jax_log_compiles:
            jax.config.update("jax_log_compiles", False)
            return LATE
        if next(calls) >= LATE:
            jax.config.update("jax_log_compiles", True)
        return 0

    return count


def nonlocal_number():
    calls = 0

    def count():
        nonlocal calls
        calls += 1
        return calls

    return count


def wrapped():
    def counted(f):
        calls = itertools.count()

        @functools.wraps(f)
        def inner():
            return next(calls)

        return inner

    return counted(lambda: 0)


def reduced():
    calls = itertools.count()
    return lambda: functools.reduce(lambda a, b: a + next(calls), [0, 0])


def sorted_by():
    calls = itertools.count()
    return lambda: max([0], key=lambda _: next(calls)) + next(calls) // 2


def in_fwd(counter, late):
    """The forward rule keeps twice its residual, late."""

    def make():
        count = counter()
        return custom(
            square, lambda x: (x * x, x if count() < late else 2 * x), lambda x, g: (2 * x * g,)
        )

    return make


def in_bwd(counter, late):
    """The backward rule takes another factor, late."""

    def make():
        count = counter()
        return custom(square, lambda x: (x * x, x), lambda x, g: ((2 if count() < late else 3) * x * g,))

    return make


def second_time():
    """What people write: a running scale that the backward rule divides by."""
    scale = {"value": 1.0}

    def bwd(x, g):
        out = 2 * x * g * scale["value"]
        scale.update(value=scale["value"] * 0.5)
        return (out,)

    return custom(square, lambda x: (x * x, x), bwd)


def stale_residual():
    """The forward rule remembers the last shape, and keeps another residual where it is the same again."""
    kept = {}

    def fwd(x):
        again = kept.get("shape") == x.shape
        kept["shape"] = x.shape
        return x * x, (2 * x if again else x)

    return custom(square, fwd, lambda x, g: (2 * x * g,))


def every_other_call():
    factors = itertools.cycle([2, 2, 2, 4])
    return custom(square, lambda x: (x * x, x), lambda x, g: (next(factors) * x * g,))


def by_callback():
    calls = itertools.count()

    def host(x):
        return np.asarray((2 if next(calls) < LATE else 3) * np.asarray(x), dtype=np.asarray(x).dtype)

    def bwd(x, g):
        return (jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x) * g,)

    return custom(square, lambda x: (x * x, x), bwd)


def layer_that_warms_up():
    """What people write: an object that counts its steps and scales the gradient down later."""

    class Layer:
        def __init__(self):
            self.step = 0
            self.rule = custom(square, lambda x: (x * x, x), self.bwd)

        def bwd(self, x, g):
            self.step += 1
            return (2 * x * g * (1.0 if self.step < LATE else 0.5),)

    return Layer().rule


COUNTERS = [
    value
    for name, value in list(globals().items())
    if getattr(value, "__module__", "") == __name__ and value.__code__.co_argcount == 0 and name != "second_time"
]
WHOLE = [second_time, stale_residual, every_other_call, by_callback, layer_that_warms_up]
COUNTERS = [c for c in COUNTERS if c not in WHOLE]

ATTACKS = [
    *(Attack(f"late_{c.__name__}_in_bwd", "A5 late state", in_bwd(c, LATE), square, "n -> n", ones(3)) for c in COUNTERS),
    *(
        Attack(f"late_{c.__name__}_in_fwd", "A5 late state", in_fwd(c, LATE), square, "n -> n", ones(3))
        for c in COUNTERS[::6]
    ),
    *(Attack(f"soon_{c.__name__}", "A5 state", in_bwd(c, 2), square, "n -> n", ones(3)) for c in (generator, a_queue, lru_cache)),
    *(Attack(c.__name__, "A5 late state", c, square, "n -> n", ones(3)) for c in WHOLE),
]
