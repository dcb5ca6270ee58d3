"""Python calls of audits and of a certification: what costs more is seen to a few per cent, whatever else the machine
does.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import jax

from benchmarks.bench import of_layers
from benchmarks.bench._figure import CALLS, Figure
from benchmarks.bench._subjects import LibraryOp, Rule, in_module, in_modules, warm_up
from certgrad import certify, trace
from certgrad.ops import registry
from examples.models.transformers import gpt2_in_full


def figures(short: bool) -> Iterator[Figure]:
    """Calls of Python functions, in thousands, beside those of the peer."""
    warm_up()
    ordinary = [*in_modules("examples.ordinary")]
    yield _audits("ordinary user rules", [*in_module(of_layers), *ordinary[:: 18 if short else 3]])
    yield _audits("the library", [LibraryOp(op.name, op) for op in registry][:: 96 if short else 12])
    fn, args = gpt2_in_full()
    jax.make_jaxpr(fn)(*args)
    graph = trace(fn, *args)
    certifying = _calls(lambda: certify(graph))
    jax.clear_caches()
    tracing = _calls(lambda: jax.make_jaxpr(fn)(*args))
    yield Figure("calls to certify GPT-2, 12 layers, cold", certifying, CALLS, tracing, "jax.make_jaxpr")


def _audits(what: str, subjects: Sequence[Rule | LibraryOp]) -> Figure:
    with jax.enable_x64(True):
        theirs = sum(_calls(subject.check_grads) for subject in subjects)
    ours = sum(_calls(subject.audit) for subject in subjects)
    return Figure(f"calls to audit {what}", ours, CALLS, theirs, "check_grads", note=f"{len(subjects)} of them")


def _calls(run: Callable[[], Any]) -> float:
    """Thousands of calls of Python functions until it returns, or fails as `check_grads` may."""
    count = 0

    def called(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    gc.collect()
    gc.disable()  # when garbage is collected, code of its own is called
    sys.setprofile(called)
    try:
        with suppress(AssertionError, AttributeError, TypeError):
            run()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count / 1000
