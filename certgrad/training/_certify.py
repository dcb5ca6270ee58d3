"""The certificate of a training step, from those of the loss's graph, the seed of a scalar loss, and the update."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import jax.numpy as jnp

from certgrad.graph.certificate import Conclusion, GraphCertificate, Theorem
from certgrad.graph.certifying.own_witness import at_witness
from certgrad.language.tree import ZERO, Array, Compare, arrays
from certgrad.obligations.certificate import PROVED_AS_WRITTEN, Hypothesis, worst
from certgrad.rules import Equality, equal
from certgrad.training._proof import implied, names_of
from certgrad.training._updates import COUNT, GRADIENT, THETA, Update
from certgrad.training.certificate import FORMAT, Statement, StepCertificate

SEED = (
    "Let J be the derivative of a scalar loss, a row, and s ↦ Jᵀs its sweep. Then the sweep of the seed 1 is the "
    "gradient: ⟨Jᵀ·1, dx⟩ = J·dx for every dx."
)


@lru_cache
def seed_theorem() -> Theorem:
    """Return the theorem that the seed of a scalar loss is 1, proved by the kernel for rows of any length."""

    def change(J, dx):  # type: ignore[no-untyped-def]
        return (J @ dx)[0]

    def against_the_sweep_of_one(J, dx):  # type: ignore[no-untyped-def]
        return jnp.dot(J.T @ jnp.ones(1, J.dtype), dx)

    equality = equal(change, against_the_sweep_of_one, "1 n, n")
    holds = equality.verdict == "proved"
    digest = equality.certificate.digest[:32]
    return Theorem(
        name="the seed of a scalar loss", statement=SEED, verdict="proved" if holds else "unproved", digest=digest
    )


def step_certificate(
    gradient: GraphCertificate,
    update: Update,
    program: str,
    trained: list[str],
    unchanged: list[str],
    equality: Equality,
    invariant: Equality | None,
) -> StepCertificate:
    """Return the certificate of a training step from those of its parts.

    Args:
        gradient: the certificate of the loss's graph.
        update: the stated update.
        program: the name of the program that takes the update's step.
        trained: the parameters that the step changes.
        unchanged: the parameters that the step returns as they are.
        equality: the proof that the program takes the stated step, from `prove_update`.
        invariant: the proof that the step keeps the signs of the moments, from `prove_kept`; None if the update states
            no signs.
    """
    seed = seed_theorem()
    hypotheses = _update_hypotheses(update, trained, unchanged, equality, invariant)
    # The step is right if the gradient is, the sweep starts from the right seed, and the program is the stated update.
    verdict = worst([gradient.verdict, seed.verdict, equality.verdict])
    findings = list(gradient.findings)
    if not equality.proved:
        where = f" ({at_witness(equality.witness)})" if equality.witness is not None else ""
        findings.append(f"the update {program} is {equality.verdict}: {equality.reason}{where}")
    if hypotheses.unknown:
        verdict = worst([verdict, "unproved"])
        findings.append(
            f"the update {program} is the stated one where {', '.join(hypotheses.unknown)}; whether gradients and "
            "parameters are ever like that, under the hypotheses of the gradient, is not known"
        )
    of_update_hold = equality.proved and not hypotheses.unknown
    return StepCertificate(
        format=FORMAT,
        loss=gradient.graph.name,
        update=_statement(update),
        program=program,
        trained=trained,
        unchanged=unchanged,
        verdict=verdict,
        conclusions=[
            _of_gradient(gradient, seed, trained),
            Conclusion(
                name="update",
                statement=f"{'; '.join(update.formula)}, for every θ in {', '.join(trained)}",
                holds=of_update_hold,
            ),
            Conclusion(
                name="the rest",
                statement=f"unchanged: {', '.join(unchanged) or 'no other parameter'}",
                holds=of_update_hold,
            ),
        ],
        hypotheses=[*_gradient_hypotheses(gradient), *(f"update: {text}" for text in hypotheses.to_check)],
        kept=[h.text for h in hypotheses.kept],
        findings=findings,
        assumptions=[*gradient.assumptions, *(f"In the update, {note}." for note in equality.rests_on)],
        gradient=gradient,
        seed=seed,
        equality=equality.certificate,
        invariant=None if invariant is None else invariant.certificate,
    )


@dataclass(frozen=True)
class _UpdateHypotheses:
    """The hypotheses under which the program takes the stated step, by who sees that they hold."""

    kept: list[Hypothesis]
    """Those on the state that hold at the start and that every step keeps: nobody has to check them."""
    to_check: list[str]
    """The others as texts, with the update's conditions on its hyperparameters in place of what these imply."""
    unknown: list[str]
    """Those among the others on gradients or parameters, as texts: they cannot be checked before the step."""


