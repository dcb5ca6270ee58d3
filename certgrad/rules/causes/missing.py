"""The missing term of a wrong rule as a formula: the right cotangent minus the one returned."""

from __future__ import annotations

from dataclasses import dataclass, replace

from certgrad.language.canonical import letters
from certgrad.language.text import term_text
from certgrad.language.tree import Term
from certgrad.obligations.decide.pairing import paired_by_coordinates
from certgrad.obligations.generality.instances import family
from certgrad.obligations.prove.problem import build, posed, trace_rules
from certgrad.obligations.prove.prove import not_followed
from certgrad.obligations.prove.statements import adjoint_of_derivative_obligation, differentiated
from certgrad.obligations.terms.budget import BudgetError, limited
from certgrad.obligations.terms.walk import extent, mentions
from certgrad.obligations.wording.stated import term
from certgrad.rules.subject.user_rule import UserRule

LONGEST = 120
"""Characters of a missing term that is shown; a longer one is not."""
LONGEST_WITHOUT_CAUSE = 240
"""Characters of a missing term where no cause is named."""
SECONDS = 3.0
"""Seconds for a missing term; then none is shown."""


@dataclass(frozen=True)
class Missing:
    """A term that a cotangent lacks. `axes` are the index variables of the argument's axes."""

    text: str = ""
    """What to add, such as `add to the cotangent of x[i,j]: −(Σk seed[i,k])`; "" if no term is shown."""
    term: Term | None = None
    axes: tuple[str, ...] = ()


NOTHING = Missing()


def missing_term(one: UserRule, k: int = 0, longest: int = LONGEST) -> Missing:
    """Return the term to add to the active argument's cotangent in case `k`; `NOTHING` if it is long or not known.

    No verdict rests on the term; it is for the reader.
    """
    try:
        with limited(seconds=SECONDS):
            return _term(one, k, longest)
    except (BudgetError, Exception):  # a rule that is wrong may do anything where its terms are rewritten
        return NOTHING


def _term(one: UserRule, k: int, longest: int) -> Missing:
    """Return the term that a cotangent lacks; `NOTHING` where that is not one term of at most `longest` characters.

    The adjoint obligation has the two sides ⟨dx, returned⟩ and ⟨dx, right⟩ as normal forms in the entries of the
    tangent dx. The term is the coefficient of one entry of dx in their difference.
    """
    instance = family(one, one.cases[k]).prove[0]
    shapes = instance.shapes()
    rules = replace(one.rules(instance.statics), jvp=None, primal=None)  # the derivative is the kernel's own
    programs = trace_rules(rules, shapes, len(one.params), one.name)
    problem = build(posed(one, shapes, programs))
    moving = {problem.names[k] for k in problem.differentiable}
    unknown = any(value.tensors & moving for value in problem.opaque.values())
    if unknown or not_followed(problem, "vjp_is_adjoint"):  # then `derivative` would not be the function's own
        return NOTHING
    derivative = differentiated(problem, problem.facts, ())
    if derivative.failure is not None:
        return NOTHING
    ((returned, right, _),) = adjoint_of_derivative_obligation(problem, derivative).pairs
    difference = right - returned
    (tangent,) = problem.tangents.values()
    argument = problem.inputs[problem.differentiable[0]]
    groups = paired_by_coordinates(difference, {tangent: argument.shape}, [{tangent}])
    if len(groups) != 1 or extent(groups[0][0]) > longest:
        return NOTHING
    coefficient, places = groups[0]  # the coefficient of the tangent's entry at the indices `places`
    if len(places) != len(argument.shape) or coefficient.free - {*places}:
        return NOTHING
    names = dict(zip(places, letters({*one.arg_names, *one.signature.names}), strict=False))
    lacking = term(coefficient, names)
    if any(mentions(coefficient, {name}) for name in problem.opaque):  # an opaque value has no name that a reader knows
        return NOTHING
    text = term_text(lacking)
    entry = f"{one.moving[0]}[{','.join(names.values())}]" if names else one.moving[0]
    what = "the cotangent" if "jvp_is_derivative" not in one.kinds else "the transpose, the cotangent"
    if len(text) > longest:
        return NOTHING
    return Missing(f"add to {what} of {entry}: {text}", lacking, tuple(names.values()))
