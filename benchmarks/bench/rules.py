"""The audit of right rules beside `check_grads`: users' rules and the library's."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bench import of_layers
from benchmarks.bench._figure import Figure, ratio
from benchmarks.bench._subjects import LibraryOp, in_module, in_modules, of_reports, timed
from certgrad.obligations.certificate import PROOFS
from certgrad.ops import registry

ORDINARY, LIBRARY = 1.0, 0.35


def figures(short: bool) -> Iterator[Figure]:
    """Sums over all rules: of the audit, over those of `check_grads`."""
    ordinary = [*in_modules("examples.ordinary")]
    rules = [*in_module(of_layers), *(ordinary[::9] if short else [*ordinary, *of_reports("right")])]
    proved = [one for one in timed(rules) if one.verdict in PROOFS]
    slowest = max(proved, key=lambda one: one.ratio)
    left_out = len(rules) - len(proved)
    note = f"{len(proved)} rules, {left_out} of the list not proved; most: {slowest.name}, {slowest.ratio:.1f}"
    ours, theirs = sum(one.audit for one in proved), sum(one.grads for one in proved)
    yield ratio("ordinary user rules", ours, theirs, "check_grads", ORDINARY, note)

    ops = [LibraryOp(op.name, op) for op in registry]
    audits = [*timed(ops[::24] if short else ops)]
    ours, theirs = sum(one.audit for one in audits), sum(one.grads for one in audits)
    yield ratio("the library", ours, theirs, "check_grads", LIBRARY, f"{len(audits)} ops")
