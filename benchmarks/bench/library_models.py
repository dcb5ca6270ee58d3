"""Models of libraries, traced and certified, as far as their packages are installed."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from statistics import median

import jax

from benchmarks.bench._clock import repeated, seconds
from benchmarks.bench._figure import Figure, not_installed
from benchmarks.library_models._model import MODELS
from certgrad import certify, trace

MODULES = ("benchmarks.library_models.flax_models", "benchmarks.library_models.other_models")
MEDIAN, SLOWEST = 1.0, 5.0
NAMES = ("models of libraries, the median", "models of libraries, the slowest")


def figures(short: bool) -> Iterator[Figure]:
    """Seconds of the models, each once, in one process that keeps its lemmas from model to model."""
    absent = []
    for module in MODULES:
        try:
            importlib.import_module(module)
        except ImportError as error:
            absent.append(str(error.name))
    if not MODELS:
        yield from (not_installed(name, " and ".join(absent), "s") for name in NAMES)
        return
    ours, theirs = {}, {}
    models = [*MODELS.values()]
    for model in models[::12] if short else models:
        fn, args = model.make()
        theirs[model.name] = repeated(lambda fn=fn, args=args: (jax.clear_caches(), jax.make_jaxpr(fn)(*args)))
        ours[model.name] = seconds(lambda fn=fn, args=args: certify(trace(fn, *args)))[0]
    note = f"{len(ours)} models" + (f", without those that need {' and '.join(absent)}" if absent else "")
    peer = median(theirs.values())
    slowest = max(ours, key=lambda name: ours[name])
    yield Figure(NAMES[0], median(ours.values()), "s", peer, "jax.make_jaxpr", MEDIAN, note)
    yield Figure(NAMES[1], ours[slowest], "s", theirs[slowest], "jax.make_jaxpr", SLOWEST, slowest)
