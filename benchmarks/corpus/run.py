"""Running entries in several processes; what is done is kept as it comes, so that a run goes on where it was."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue

import msgspec

from benchmarks.corpus.entries import ROOT, Entry, Record
from benchmarks.corpus.worker import Worker

LIMIT = 180.0
"""Seconds of processor time for one entry."""
SAMPLE = 720.0
"""Recorded seconds of the sample's entries: on two processors it takes at most ten minutes with the imports."""
LONG, UNKNOWN = 40.0, 10.0
"""Entries that took longer are in no sample; what is assumed of those without a record."""


class Results:
    """The folder of a run: a file an entry, written at once or not at all.

    Its name says which code was asked, and how, so that what is found there was found by this code.
    """

    def __init__(self, folder: Path, root: Path = ROOT) -> None:
        self.root = root
        own = Path(__file__).with_name("subjects.py")
        self.folder = folder / _digest([*sorted((root / "certgrad").rglob("*.py")), own])

    def get(self, entry: Entry) -> Record | None:
        path = self._path(entry)
        return msgspec.json.decode(path.read_bytes(), type=Record) if path.exists() else None

    def put(self, entry: Entry, record: Record) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(entry)
        half = path.with_suffix(f".{os.getpid()}")
        half.write_bytes(msgspec.json.encode(record))
        half.replace(path)

    def _path(self, entry: Entry) -> Path:
        """By the row, and the file in which its rule stands."""
        name = entry.where.partition(":")[0]
        file = ROOT / name if name.endswith(".py") else self.root / f"{name.replace('.', '/')}.py"
        code = file.read_bytes() if file.exists() else b""
        return self.folder / f"{hashlib.sha256(msgspec.json.encode(entry) + code).hexdigest()[:24]}.json"


def _digest(paths: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for path in paths:
        found.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def can_run(entry: Entry) -> bool:
    """Whether it is run here at all."""
    if entry.stands:
        return False
    try:
        return not entry.needs or find_spec(entry.needs) is not None
    except ModuleNotFoundError:
        return False


def sample(entries: Iterable[Entry], recorded: Mapping[str, Record]) -> list[Entry]:
    """The same entries each time: in the order of the digests of their ids, as many as fit into the time."""
    left, out = SAMPLE, []
    for entry in sorted(entries, key=lambda entry: hashlib.sha256(entry.id.encode()).digest()):
        seconds = recorded[entry.id].seconds if entry.id in recorded else UNKNOWN
        if seconds <= LONG and seconds <= left:
            left -= seconds
            out.append(entry)
    return out


def run(
    entries: Sequence[Entry],
    results: Results,
    jobs: int = 2,
    limit: float = LIMIT,
    tell: Callable[[Entry, Record], None] = lambda entry, record: None,
    worker: Callable[[Path], Worker] = Worker,
    dask: str = "",
) -> dict[str, Record]:
    """The records of all entries; those whose results are there already are not run again.

    Args:
        jobs: so many processes.
        limit: seconds of processor time for an entry; after that it is `out of time`.
        tell: called with each result as it comes, those of earlier runs left out.
        worker: makes a process that audits, for a checkout.
        dask: `local`, or the address of a scheduler whose workers have this checkout on their path.
    """
    found = {entry.id: known for entry in entries if (known := results.get(entry)) is not None}
    waiting = [entry for entry in entries if entry.id not in found]
    ask = partial(_asked, worker=worker, root=results.root, limit=limit)
    come = _on_dask(waiting, ask, dask, jobs) if dask else _in_processes(waiting, worker, results.root, limit, jobs)
    for entry, record in come:
        results.put(entry, record)
        found[entry.id] = record
        tell(entry, record)
    return {entry.id: found[entry.id] for entry in entries}


def _on_dask(
    entries: Sequence[Entry], ask: Callable[[Entry], Record], address: str, jobs: int
) -> Iterator[tuple[Entry, Record]]:
    from certgrad.cli import _dask

    return zip(entries, _dask.results(ask, entries, address, jobs), strict=True)


_OF_THIS_PROCESS: dict[Path, Worker] = {}
"""In a worker of dask: the process that audits for it, which an entry may end, and dask's does not."""


def _asked(entry: Entry, worker: Callable[[Path], Worker], root: Path, limit: float) -> Record:
    if root not in _OF_THIS_PROCESS:
        _OF_THIS_PROCESS[root] = worker(root)
    return _OF_THIS_PROCESS[root].ask(entry, limit)


def _in_processes(
    entries: Sequence[Entry], worker: Callable[[Path], Worker], root: Path, limit: float, jobs: int
) -> Iterator[tuple[Entry, Record]]:
    """The results as they come. Where the iteration is given up, the processes end."""
    waiting, said = deque(entries), SimpleQueue[tuple[Entry, Record] | BaseException | None]()
    workers = [worker(root) for _ in range(jobs)]

    def work(process: Worker) -> None:
        try:
            while waiting:
                try:
                    entry = waiting.popleft()
                except IndexError:  # another thread took the last one
                    break
                said.put((entry, process.ask(entry, limit)))
        except BaseException as error:
            said.put(error)
        finally:
            process.close()
            said.put(None)

    threads = [threading.Thread(target=work, args=(process,)) for process in workers]
    for thread in threads:
        thread.start()
    try:
        left = len(threads)
        while left:
            one = said.get()
            if isinstance(one, BaseException):
                raise one
            if one is None:
                left -= 1
            else:
                yield one
    finally:
        waiting.clear()
        for process in workers:
            process.end()
        for thread in threads:
            thread.join()
