"""Tasks on a dask cluster, which is started here or runs elsewhere.

Dask restarts a worker that dies, and gives its tasks to others.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

from certgrad.errors import UsageError

if TYPE_CHECKING:
    from distributed import Client

Task = TypeVar("Task")
Result = TypeVar("Result")
LOCAL = "local"
SECONDS = 10
"""The seconds to wait for a scheduler, and for its first worker."""


class LostError(Exception):
    """Every worker that ran a task died."""


def results(
    function: Callable[[Task], Result], tasks: Sequence[Task], address: str, processes: int
) -> Iterator[Result]:
    """Yield the function's result for each task, in order.

    `address` is that of a scheduler, or `local` for a cluster of `processes` processes on this machine. Raises
    UsageError if dask is not installed, no scheduler answers, it has no workers, or a worker has another version of
    certgrad or of a library that certificates name. Raises LostError for a task that every worker dies of.
    """
    with _client(address, processes) as client:
        _check(client)
        futures = client.map(function, tasks, pure=False)
        try:
            for future in futures:
                try:
                    yield future.result()
                except Exception as error:
                    if type(error).__name__ == "KilledWorker":
                        raise LostError(f"no worker survives it: {error}") from None
                    raise
        finally:
            client.cancel(futures, force=True)


@contextmanager
def _client(address: str, processes: int) -> "Iterator[Client]":
    """Yield a client of the scheduler at an address, or of a cluster of this machine's processes (`LOCAL`).

    Raises UsageError where dask is not installed, no scheduler answers or it has no workers.
    """
    if find_spec("distributed") is None:
        raise UsageError("dask is not installed, which --dask hands the work to: pip install 'certgrad[dask]'.")
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # dask's own messages only repeat those below
    if address == LOCAL:
        with (
            LocalCluster(
                n_workers=processes,
                threads_per_worker=1,
                processes=True,
                memory_limit=0,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
                preload=["certgrad.cli._dask_worker"],
            ) as cluster,
            Client(cluster) as client,
        ):
            yield client
        return
    try:
        client = Client(address, timeout=SECONDS)
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(
            f"--dask {address}: no scheduler answers there ({error or type(error).__name__}). Name the address that "
            "`dask scheduler` prints, such as tcp://10.0.0.1:8786, or 'local'."
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=SECONDS)
        except TimeoutError:
            raise UsageError(
                f"--dask {address}: the scheduler has no workers. Start some: dask worker {address} --nthreads 1."
            ) from None
        yield client


def _check(client: "Client") -> None:
    """Raise UsageError if a worker has other versions than this process."""
    probe = _probe()
    own_versions, worker_versions = probe(), client.run(probe)
    for worker, versions in sorted(worker_versions.items()):
        for name, here in own_versions.items():
            there = versions.get(name, "none")
            if there != here:
                raise UsageError(
                    f"--dask: the worker {worker} has {name} {there}, and this process has {here}: its certificates "
                    "would be others. Install the same there, or retire that worker."
                )


def _probe() -> Callable[[], dict[str, str]]:
    """Return a function that returns the versions of the process in which it runs.

    It is sent by value, as a worker may have no certgrad to import it from.
    """

    def versions() -> dict[str, str]:
        """Return the versions of the libraries of this process, and of certgrad with a digest of its files."""
        # The imports are in here, as the function is sent without its module.
        import hashlib
        import importlib.metadata
        import importlib.util
        import pathlib
        import platform

        found_versions = {"Python": ".".join(platform.python_version_tuple()[:2])}
        for name in ("jax", "jaxlib", "numpy", "sympy", "islpy", "python-flint"):
            try:
                found_versions[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                found_versions[name] = "none"
        spec = importlib.util.find_spec("certgrad")
        if spec is not None and spec.origin:
            folder = pathlib.Path(spec.origin).parent
            digest = hashlib.sha256()
            for file in sorted(folder.rglob("*.py")):
                digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes())
            version = importlib.util.module_from_spec(spec)
            assert spec.loader is not None
            spec.loader.exec_module(version)
            found_versions["certgrad"] = f"{version.__version__} of code {digest.hexdigest()[:12]}"
        return found_versions

    return versions
