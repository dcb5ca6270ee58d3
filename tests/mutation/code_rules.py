"""Mutants of rules in code, and whether what is said of them is true: a rule with the likely cause mended is proved."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import zip_longest
from typing import Any

import jax
import jax.numpy as jnp

from certgrad import check
from certgrad.errors import CertgradError
from certgrad.obligations.certificate import PROOFS
from certgrad.obligations.generality.instances import family
from certgrad.obligations.prove.problem import trace_rules
from certgrad.obligations.tracing.jax_internals import evaluate, primal_body
from certgrad.report.wording import INTENDED
from certgrad.rules import Report
from certgrad.rules.declared.declaration import Declaration, declaration_of
from certgrad.rules.subject.layers import plain_function, unwrapped
from certgrad.rules.subject.report import OTHER_VALUE, ArgumentClaim
from certgrad.rules.subject.user_rule import UserRule
from tests.mutation import _index_changes  # noqa: F401  (registers its changes)
from tests.mutation._changes import Mutation, mutations
from tests.mutation._interpreter import Hook, Site, interposed, recording

MODULES = ("intended", "linear", "losses", "norms", "pointwise", "solvers")
OPTIONS = ("static", "differentiable", "domain", "surrogate", "approximates")


@dataclass(frozen=True)
class CodeRule:
    """A rule of the examples with its declaration."""

    name: str
    function: Any
    declared: Declaration

    def checked(self, function: Any, **options: Any) -> Report:
        """The report on a function that stands in the place of the rule."""
        said = {k: getattr(self.declared, k) for k in OPTIONS}
        return check(function, self.declared.signature, name=self.name, **said, **options)


def examples(wrong: bool = False) -> Iterator[CodeRule]:
    """The rules of `examples/rules`: those that are wrong by their name, or the others."""
    for module in MODULES:
        for function in vars(import_module(f"examples.rules.{module}")).values():
            declared = declaration_of(function, function) if callable(function) else None
            name = getattr(plain_function(function), "__name__", "") if declared else ""
            if declared is not None and name.startswith("wrong_") == wrong:
                yield CodeRule(name, function, declared)


def mutated(rule: Any, role: str, hook: Hook) -> Any:
    """A `custom_vjp` with its fwd or its bwd run equation by equation."""
    found = jax.custom_vjp(rule.fun, nondiff_argnums=rule.nondiff_argnums)

    def fwd(*args: Any) -> Any:
        moved = [k for k in range(len(args)) if k not in rule.nondiff_argnums]

        def function(*own: Any) -> Any:
            given = dict(enumerate(args)) | dict(zip(moved, own, strict=True))
            return rule.fwd(*(given[k] for k in range(len(args))))

        return interposed(function, hook)(*(args[k] for k in moved))

    def bwd(*args: Any) -> Any:
        count = len(rule.nondiff_argnums)
        return interposed(partial(rule.bwd, *args[:count]), hook)(*args[count:])

    found.defvjp(fwd if role == "fwd" else rule.fwd, bwd if role == "vjp" else rule.bwd)
    return found


def mutants_of(rule: CodeRule) -> Iterator[tuple[Mutation, Any]]:
    """Every mutant of its fwd and of its bwd."""
    custom = unwrapped(rule.function)
    if not isinstance(custom, jax.custom_vjp):
        return
    for role in ("fwd", "vjp"):
        sites: list[Site] = []
        options = {k: getattr(rule.declared, k) for k in ("static", "differentiable", "domain")}
        subject = UserRule(mutated(custom, role, recording(sites)), rule.declared.signature, **options)
        instance = family(subject, subject.cases[0]).prove[0]
        rules = replace(subject.rules(instance.statics), jvp=None, primal=None, both=None)
        trace_rules(rules, instance.shapes(), len(subject.params), rule.name)
        for mutation in mutations(role, sites):
            yield mutation, mutated(custom, role, mutation.hook)


def drawn(rules: Sequence[CodeRule], salt: str = "") -> Iterator[tuple[CodeRule, Mutation, Any]]:
    """Mutants of all rules in turn, those of one rule in an order drawn from their names."""

    def order(rule: CodeRule) -> list[tuple[CodeRule, Mutation, Any]]:
        found = [(rule, mutation, mutant) for mutation, mutant in mutants_of(rule)]
        return sorted(found, key=lambda t: hashlib.sha256(f"{salt}{rule.name} {t[1]}".encode()).hexdigest())

    for row in zip_longest(*map(order, rules)):
        yield from (one for one in row if one is not None)


@dataclass(frozen=True)
class Told:
    """A likely cause, and what `certgrad.check` says of the rule without it."""

    rule: str
    mutation: Mutation
    argument: str
    cause: str
    said: str

    @property
    def true(self) -> bool:
        """The rule with that one change is proved; or a point shows what is said, and nothing is to be mended."""
        return self.said in ("proved", SHOWN)


SHOWN = "a point shows it"


@dataclass(frozen=True)
class Refutation:
    """A mutant that is refuted, the processor's seconds that it took, and the causes that were printed."""

    rule: str
    mutation: Mutation
    seconds: float
    told: list[Told]


