"""Ways to count calls: numpy's arrays, buffers, files, caches, and what lies outside of the function."""

from __future__ import annotations

import array
import contextvars
import ctypes
import functools
import io
import itertools
import os
import sys
import tempfile
import threading
import types
import uuid
import weakref

import jax
import numpy as np

from .makers import LATE


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
    file = tempfile.TemporaryFile()  # noqa: SIM115
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
