"""The audit of many ops, in this process or in several. Results come in the order of the ops."""

import functools
import gc
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from certgrad.cli import _coq, _dask, _library, _options
from certgrad.cli._errors import InternalError, describe
from certgrad.errors import CertgradError
from certgrad.process.processors import available
from certgrad.process.threads import without_collection
from certgrad.report.audited import RuleResult

if TYPE_CHECKING:
    from certgrad.obligations.certificate import Certificate

Prover = Callable[[str, Path | None], "Certificate"]


def run(
    ops: Sequence[str],
    jobs: int | None = None,
    cache: Path | None = None,
    prove: Prover | None = None,
    exhibits: bool = False,
    dask: str = "",
    last_first: bool = False,
    graphs: bool = False,
) -> Iterator[RuleResult]:
    """Yield the result of each op, in order.

    Args:
        ops: the names of the ops.
        jobs: the number of processes; None: as many as `_options.processes` says.
        cache: the folder of the cache; None for none. A cluster elsewhere does not use it.
        prove: returns the certificate for a name; None: that of an op of the library.
        exhibits: also make what a page shows of an op of the library.
        dask: the address of a cluster, or `local` for processes that dask starts here; "" for none.
        last_first: start with the last ops if there are several processes, as they take longest.
        graphs: also make the certified graphs of composed ops.

    Raises CertgradError for bad input, and InternalError with the op's name for a defect.
    """
    problem = ""
    cache = cache if dask in ("", _dask.LOCAL) else None
    for result in _results(ops, jobs, cache, prove or _library.audit_op, exhibits, dask, last_first, graphs):
        problem = problem or result.cache_problem
        assert result.certificate is not None
        yield msgspec.structs.replace(result, coq=_coq.level(result.certificate))
    if cache is not None:
        _library.tidy_cache(cache, problem)


def _results(
    ops: Sequence[str],
    jobs: int | None,
    cache: Path | None,
    prove: Prover,
    exhibits: bool,
    dask: str,
    last_first: bool,
    graphs: bool,
) -> Iterator[RuleResult]:
    """Yield the result of each op, in order, from a cluster, from this process, or from several.

    The arguments are those of `run`.
    """
    task = functools.partial(_audit, cache=cache, prove=prove, exhibits=exhibits, graphs=graphs)
    if dask:
        yield from _on_cluster(ops, jobs, task, dask)
        return
    count = _options.processes(jobs, len(ops))
    if count == 1:
        with without_collection():
            yield from map(task, ops)
            gc.freeze()  # the process is about to end: its objects need no scanning
        return
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        begun = {op: pool.submit(task, op) for op in (reversed(ops) if last_first else ops)}
        try:
            for op, future in ((op, begun[op]) for op in ops):
                try:
                    yield future.result()
                except BrokenProcessPool as error:
                    raise InternalError(f"auditing '{op}' (or an op beside it)", describe(error), str(error)) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _on_cluster(
    ops: Sequence[str], jobs: int | None, task: Callable[[str], RuleResult], dask: str
) -> Iterator[RuleResult]:
    """Yield the result of each op, in order, from a cluster. Raises InternalError for an op that workers die of."""
    done = 0
    try:
        for result in _dask.results(task, ops, dask, jobs or min(available(), max(1, len(ops)))):
            done += 1
            yield result
    except _dask.LostError as error:
        raise InternalError(f"auditing '{ops[done]}'", str(error), str(error)) from None


MAX_GARBAGE = 400_000
"""The number of objects, some tens of megabytes, after which garbage is collected between ops."""


def _audit(op: str, cache: Path | None, prove: Prover, exhibits: bool, graphs: bool) -> RuleResult:
    """Return the result of one op in this process.

    Raises CertgradError for bad input, and InternalError for any other exception.
    """
    if gc.get_count()[0] > MAX_GARBAGE:
        gc.collect(0)  # the youngest generation alone: older objects survived a collection
    started = time.perf_counter()
    try:
        certificate = prove(op, cache)
        seconds = time.perf_counter() - started
        exhibit = _library.exhibit(op, certificate) if exhibits else b""
        of_graphs = _library.graphs(op) if graphs else []
    except CertgradError:
        raise
    except Exception as error:
        raise InternalError(f"auditing '{op}'", describe(error), traceback.format_exc()) from None
    problem = _library.cache_problem(cache)
    return RuleResult(
        name=op,
        certificate=certificate,
        seconds=seconds,
        cache_problem=problem,
        exhibit=exhibit,
        graphs=of_graphs,
    )
