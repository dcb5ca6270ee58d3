"""What the traps are made of: ops declared on the spot, verdicts, and a judge that knows nothing of the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
import pytest

from certgrad.obligations import audit
from certgrad.ops._declare import Op, op
from certgrad.ops._registry import Registry


def declare(signature: Any, forward: Callable, jvp: Callable, vjp: Callable | None = None, **options: Any) -> Op:
    """An op in a registry of its own. Without `vjp`, the rule is elementwise and its JVP is its own adjoint."""
    cases = signature if isinstance(signature, tuple) else (signature,)
    fwd = options.pop("fwd", None)
    forward.__name__, forward.__doc__ = "trap", "A trap."
    one = op(*cases, registry=Registry(), **options)(forward)
    one.jvp(jvp)
    one.vjp(vjp or jvp)
    if fwd is not None:
        one.fwd(fwd)
    return one


def hypotheses(certificate: Any) -> set[str]:
    """The texts of all hypotheses of all claims."""
    return {h.text for claim in certificate.claims for h in claim.hypotheses}


def needless(certificate: Any) -> set[str]:
    """The texts of what the rule alone needs."""
    return {h.text for claim in certificate.claims for case in claim.cases for h in case.needless or ()}


@dataclass(frozen=True)
class Trap:
    """A wrong rule, a point where it is wrong, and the right rule beside it.

    `verdict` is what the wrong one gets; with `under`, it is proved, but under these hypotheses, which exclude `at`,
    where the function has no derivative. Where it has one, the rule is refuted: it alone `needs` these.
    `hypotheses` are exactly those of the right one, which is checked at `fine` (or at `at`). `seen` is False for a
    wrongness that no single point shows to finite differences.
    """

    name: str
    wrong: Op
    at: Sequence[Any] = ()
    verdict: str = "refuted"
    right: Op | None = None
    hypotheses: set[str] = field(default_factory=set)
    fine: Sequence[Any] | None = None
    under: set[str] = field(default_factory=set)
    needs: set[str] = field(default_factory=set)
    seen: bool = True
    numbers: dict[str, float] = field(default_factory=dict)


def check(trap: Trap) -> None:
    """The wrong rule is wrong and not proved; the right one is right and proved, under these hypotheses."""
    if trap.seen:
        assert error(trap.wrong, trap.at, trap.numbers) > 1e-3, "the trap is no trap: the rule is right there"
    certificate = audit(trap.wrong)
    if trap.under:
        found = hypotheses(certificate)
        assert certificate.verdict == "proved under hypotheses", certificate.verdict
        assert trap.under <= found, found
    else:
        refused(trap, certificate)
        assert trap.needs <= needless(certificate) | hypotheses(certificate), needless(certificate)
        assert bool(trap.needs) <= bool(needless(certificate)), "another refutation than that of an excluded point"
    if trap.right is None:
        return
    fine = trap.at if trap.fine is None else trap.fine
    if fine:
        assert error(trap.right, fine, trap.numbers) < 1e-4, "the right twin is wrong"
    certificate = audit(trap.right)
    assert certificate.verdict.startswith("proved"), [(c.kind, c.verdict, c.cases) for c in certificate.claims]
    assert hypotheses(certificate) == trap.hypotheses, hypotheses(certificate)


def refused(trap: Trap, certificate: Any) -> None:
    """Not proved, and with the expected verdict."""
    assert not certificate.verdict.startswith("proved"), (trap.name, certificate.verdict, hypotheses(certificate))
    assert certificate.verdict == trap.verdict, [(c.kind, c.verdict, c.cases) for c in certificate.claims]


def named(traps: Sequence[Trap]) -> list[Any]:
    """Parameters for pytest."""
    return [pytest.param(trap, id=trap.name) for trap in traps]


def error(rule: Op, at: Sequence[Any], numbers: dict[str, float] | None = None) -> float:
    """How far the rules are from finite differences of the forward, on either side; infinite where one is not finite.

    numpy and doubles: one direction, one seed, drawn once. Integers and booleans stay as they are.
    """
    statics = {**rule.cases[0].statics, **{k: v for k, v in (numbers or {}).items() if k in rule.params}}
    rng = np.random.default_rng(5)
    with jax.enable_x64(True), np.errstate(all="ignore"):
        xs = [np.asarray(x, dtype=float) if np.asarray(x).dtype.kind == "f" else np.asarray(x) for x in at]
        moving = [k for k, x in enumerate(xs) if x.dtype.kind == "f"]
        dxs = [rng.uniform(0.5, 1.5, xs[k].shape) for k in moving]

        def value(t: float) -> list[np.ndarray]:
            moved = [x + t * dxs[moving.index(k)] if k in moving else x for k, x in enumerate(xs)]
            return _arrays(rule.call_rule(rule.forward, *map(jax.numpy.asarray, moved), statics=statics))

        given = [jax.numpy.asarray(x) for x in xs]
        if rule.fwd_rule is not None:
            primal, residuals = rule.call_rule(rule.fwd_rule, *given, statics=statics)
            gap = _distance(_arrays(primal), value(0.0))
            given = [residuals]
        else:
            gap = 0.0
        tangents = _arrays(rule.call_rule(rule.jvp_rule, *given, *dxs, statics=statics))
        seeds = [rng.uniform(0.5, 1.5, t.shape) for t in tangents]
        cotangents = _arrays(rule.call_rule(rule.vjp_rule, *given, *seeds, statics=statics))
        h = 1e-6
        ahead = [(b - a) / h for a, b in zip(value(0.0), value(h), strict=True)]
        behind = [(a - b) / h for a, b in zip(value(0.0), value(-h), strict=True)]
        left = sum(np.sum(t * s) for t, s in zip(tangents, seeds, strict=True))
        right = sum(np.sum(c * d) for c, d in zip(cotangents, dxs, strict=True))
        gaps = [gap, _distance(tangents, ahead), _distance(tangents, behind), _distance([left], [right])]
    return max(gaps)


def _arrays(value: Any) -> list[np.ndarray]:
    return [np.asarray(v) for v in value] if isinstance(value, (tuple, list)) else [np.asarray(value)]


def _distance(xs: Sequence[Any], ys: Sequence[Any]) -> float:
    worst = 0.0
    for x, y in zip(xs, ys, strict=True):
        gap = np.max(np.abs(np.asarray(x) - np.asarray(y)), initial=0.0)
        worst = max(worst, float(gap) if np.isfinite(gap) else np.inf)
    return worst
