"""Rules that trace only where the size of an axis is a multiple of a number, or of another size.

Code that reshapes c channels into groups of k, or repeats each of g heads h/g times, runs where k divides c, or g
divides h. With c = k·c′ as its shape it traces, and what is proved then is proved for every c that k divides: that is
listed as a hypothesis on the axis. The multiples are found by trial, few of them first. A choice of more multiples than
needed only makes a weaker claim, which says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, permutations

from certgrad.language.tree import ZERO, Apply, Axis, Compare, Number, Term
from certgrad.obligations.certificate import Certificate, Hypothesis, hypothesis
from certgrad.obligations.generality.in_code import in_code
from certgrad.obligations.generality.reach import is_users, reachable
from certgrad.obligations.generality.traces import Traces
from certgrad.obligations.terms.budget import budget
from certgrad.obligations.tracing.jax_internals import equations_of
from certgrad.rules.inference.unify import entries_lost
from certgrad.rules.subject.listed import listing
from certgrad.rules.subject.traced import forward_of, traces, untraced
from certgrad.rules.subject.user_rule import UserRule
from certgrad.signatures.signature import Signature
from certgrad.signatures.sizes import Star

from .at_sizes import first_sizes

Multiples = Mapping[str, str]
"""By the name of a size: the number, or the name of another size, that it is a multiple of."""
TRACES = 60
"""At most this many choices are tried."""
SECONDS = 20.0
"""Seconds of the search for multiples; then none are found."""
LARGEST = 1 << 10
"""The largest number that sizes may have to be multiples of."""
SEVERAL = 3
"""At most this many sizes are made multiples at once."""
UNTRACED = "at symbolic shapes"
NO_NUMBER = "requires a constant"
"""A part of JAX's message where a size must be a number, which a multiple is not either."""


def multiples(rule: UserRule, made: Callable[[Multiples], UserRule], seen: Traces | None = None) -> Multiples:
    """Return the multiples with which the rule traces; empty if it traces without any, or none are found.

    A rule that traces, but with a reshape that loses entries, counts as one that does not trace. `made` returns the
    rule with given multiples; `seen` are traces of the rule, if some were made already.
    """
    axes, why = _axes(rule.signature), untraced(seen or Traces(rule))
    if not axes or (UNTRACED not in why or NO_NUMBER in why if why else _reshapes(rule)):
        return {}
    until = budget.until(SECONDS)
    for count, chosen in enumerate(_candidate_multiples(rule, list(axes))):
        if count == TRACES or time.thread_time() > until:
            break
        rule_there = made(chosen)
        if traces(Traces(rule_there)) and _reshapes(rule_there):
            return chosen
    return {}


def _reshapes(rule: UserRule) -> bool:
    """Return whether every reshape of the function keeps the number of entries; True if it does not trace.

    At symbolic sizes JAX also traces a reshape of c entries to ⌊c/4⌋·4.
    """
    program = forward_of(rule)
    equations = equations_of(program.jaxpr) if program is not None else ()
    return all(entries_lost(e).is_zero for e in equations)


def _candidate_multiples(rule: UserRule, names: Sequence[str]) -> Iterator[Multiples]:
    """Yield multiples to try, few sizes first: of given numbers, then of other sizes, then of numbers of the code."""
    given = [v for statics in rule.choices for v in statics.values() if type(v) is int]
    numbers = list(dict.fromkeys(n for n in given if 1 < n <= LARGEST))
    code = [n for n in in_code(filter(is_users, reachable(rule))) if 1 < n <= LARGEST and n not in numbers]
    for count in range(1, min(len(names), SEVERAL) + 1):
        several = list(combinations(names, count))
        yield from (dict.fromkeys(chosen, str(n)) for n in numbers for chosen in several)
        if count == 1:
            yield from ({a: b} for a, b in permutations(names, 2))
        yield from (dict.fromkeys(chosen, str(n)) for n in code for chosen in several)


def _axes(signature: Signature) -> dict[str, tuple[int, int]]:
    """Return, for each size that alone is the length of an axis, the positions of such an array and axis."""
    axes: dict[str, tuple[int, int]] = {}
    for k, spec in enumerate(signature.inputs):
        for position, dim in enumerate(spec.dims):
            if not isinstance(dim, Star) and dim.name is not None:
                axes.setdefault(dim.name, (k, position))
    return axes


def no_multiples(rule: UserRule, chosen: Multiples) -> Iterator[dict[str, int]]:
    """Yield small sizes that break the multiples `chosen`: first all of them, then each one alone.

    A rule may run at such sizes and be wrong: a function that reads blocks of keys may clamp the last block, and its
    backward may not.
    """
    sizes = first_sizes(rule)
    divisors = {name: int(number) if number.isdigit() else sizes[number] for name, number in chosen.items()}
    yield {**sizes, **{name: 1 + number for name, number in divisors.items()}}
    for broken in divisors if len(divisors) > 1 else ():
        yield {**sizes, **{name: number + (name == broken) for name, number in divisors.items()}}


def hypotheses(rule: UserRule, chosen: Multiples) -> list[Hypothesis]:
    """Return hypotheses that state the multiples `chosen` of sizes in the rule's signature."""
    axes = _axes(rule.signature)

    def length(name: str) -> Term:
        array, position = axes[name]
        return Axis(rule.arg_names[array], position)

    trees = (
        Compare("=", Apply("remainder", (length(name), Number(by) if by.isdigit() else length(by))), ZERO)
        for name, by in chosen.items()
    )
    return [hypothesis(tree, "sizes that divide", False, inputs=rule.arg_names) for tree in trees]


def listed(certificate: Certificate, rule: UserRule, chosen: Multiples) -> Certificate:
    """Return the certificate of the rule at the multiples `chosen`, with hypotheses in its claims that state them."""
    added = hypotheses(rule, chosen)
    return listing(certificate, rule, lambda _, own: [*own, *added])
