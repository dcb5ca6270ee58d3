"""Which instructions of users' code run: at numbers and in calls none that no trace at sizes left open went through.

Values agree at the sizes that are tried, and code may ask for others: `is_constant_dim(n) and is_prime(n)`. But where
it asks, instructions run that the proved trace never met. So the paths through the code are compared, not what they
return: code that runs elsewhere and not in the trace is not what was proved.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import _lru_cache_wrapper, partial
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import jax
from jax._src import callback, compiler, monitoring

from certgrad.errors import CertgradError

from ..generality.guards import INSTALLED
from ..generality.reach import code_in, is_users_code
from ..tracing.jax_internals import UNWATCHED, unremembered
from ._at_numbers import Difference
from ._calls import outcome
from ._compared import Compared
from ._points import sized
from ._precision import Precision, Sizes
from ._state import held_by

Ran = dict[CodeType, set[int]]
"""For each code object, the offsets of its instructions that ran."""
WAY = "the way through the code"
OUT_OF_PROGRAMS = (callback.__file__, compiler.__file__, monitoring.__file__)
"""Where JAX calls what is no part of the program that it traces: callbacks, caches of what it compiled, listeners."""
OF_THREADS = ("_thread", "_queue")
"""Whose functions and objects are how threads start, wait and tell each other: locks above all."""
THROUGH = frozenset({"threading", "queue", "concurrent", "multiprocessing"})
"""What Python makes of them, for its callers."""
NARROW = ("int8", "uint8", "int16", "uint32")
"""Dtypes of integers in which rules are not traced. What they return there may be wrapped: values tell nothing."""
MOST = 2_000_000
"""So many instructions are watched in one trace, or in the calls at one place: about a second."""


def executed(subject: Compared, places: Sequence[Sizes], dtype: str, calls: bool) -> Difference | None:
    """Instructions that run in traces at numbers or in `calls`, at each of the places, and in no trace of the proof.

    What runs at each place runs at the first: all are looked at only where something is found there, after the caches
    that outlive a context of JAX are emptied too.
    """
    _forget(subject)  # a cache may have kept the trace from running what it ran before
    with unremembered():
        found = _beyond_traces(subject, places[:1], dtype, calls)
    if found is not None:
        jax.clear_caches()
        _forget(subject)
        found = _beyond_traces(subject, places, dtype, calls)
    if subject.in_threads:
        text = f"it has to do with other threads ({min(subject.in_threads)}): what those do is not watched"
        return Difference((), text, {})
    return found


def _beyond_traces(subject: Compared, places: Sequence[Sizes], dtype: str, calls: bool) -> Difference | None:
    same: list[bool] = []
    ran = _in(lambda: same.append(subject.anew(dtype)), subject)
    if same == [False]:
        return Difference((), "traced again after what it remembers was emptied, it is another program", {})
    if ran is None:
        return None
    if subject.names:
        at_numbers = [_in(partial(subject.at, place, dtype), subject) for place in places]
        if more := _beyond(ran, at_numbers):
            return _told(more, f"traced at {' and '.join(sized(subject.names, p) for p in places)}")
        for found in at_numbers:
            _add(ran, found)
    for integers in ("", *(NARROW if subject.integers else ())) if calls else ():
        in_calls = [_in(partial(_called, subject, place, dtype, integers), subject, ran) for place in places]
        if more := _beyond(ran, in_calls):
            return _told(more, f"called with integers of {integers}" if integers else "called")
    return None


def _called(subject: Compared, sizes: Sizes, dtype: str, integers: str = "") -> None:
    point = subject.point(sizes, 0)
    if point is None:
        return
    point = point.with_integers(integers) if integers else point
    precision = Precision(dtype)
    for name, function in subject.callables(sizes).items():
        with suppress(Exception):  # a rule may refuse a dtype, in its own way
            outcome(function, name, point.rounded(dtype), precision)


def _beyond(ran: Ran, others: Sequence[Ran | None]) -> tuple[CodeType, int] | None:
    """The first instruction that ran in each of the others and not in one."""
    known = [other for other in others if other is not None]
    if not known:
        return None
    for code, offsets in known[0].items():
        if more := set.intersection(offsets, *(o.get(code, set()) for o in known[1:])) - ran.get(code, set()):
            return code, min(more)
    return None


def _told(found: tuple[CodeType, int], how: str) -> Difference:
    code, offset = found
    lines = (line for start, end, line in code.co_lines() if start <= offset < end and line is not None)
    where = f"{Path(code.co_filename).name}:{next(lines, code.co_firstlineno)}"
    text = f"{how}, it runs code that no trace at sizes left open ran ({where}): the proof is not about that code"
    return Difference((), text, {})


def _in(block: Callable[[], object], subject: Compared, traced: Ran | None = None) -> Ran | None:
    """What ran in a block; none if it was refused, or ran for too long."""
    try:
        with watched(subject, traced) as seen:
            block()
    except CertgradError:
        return None
    return seen.whole


@dataclass
class Seen:
    """What ran, while instructions are left to be watched."""

    ran: Ran = field(default_factory=dict)
    left: int = 0

    @property
    def whole(self) -> Ran | None:
        """All that ran, if it was watched to the end."""
        return self.ran if self.left > 0 else None


@contextmanager
def watched(subject: Compared, traced: Ran | None = None) -> Iterator[Seen]:
    """The instructions of users' code that this thread runs. A debugger sees nothing of them.

    Other threads are not watched, unless they start here and are Python's own. So what the code does to start one, to
    wait for one or to tell it something is noted.

    In calls, `traced` is what ran in traces: of what JAX calls back, that alone is looked at.
    """
    seen = Seen(left=MOST)
    graph = subject.op.rules_of_nodes
    reached = {f.__code__ for f in subject.functions}
    own = {code for one in reached for code in code_in(one)}
    outer = sys._getframe(2)  # of the block that is watched
    watchers: dict[int, tuple[CodeType, Any, bool]] = {}
    """By identity, as a code object takes long to hash: what watches it, if it is looked at, and whether it may have
    to do with threads."""
    dull: dict[int, CodeType] = {}
    """Code of which neither is the case, which is nearly all that runs."""
    listening = False

    def listen(on: bool) -> None:
        """Only in code that may have to do with threads is heard what is called: JAX calls a thousand times as much."""
        nonlocal listening
        if on is not listening:
            listening = on
            sys.setprofile(called if on else None)

    def watcher(code: CodeType, names: Mapping[str, Any]) -> Any:
        if code.co_filename.startswith("<") and code not in reached:  # what Python's own code generates
            return None
        if not is_users_code(code, names) or (graph and INSTALLED in code.co_filename):
            return None
        add = seen.ran.setdefault(code, set()).add

        def local(frame: FrameType, event: str, _: Any) -> Any:
            if event == "opcode":
                listen(True)  # again, after what it called
                add(frame.f_lasti)
                seen.left -= 1
                if seen.left <= 0:
                    sys.settrace(None)
                    frame.f_trace_opcodes = False
                    return None
            return local

        return local

    def heard(frame: FrameType, event: str, _: Any) -> Any:
        listen(True)
        return heard

    def entered(frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if id(code) in dull:
            if listening:
                listen(False)
            return None
        if id(code) not in watchers:
            of_threads = code.co_filename in subject.files or _module(frame) in THROUGH or code is UNWATCHED
            watchers[id(code)] = code, watcher(code, frame.f_globals), of_threads
        _, local, of_threads = watchers[id(code)]
        if local is not None:
            through = _called_back(frame, outer)
            unseen = traced is not None and code not in traced if through == callback.__file__ else code not in own
            if through and unseen:
                local = None
        if local is None and not of_threads:
            if watchers[id(code)][1] is None:
                dull[id(code)] = code
            listen(False)
            return None
        listen(of_threads)
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return local or heard

    def elsewhere(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if code.co_filename in subject.files and watcher(code, frame.f_globals) is not None:
            subject.in_threads.add(f"{Path(code.co_filename).name}:{frame.f_lineno}")

    def called(frame: FrameType | None, event: str, what: Any) -> None:
        if event != "c_call" or _owner(what) not in OF_THREADS:
            return
        while frame is not None and _module(frame) in THROUGH:
            frame = frame.f_back
        if frame is not None and frame.f_code.co_filename in subject.files:
            subject.in_threads.add(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}")

    before, of_threads, of_calls = sys.gettrace(), threading.gettrace(), sys.getprofile()
    sys.setprofile(None)
    sys.settrace(entered)
    threading.settrace(elsewhere)  # of those that start from now on
    try:
        yield seen
    finally:
        _profiled_again(of_calls)
        sys.settrace(before)
        threading.settrace(of_threads)
        if seen.left <= 0:
            subject.unseen[f"{WAY} (more than {MOST:,} instructions)"] = None


def _profiled_again(before: Any) -> None:
    """By what profiled before: a function, none, or a profiler of C, which is no function."""
    if before is None or callable(before):
        sys.setprofile(before)
    else:
        before.enable()


def _owner(builtin: Any) -> str:
    """The module whose function a builtin one is, or whose object's method."""
    owner = getattr(builtin, "__self__", None)
    return str(owner.__name__ if isinstance(owner, ModuleType) else type(owner).__module__)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]


def _called_back(frame: FrameType, outer: FrameType) -> str:
    """The file of JAX that runs it as a call out of the program, or beside it; or an empty text.

    A callback that runs where the program does is some function of its operands to a proof. One that runs while a trace
    is made is a part of what makes it, and so is what the rule itself has listeners for.
    """
    above = frame.f_back
    while above is not None and above is not outer:
        if above.f_code.co_filename in OUT_OF_PROGRAMS:
            return above.f_code.co_filename
        above = above.f_back
    return ""


def _add(ran: Ran, more: Ran | None) -> None:
    for code, offsets in (more or {}).items():
        ran[code] = ran.get(code, set()) | offsets


def _forget(subject: Compared) -> None:
    """Empty the caches of the code itself, which keep functions from being run again."""
    for value in held_by(subject.roots):
        if isinstance(value, _lru_cache_wrapper):
            value.cache_clear()
