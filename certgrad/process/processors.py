"""The number of processors that may be used."""

import os


def available() -> int:
    """Return the number of processors that this process may use; where the system does not say, of all processors."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
