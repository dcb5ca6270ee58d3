"""How many processors there are to work on."""

import os


def available() -> int:
    """The processors that this process may use, which is not told on every system; else all there are."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
