"""Loaded by each worker that `--dask local` makes: Ctrl-C is for the command, which ends its workers itself."""

import signal


def dask_setup(worker: object) -> None:
    """Called by dask when the worker starts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
