"""Models of libraries, traced and certified, as far as their packages are installed."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import jax

from benchmarks.bench._clock import seconds
from benchmarks.bench._figure import Figure, not_installed
from certgrad import certify, trace

MEDIAN, SLOWEST = 1.0, 5.0
NAMES = ("models of libraries, the median", "models of libraries, the slowest")


def figures(short: bool) -> Iterator[Figure]:
    """Seconds of the models, each once, in one process that keeps its lemmas from model to model."""
    try:
        import benchmarks.library_models.flax_models
        import benchmarks.library_models.other_models  # noqa: F401
        from benchmarks.library_models._model import MODELS
    except ImportError as error:
        yield from (not_installed(name, str(error.name), "s") for name in NAMES)
        return
    models = [*MODELS.values()]
    ours, theirs = {}, {}
    for model in models[::12] if short else models:
        fn, args = model.make()
        theirs[model.name] = seconds(lambda fn=fn, args=args: jax.make_jaxpr(fn)(*args))[0]
        ours[model.name] = seconds(lambda fn=fn, args=args: certify(trace(fn, *args)))[0]
    peer = median(theirs.values())
    slowest = max(ours, key=lambda name: ours[name])
    yield Figure(NAMES[0], median(ours.values()), "s", peer, "jax.make_jaxpr", MEDIAN, f"{len(ours)} models")
    yield Figure(NAMES[1], ours[slowest], "s", theirs[slowest], "jax.make_jaxpr", SLOWEST, slowest)
