"""Loaded by each worker that `--dask local` makes: Ctrl-C is for the command, which ends its workers itself."""

import signal


def dask_setup(worker: object) -> None:
    """Ignore interrupts in a worker; dask calls this when it starts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
