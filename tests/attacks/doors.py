"""The doors through which a wrong rule might be called proved, and the attacks of this folder."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import certgrad
from certgrad.errors import CertgradError
from certgrad.training import SGD, certify_step

from .attack import Attack

QUICK = 24
"""One attack in so many is tried at each run of the tests; all of them, through every door, with `-m slow`."""


class Outcome(NamedTuple):
    """What a door says of an attack. The hypotheses are those on sizes too, and the ranks that the claim is about."""

    verdict: str
    hypotheses: tuple[str, ...] = ()

    def is_wrong_for(self, attack: Attack) -> bool:
        """Whether it is called proved where no listed hypothesis excludes the points at which it is wrong."""
        if not self.verdict.startswith("proved"):
            return False
        return not any(text in hypothesis for text in attack.excluded_by for hypothesis in self.hypotheses)


def attacks() -> Iterator[Attack]:
    """All attacks of this folder."""
    names: set[str] = set()
    for found in pkgutil.iter_modules(import_module(__package__).__path__):
        if found.name.startswith("test_"):
            continue
        for attack in getattr(import_module(f"{__package__}.{found.name}"), "ATTACKS", ()):
            assert attack.name not in names, f"two attacks are called {attack.name}"
            names.add(attack.name)
            yield attack


def parts(signature: str) -> tuple[list[str], list[str]]:
    """The shapes of the arguments and of the outputs."""
    inputs, _, outputs = signature.partition("->")
    return [s.strip() for s in inputs.split(",")], [s.strip() for s in outputs.split(",")]


def weighted(rule: Callable[..., Any], inputs: int) -> Callable[..., Any]:
    """The loss Σ g·rule(x), whose gradient is what the rule makes of the cotangents g."""

    def loss(*args: Any) -> Any:
        outputs = jax.tree.leaves(rule(*args[:inputs]))
        return sum(
            jnp.sum(y * g) for y, g in zip(outputs, args[inputs:], strict=True) if jnp.issubdtype(y.dtype, jnp.floating)
        )

    return loss


def pullback(function: Callable[..., Any], inputs: int) -> Callable[..., Any]:
    """The cotangents of all real arguments, as a function of arguments and cotangents."""

    def pulled(*args: Any) -> Any:
        real = [i for i in range(inputs) if jnp.issubdtype(jnp.result_type(args[i]), jnp.floating)]

        def of_real(*values: Any) -> Any:
            given = dict(zip(real, values, strict=True))
            return function(*(given.get(i, args[i]) for i in range(inputs)))

        y, back = jax.vjp(of_real, *(args[i] for i in real))
        leaves, tree = jax.tree.flatten(y)
        seeds = iter(args[inputs:])
        given = [
            next(seeds) if jnp.issubdtype(leaf.dtype, jnp.floating) else zero_like(leaf, next(seeds)) for leaf in leaves
        ]
        return back(jax.tree.unflatten(tree, given))

    return pulled


def zero_like(leaf: Any, _: Any) -> Any:
    """The cotangent of an output without a derivative."""
    return np.zeros(leaf.shape, jax.dtypes.float0)


def loss_graph(attack: Attack) -> Any:
    inputs, outputs = parts(attack.signature)
    # A graph has no stars: the attacks on ranks are wrong at rank 6.
    specs = [f"x{i}: {s.replace('*s', 's1 s2 s3 s4 s5 s6')}" for i, s in enumerate(inputs)]
    specs += [f"g{i}: {s.replace('*s', 's1 s2 s3 s4 s5 s6')}" for i, s in enumerate(outputs)]
    return certgrad.trace(weighted(attack.rule(), len(inputs)), *specs)


def by_check(attack: Attack) -> Outcome:
    report = certgrad.check(attack.rule(), attack.signature, domain=attack.domain, **attack.declared)
    scopes = {case.scope for claim in report.claims for case in claim.cases}
    return Outcome(report.verdict, (*map(str, report.hypotheses), *sorted(scopes - {"all shapes"})))


def by_certify(attack: Attack) -> Outcome:
    found = certgrad.certify(loss_graph(attack))
    return Outcome(found.verdict, (*(h.text for h in found.hypotheses), *found.dimensions))


def by_equal(attack: Attack) -> Outcome:
    inputs, outputs = parts(attack.signature)
    n = len(inputs)
    found = certgrad.equal(
        pullback(attack.rule(), n), pullback(attack.plain, n), ", ".join([*inputs, *outputs]), domain=attack.domain
    )
    return Outcome(found.verdict, tuple(str(h).replace("args_0", "x") for h in found.hypotheses))


def by_certify_step(attack: Attack) -> Outcome:
    inputs, _ = parts(attack.signature)
    real = [f"x{i}" for i, s in enumerate(inputs) if ":" not in s]
    found = certify_step(loss_graph(attack), SGD, real)
    return Outcome(found.verdict, tuple(getattr(h, "text", str(h)) for h in found.hypotheses))


DOORS: dict[str, Callable[[Attack], Outcome]] = {
    "check": by_check,
    "certify": by_certify,
    "equal": by_equal,
    "certify_step": by_certify_step,
}


def outcome(attack: Attack, door: str) -> Outcome:
    """What the door says; a refusal of certgrad's own is one, any other exception is a crash."""
    try:
        return DOORS[door](attack)
    except CertgradError as error:
        return Outcome(f"refused: {type(error).__name__}: {error}")
