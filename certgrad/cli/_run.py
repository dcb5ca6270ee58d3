"""Auditing many ops, in this process or in several; results always come in the order asked for."""

import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context

from certgrad.cli import _library
from certgrad.cli._errors import InternalError, describe
from certgrad.errors import CertgradError
from certgrad.report import json
from certgrad.report.audited import Audited


@dataclass(frozen=True)
class _Outcome:
    """What a worker sends back: an encoded certificate, or what went wrong."""

    op: str
    certificate: bytes = b""
    seconds: float = 0.0
    problem: CertgradError | None = None
    defect: str = ""
    details: str = ""


def run(ops: Sequence[str], jobs: int = 1) -> Iterator[Audited]:
    """Audit the ops in order. Raises CertgradError for bad input, and InternalError with the op's name for a defect."""
    if jobs == 1 or len(ops) == 1:
        yield from map(_open, map(_audit, ops))
        return
    with ProcessPoolExecutor(min(jobs, len(ops)), mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(_audit, op) for op in ops]
        try:
            for op, future in zip(ops, futures, strict=True):
                try:
                    yield _open(future.result())
                except BrokenProcessPool as error:
                    raise InternalError(f"auditing '{op}' (or an op beside it)", describe(error), str(error)) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _audit(op: str) -> _Outcome:
    started = time.perf_counter()
    try:
        certificate = json.encode(_library.audit_op(op))
    except CertgradError as error:
        return _Outcome(op, problem=error)
    except Exception as error:
        return _Outcome(op, defect=describe(error), details=traceback.format_exc())
    return _Outcome(op, certificate, time.perf_counter() - started)


def _open(outcome: _Outcome) -> Audited:
    if outcome.problem is not None:
        raise outcome.problem
    if outcome.defect:
        raise InternalError(f"auditing '{outcome.op}'", outcome.defect, outcome.details)
    return Audited(json.decode(outcome.certificate), outcome.seconds)