def _update_hypotheses(
    update: Update, trained: list[str], unchanged: list[str], equality: Equality, invariant: Equality | None
) -> _UpdateHypotheses:
    """Return the hypotheses of the proof of the update. The arguments are those of `step_certificate`."""
    kept = _kept_hypotheses(equality, update, invariant, trained)
    on_arrays = names_of(update, trained, (THETA, GRADIENT, *update.moments))
    on_values = names_of(update, [*trained, *unchanged], (THETA, GRADIENT))
    # Some on moments, gradients and parameters follow from the update's conditions, if the signs hold at each step.
    implied_hypotheses: list[Hypothesis] = []
    if invariant is None or invariant.proved:
        on_state = [h for h in equality.claim.hypotheses if h not in kept and on_arrays & arrays(h.tree)]
        implied_hypotheses = [h for h in on_state if implied(h.tree, update, trained)]
    to_check = [h.text for h in equality.claim.hypotheses if h not in kept and h not in implied_hypotheses]
    if implied_hypotheses:
        to_check = list(dict.fromkeys([*to_check, *update.conditions]))
    unknown = [h.text for h in equality.claim.hypotheses if on_values & arrays(h.tree) and h not in implied_hypotheses]
    return _UpdateHypotheses(kept, to_check, unknown)


def unstated_certificate(
    gradient: GraphCertificate, update: Update, trained: list[str], unchanged: list[str]
) -> StepCertificate:
    """Return the certificate of a step without a formula: that the gradient is right, and which parameters stay."""
    seed = seed_theorem()
    rest = "unchanged: " + (", ".join(unchanged) or "no other parameter") + ": the transformation is given no other"
    return StepCertificate(
        format=FORMAT,
        loss=gradient.graph.name,
        update=_statement(update),
        program=update.name,
        trained=trained,
        unchanged=unchanged,
        verdict=worst([gradient.verdict, seed.verdict]),
        conclusions=[
            _of_gradient(gradient, seed, trained),
            Conclusion(name="the rest", statement=rest, holds=True),
        ],
        hypotheses=_gradient_hypotheses(gradient),
        kept=[],
        findings=list(gradient.findings),
        assumptions=[
            *gradient.assumptions,
            f"Of the update, {update.name}, no formula is stated and nothing is proved: it runs as it is.",
        ],
        gradient=gradient,
        seed=seed,
        equality=None,
        invariant=None,
    )


def _gradient_hypotheses(gradient: GraphCertificate) -> list[str]:
    """Return the hypotheses of the gradient, each once, then those on sizes."""
    texts = [*dict.fromkeys(h.text for h in gradient.hypotheses), *gradient.dimensions]
    return [f"gradient: {text}" for text in texts]


def _of_gradient(gradient: GraphCertificate, seed: Theorem, trained: list[str]) -> Conclusion:
    names = ", ".join(trained)
    return Conclusion(
        name="gradient",
        statement=f"g = ∂{gradient.graph.name}/∂θ for θ in {names}: backprop of the seed 1",
        holds=gradient.verdict in PROVED_AS_WRITTEN and seed.verdict in PROVED_AS_WRITTEN,
    )


def _statement(update: Update) -> Statement:
    return Statement(
        name=update.name,
        formula=list(update.formula),
        source=update.source,
        hyperparameters=list(update.hyperparameters),
        state=[*update.moments, *(["t"] if update.counts else [])],
    )


def _kept_hypotheses(
    equality: Equality, update: Update, invariant: Equality | None, trained: list[str]
) -> list[Hypothesis]:
    """Return the hypotheses on the state that hold at the start and that every stated step keeps.

    These are the signs of moments, if `invariant` is proved, and `t >= 0` if the update counts its steps.
    """
    signs = {(">=", name) for name in names_of(update, trained, update.nonnegative)}
    signs |= {(">", name) for name in names_of(update, trained, update.positive)}
    with_signs = [(h, *_of_sign(h)) for h in equality.claim.hypotheses]
    signs_of_moments = [h for h, relation, name in with_signs if (relation, name) in signs]
    sign_of_count = [h for h, relation, name in with_signs if update.counts and (relation, name) == (">=", COUNT)]
    return (signs_of_moments if invariant is not None and invariant.proved else []) + sign_of_count


def _of_sign(hypothesis: Hypothesis) -> tuple[str, str]:
    """Return relation and array of a hypothesis that is just `array > 0` or `array >= 0`; of any other, empty texts."""
    s = hypothesis.tree
    if isinstance(s, Compare) and s.relation in (">", ">=") and s.right == ZERO and isinstance(s.left, Array):
        return s.relation, s.left.name
    return "", ""
