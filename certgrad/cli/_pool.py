"""Tasks in several processes, their results in order."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def results(function: Callable[[Task], Result], tasks: Sequence[Task], count: int, parts: int = 4) -> Iterator[Result]:
    """Yield the function's result for each task, in order, from `count` processes; with 1, from this process.

    The tasks are sent in chunks, about `parts` for each process.
    """
    if count == 1:
        yield from map(function, tasks)
        return
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        try:
            yield from pool.map(function, tasks, chunksize=max(1, len(tasks) // (parts * count)))
        except BaseException:  # also if the caller stops early: running tasks are not waited for
            pool.shutdown(wait=False, cancel_futures=True)
            raise