def refutations(rules: Sequence[CodeRule], salt: str = "") -> Iterator[Refutation]:
    """The mutants that are refuted, each with the likely causes and whether these are true."""
    for rule, mutation, mutant in drawn(rules, salt):
        before = time.process_time()
        try:
            report = rule.checked(mutant, conformance=False)
        except CertgradError:  # it returns other shapes: it is no rule of this function
            continue
        seconds = time.process_time() - before
        if report.verdict == "refuted":
            causes = [a for a in report.arguments if a.cause]
            found = [Told(rule.name, mutation, a.name, a.cause, told(a)) for a in causes]
            if not causes and report.cause == OTHER_VALUE:  # that claim is refuted by itself
                found = [Told(rule.name, mutation, "", report.cause, SHOWN)]
            yield Refutation(rule.name, mutation, seconds, found)


def told(claim: ArgumentClaim) -> str:
    """Whether the likely cause is true: what `certgrad.check` says of the rule with that one change."""
    mended = claim.mended
    if mended is None:
        shown = INTENDED in claim.cause or claim.cause.startswith(("right where", "it is not 0 where"))
        return SHOWN if shown else "nothing was mended"
    rules = mended.rules(mended.cases[0].statics)
    names, moving = mended.arg_names, mended.moving[0]
    position = names.index(moving)

    def of_function(args: list, seeds: list) -> Any:
        """The cotangent that the function's own derivative gives."""
        program = primal_body(jax.make_jaxpr(lambda *xs: rules.forward(list(xs), []))(*args))

        def function(x: Any) -> list:
            moved = [*args[:position], x, *args[position + 1 :]]
            return evaluate(program, moved)

        return jax.vjp(function, args[position])[1](seeds)[0]

    def backward(args: Any, seeds: Any) -> Any:
        args, seeds = list(args), list(seeds)
        found = rules.vjp(args, seeds, [])[0]
        if rules.jvp is not None:  # the rule is the derivative of something else: with what that lacks it is right
            transposed = jax.linear_transpose(lambda t: rules.jvp(args, [t], []), args[position])
            found = found + (of_function(args, seeds) - transposed(seeds)[0])
        cotangents: list[Any] = [None] * len(args)
        cotangents[position] = found
        return tuple(cotangents)

    function = _named(names, lambda *args: tuple(rules.forward(list(args), [])))
    public = jax.custom_vjp(function)
    public.defvjp(_named(names, lambda *args: (tuple(rules.forward(list(args), [])), args)), backward)
    signature = ", ".join(str(replace(s, dtype="float") if s.dtype == "held" else s) for s in mended.signature.inputs)
    report = check(public, signature, differentiable=[moving], domain=mended.domain, conformance=False, sizes=None)
    claims = [c for c in report.claims if c.kind == "vjp_is_adjoint"]
    if all(c.verdict in PROOFS for c in claims):
        return "proved"
    return f"{claims[0].verdict}: {report.reason}"


def _named(names: Sequence[str], body: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arguments that have these names."""
    return eval(f"lambda {', '.join(names)}: body({', '.join(names)})", {"body": body, "jnp": jnp})
