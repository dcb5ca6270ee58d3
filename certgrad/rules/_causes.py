"""The likely cause of a wrong rule: the first of a catalogue of mistakes under which the proof goes through.

A cause is not guessed: "half the derivative" is said where twice the rule is proved, "the sum in line 12 is treated
as a constant" where the rule is proved to be the adjoint of that derivative.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import jax
import jax.numpy as jnp

from certgrad._subject import Rules
from certgrad.obligations.auditing.audit import audit
from certgrad.obligations.certificate import CaseClaim, Certificate
from certgrad.obligations.certificate import worst as worst_of
from certgrad.obligations.generality.instances import family
from certgrad.obligations.prove.problem import build, trace_rules
from certgrad.obligations.prove.prove import prove
from certgrad.obligations.terms.budget import BudgetError, limited
from certgrad.obligations.tracing.jax_internals import live_inputs

from ._constants import compared_constants, held_constant
from ._missing import missing_term
from ._plausible import Trial
from ._report import ArgumentClaim
from ._reproduction import numbers
from ._user_rule import UserRule

SHARE = 2.0
"""How much longer than for its verdict is looked for what is wrong with a rule, all its arguments together."""
LEAST = 8.0
"""So many seconds are given to that however quick the verdict was."""
ONE_PROOF = 6.0
NOT_ALONE = "not looked at on its own: that took longer than the verdict on all arguments together is worth"
INTENDED = 'if that is intended, declare it: surrogate="…"'
_FACTORS = {
    2: "half the derivative is returned: a factor 2 is missing",
    0.5: "twice the derivative is returned: a factor 2 too many",
    -1: "the sign is wrong",
    3: "a third of the derivative is returned: a factor 3 is missing",
    4: "a quarter of the derivative is returned: a factor 4 is missing",
    0.25: "four times the derivative is returned",
    -2: "the sign is wrong and a factor 2 is missing",
    -0.5: "the sign is wrong and there is a factor 2 too many",
}
Hypothesis = tuple[str, Rules, dict[str, str], tuple[str, ...]]
"""A mistake in words; the rules, the sizes and the domain with which the proof must then go through."""


Made = Callable[[str, "dict[str, Any] | None"], UserRule]
"""The same rule for one argument alone (all of them, if none is named), at other static values (its own, if None)."""


def diagnosed(rule: UserRule, certificate: Certificate, made: Made, seconds: float) -> tuple[ArgumentClaim, ...]:
    """What is claimed of each argument on its own, with the likely cause where that is wrong.

    The verdict took so many `seconds`; causes are looked for as long as that is in proportion.
    """
    until = time.process_time() + max(SHARE * seconds, LEAST)
    adjoint = [c for claim in certificate.claims if claim.kind != "rule_runs_forward" for c in claim.cases]
    if not any(c.verdict in ("refuted", "unproved") for c in adjoint):
        return tuple(ArgumentClaim(n, "proved") for n in rule.moving)
    out = []
    for name in rule.moving:
        if certificate.verdict == "unproved" and time.process_time() > until:
            out.append(ArgumentClaim(name, "unproved", reason=NOT_ALONE))
            continue
        one = made(name, None) if len(rule.moving) > 1 else rule
        if one is not rule:
            one.claim([kind for kind in one.kinds if kind != "rule_runs_forward"])
        try:
            found = audit(one) if one is not rule else certificate
        except Exception as error:  # whatever the rule does when it is traced
            out.append(ArgumentClaim(name, "unproved", reason=str(error), cause=_shape_cause(str(error))))
            continue
        cases = [c for claim in found.claims if claim.kind != "rule_runs_forward" for c in claim.cases]
        worst = _decisive(cases)
        if worst is None:
            out.append(ArgumentClaim(name, worst_of([c.verdict for c in cases])))
            continue
        cause, missing, domain = _shape_cause(worst.reason), "", ""
        if worst.verdict == "refuted":
            k = cases.index(worst) % len(one.cases)
            if not cause:
                cause, domain = likely_cause(*_at_the_case(name, one, rule, k, worst, made), until)
            missing = "" if INTENDED in cause else missing_term(one, k)
        claim = ArgumentClaim(name, worst.verdict, worst.reason, worst.residual, worst.witness, cause, missing, domain)
        out.append(claim)
    return tuple(out)


def _at_the_case(
    name: str, one: UserRule, rule: UserRule, k: int, case: CaseClaim, made: Made
) -> tuple[UserRule, UserRule]:
    """The rule for one argument and the whole rule, at the static values where it is wrong."""
    if (len(one.choices) == 1 and not one.params) or case.witness is None:
        return one, rule
    statics = one.statics_of(k, numbers(one, case.witness))
    return made(name, statics), made("", statics)


def _decisive(cases: Sequence[CaseClaim]) -> CaseClaim | None:
    for verdict in ("refuted", "unproved"):
        for case in reversed(cases):
            if case.verdict == verdict:
                return case
    return None


def _shape_cause(reason: str) -> str:
    """The mistake that JAX itself reports: a cotangent of another shape than its argument."""
    if "but the float argument has shape" in reason or ("bwd" in reason and "shape" in reason):
        return "a sum over the axes that were broadcast is missing: the cotangent has another shape than its argument"
    return ""


def likely_cause(one: UserRule, rule: UserRule, until: float) -> tuple[str, str]:
    """The mistake that explains the cotangent of the only argument that `one` moves, and the domain outside of which
    alone it is one; empty if none does in time.
    """
    trial = Trial(one)
    plain = replace(trial.rules, jvp=None, primal=None)
    if trial.plausible(plain, {}, ()) and holds(one, plain):
        return "", ""  # right at these shapes: it is wrong at others, which the witness shows
    for text, rules, fixed, domain in _hypotheses(one, rule, trial.rules):
        if time.process_time() > until:
            return "", ""
        if trial.plausible(rules, fixed, domain) and holds(one, rules, fixed, domain):
            return text, " and ".join(domain)
    if trial.nonlinear():
        return f"it is not linear in the cotangent of the output; {INTENDED}", ""
    return "", ""


def holds(one: UserRule, rules: Rules, fixed: dict[str, str] | None = None, domain: tuple[str, ...] = ()) -> bool:
    """These programs satisfy the adjoint law, at the sizes and in the domain given."""
    instance = family(one, one.cases[0]).prove[0]
    shapes = instance.shapes(fixed)
    try:
        programs = trace_rules(rules, shapes, 0, one.name)
        with limited(seconds=ONE_PROOF):
            problem = build(one.arg_names, {}, (*one.domain, *domain), shapes, programs, one.name)
            return prove(problem, "vjp_is_adjoint").proved
    except (BudgetError, Exception):  # a hypothesis that does not even trace does not hold
        return False


def _hypotheses(one: UserRule, rule: UserRule, rules: Rules) -> Iterator[Hypothesis]:
    plain = replace(rules, jvp=None, primal=None)
    vjp = rules.vjp

    def changed(change: Callable[[Any, list], Any]) -> Rules:
        return replace(plain, vjp=lambda args, seeds, params: [change(c, seeds) for c in vjp(args, seeds, params)])

    name = one.moving[0]
    yield (
        f"zeros are returned for {name}; return None to say that it has no gradient",
        replace(plain, jvp=lambda a, t, p: [jnp.zeros_like(y) for y in rules.forward(a, p)]),
        {},
        (),
    )
    yield _passed_through(rules, -1, "reversed")
    for factor, text in _FACTORS.items():
        yield text, changed(partial(_times, factor)), {}, ()
    yield from _about_the_seed(one, rules, changed)
    yield from _about_sizes(one, rules)
    yield from _about_axes(one, rule, changed, plain)
    yield from _in_a_domain(one, plain)
    yield _passed_through(rules, 1, "passed through unchanged (straight-through)")
    for text, forward in held_constant(one, rules):
        yield text, replace(plain, jvp=_derivative_of(forward, one)), {}, ()
    yield from _sums_to_one(one, plain)
    yield from _at_sizes(one, plain)


def _times(factor: float, cotangent: Any, seeds: list) -> Any:
    return factor * cotangent


def _derivative_of(forward: Callable[[list], list], one: UserRule) -> Callable[[list, list, list], list]:
    k = one.arg_names.index(one.moving[0])

    def jvp(args: list, tangents: list, params: list) -> list:
        return jax.jvp(lambda x: forward([*args[:k], x, *args[k + 1 :]]), [args[k]], tangents)[1]

    return jvp


def _about_the_seed(one: UserRule, rules: Rules, changed: Callable) -> Iterator[Hypothesis]:
    """Where the cotangent of the output is not used at all."""
    instance = family(one, one.cases[0]).prove[0]
    shapes = instance.shapes()
    try:
        program = trace_rules(replace(rules, jvp=None, primal=None), shapes, 0, one.name).vjp
    except Exception:  # as in `holds`
        return
    count = len(one.arg_names)
    if any(live_inputs(program.jaxpr, [True] * len(program.jaxpr.outvars))[count:]):
        return

    def times(c: Any, seeds: list) -> Any:
        seed = seeds[0]
        return c * jnp.reshape(seed, (*seed.shape, *[1] * (c.ndim - seed.ndim)))

    yield "the cotangent of the output is ignored: it is treated as 1", changed(times), {}, ()
    zero = replace(rules, primal=None, jvp=lambda a, t, p: [jnp.zeros_like(y) for y in rules.forward(a, p)])
    yield "the cotangent of the output is ignored", replace(zero, vjp=_zeros(one)), {}, ()


def _zeros(one: UserRule) -> Callable[[list, list, list], list]:
    k = one.arg_names.index(one.moving[0])
    return lambda args, seeds, params: [jnp.zeros_like(args[k])]


def _passed_through(rules: Rules, sign: int, what: str) -> Hypothesis:
    """The rule is the identity, or its negative: what is usual is then an intent."""
    turned = replace(rules, primal=None, jvp=lambda a, t, p: [sign * t[0]])
    return f"the cotangent is {what}; {INTENDED}", turned, {}, ()


def _about_sizes(one: UserRule, rules: Rules) -> Iterator[Hypothesis]:
    """The divisor of a mean, left out or there once too often."""
    named = {
        str(d): (k, j) for k, s in enumerate(one.signature.inputs) for j, d in enumerate(s.dims) if hasattr(d, "text")
    }
    if any(s.stars for s in one.signature.inputs):
        return
    for count in (1, 2):
        for chosen in combinations(named, count):
            size = " · ".join(chosen)
            for power, text in (
                (-1, f"the divisor {size} of a mean is missing"),
                (1, f"divided by {size} once too often: a mean where a sum is due"),
            ):
                yield text, _scaled_by_sizes(rules, [named[c] for c in chosen], power), {}, ()


def _scaled_by_sizes(rules: Rules, places: Sequence[tuple[int, int]], power: int) -> Rules:
    def vjp(args: list, seeds: list, params: list) -> list:
        factor: Any = 1.0
        for k, axis in places:
            size = jnp.asarray(args[k].shape[axis], args[k].dtype)
            factor = factor * size if power > 0 else factor / size
        return [factor * c for c in rules.vjp(args, seeds, params)]

    return replace(rules, jvp=None, primal=None, vjp=vjp)


def _about_axes(one: UserRule, rule: UserRule, changed: Callable, plain: Rules) -> Iterator[Hypothesis]:
    """Transposed, reversed, or exchanged with that of another argument."""
    k = one.arg_names.index(one.moving[0])
    dims = [str(d) for d in one.signature.inputs[k].dims]
    for a, b in combinations(range(len(dims)), 2):
        if dims[a] == dims[b]:
            yield f"transposed in axes {a} and {b}", changed(lambda c, _, a=a, b=b: jnp.swapaxes(c, a, b)), {}, ()
    for a in range(len(dims)):
        yield f"reversed along axis {a}", changed(lambda c, _, a=a: jnp.flip(c, a)), {}, ()
    full = rule.rules(rule.cases[0].statics)
    for position, other in enumerate(rule.moving):
        there = rule.signature.inputs[rule.arg_names.index(other)]
        if other == one.moving[0] or [str(d) for d in there.dims] != dims:
            continue
        yield f"exchanged with the cotangent of {other}", replace(plain, vjp=_only(full, position)), {}, ()


def _only(rules: Rules, position: int) -> Callable[[list, list, list], list]:
    return lambda args, seeds, params: [rules.vjp(args, seeds, params)[position]]


def _sums_to_one(one: UserRule, plain: Rules) -> Iterator[Hypothesis]:
    """Right for a distribution only: the argument is replaced by one, whatever it is made of."""
    for k, (name, spec) in enumerate(zip(one.arg_names, one.signature.inputs, strict=True)):
        if spec.dtype != "held" or not spec.dims:
            continue

        yield f"right only where {name} sums to 1 along its last axis", _of_distributions(plain, k), {}, ()


def _of_distributions(plain: Rules, k: int) -> Rules:
    def normal(args: list) -> list:
        e = jnp.exp(args[k])
        return [*args[:k], e / jnp.sum(e, axis=-1, keepdims=True), *args[k + 1 :]]

    return replace(
        plain,
        forward=lambda args, params: plain.forward(normal(args), params),
        vjp=lambda args, seeds, params: plain.vjp(normal(args), seeds, params),
    )


def _in_a_domain(one: UserRule, plain: Rules) -> Iterator[Hypothesis]:
    """Right for some signs only."""
    for name, spec in zip(one.arg_names, one.signature.inputs, strict=True):
        if spec.dtype == "int":
            text = f"right only where {name} ≥ 0: the forward counts negative indices from the end"
            yield text, plain, {}, (f"{name} >= 0",)
    held = zip(one.arg_names, one.signature.inputs, strict=True)
    floats = [(n, [*map(str, s.dims)]) for n, s in held if s.dtype in ("float", "held")]
    numbers = sorted(["0", *compared_constants(one, plain)], key=float)
    for name, _ in floats:  # what excludes least comes first
        for sign, ordered in (("!=", numbers), (">", numbers), ("<", numbers[::-1])):
            for number in ordered:
                yield _right_where(plain, f"{name} {sign} {number}")
    for (a, dims), (b, others) in combinations(floats, 2):
        if dims == others or not others or not dims:
            for sign in ("!=", ">", "<"):
                yield _right_where(plain, f"{a} {sign} {b}")
    for name, _ in floats:
        for low, high in sorted(combinations(numbers, 2), key=lambda ends: float(ends[0]) - float(ends[1])):
            yield _right_where(plain, f"{name} > {low}", f"{name} < {high}")


def _right_where(plain: Rules, *domain: str) -> Hypothesis:
    return f"right only where {' and '.join(domain).replace('!=', '≠')}", plain, {}, domain


def _at_sizes(one: UserRule, plain: Rules) -> Iterator[Hypothesis]:
    """Right for some sizes only."""
    names = family(one, one.cases[0]).prove[0].names
    spec = one.signature.inputs[one.arg_names.index(one.moving[0])]
    own = {name for d in spec.dims for name in names if name in str(d).replace("*", " ").replace("+", " ").split()}
    for n in names:
        summed = "" if n in own or spec.stars else f": a sum over the axis {n} is missing"
        yield f"right only where {n} = 1{summed}", plain, {n: "1"}, ()
    for a, b in combinations(names, 2):
        yield f"right only where {a} = {b}", plain, {b: a}, ()
