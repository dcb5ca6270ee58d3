"""The audit of right rules beside `check_grads`: users' rules and the library's."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress

import jax
from jax.test_util import check_grads

from benchmarks.bench._clock import seconds
from benchmarks.bench._declared import Timed, in_modules, of_reports, timed, warm_up
from benchmarks.bench._figure import Figure, ratio
from certgrad import audit
from certgrad.obligations.certificate import PROOFS
from certgrad.ops import Op, registry
from tests.ops.sampling import draw

ORDINARY, LIBRARY = 1.0, 0.35


def figures(short: bool) -> Iterator[Figure]:
    """Sums over all rules: of the audit, over those of `check_grads`."""
    yield _ordinary(short)
    yield _library(short)


def _ordinary(short: bool) -> Figure:
    rules = [*in_modules("examples.ordinary")]
    if short:
        rules = rules[::6]
    else:
        rules += of_reports("right")
    proved = [one for one in timed(rules) if one.report.verdict in PROOFS]
    assert proved, "no rule is proved"
    slowest = max(proved, key=lambda one: one.ratio)
    note = f"{len(proved)} rules, {len(rules) - len(proved)} of the list not proved; most: {_named(slowest)}"
    ours, theirs = sum(one.check for one in proved), sum(one.grads for one in proved)
    return ratio("ordinary user rules", ours, theirs, "check_grads", ORDINARY, note)


def _named(one: Timed) -> str:
    return f"{one.rule.name}, {one.ratio:.1f}"


def _library(short: bool) -> Figure:
    warm_up()
    ops = [registry.get(name) for name in registry.names()]
    ours = theirs = 0.0
    sample = ops[::24] if short else ops
    for k, op in enumerate(sample):
        if k % 2:
            theirs += _grads(op)
        ours += seconds(lambda op=op: audit(op))[0]
        if not k % 2:
            theirs += _grads(op)
    return ratio("the library", ours, theirs, "check_grads", LIBRARY, f"{len(sample)} ops")


def _grads(op: Op) -> float:
    """`check_grads` of each case of an op, rules included, at a point of its domain."""

    def run() -> None:
        for call in calls:
            with suppress(AssertionError):  # its tolerances do not suit every op
                check_grads(call.run, tuple(call.floats), order=1, modes=("fwd", "rev"))

    with jax.enable_x64(True):
        calls = [draw(op, case, zlib.crc32(op.name.encode())) for case in op.cases]
        return seconds(run)[0]
