"""The certificate of a training step, from those of the loss's graph, the seed of a scalar loss, and the update."""

from __future__ import annotations

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
    # The step is right if the gradient is, the sweep starts from the right seed, and the program is the stated update.
    verdict = worst([gradient.verdict, seed.verdict, equality.verdict])
    # Hypotheses of the update that nobody has to check: those that every step keeps, and those on moments, gradients
    # and parameters that follow from the update's conditions on its hyperparameters.
    kept_hypotheses = _kept_hypotheses(equality, update, invariant, trained)
    on_arrays = names_of(update, trained, (THETA, GRADIENT, *update.moments))
    on_values = names_of(update, [*trained, *unchanged], (THETA, GRADIENT))
    if invariant is None or invariant.proved:  # the conditions and the signs then hold at each step
        on_state = [h for h in equality.claim.hypotheses if h not in kept_hypotheses and on_arrays & arrays(h.tree)]
        implied_hypotheses = [h for h in on_state if implied(h.tree, update, trained)]
    else:
        implied_hypotheses = []
    hypotheses = [f"gradient: {h}" for h in dict.fromkeys(h.text for h in gradient.hypotheses)]
    hypotheses += [f"gradient: {d}" for d in gradient.dimensions]
    of_update = [h.text for h in equality.claim.hypotheses if h not in kept_hypotheses and h not in implied_hypotheses]
    if implied_hypotheses:
        of_update = list(dict.fromkeys([*of_update, *update.conditions]))
    hypotheses += [f"update: {text}" for text in of_update]
    findings = list(gradient.findings)
    if not equality.proved:
        where = f" ({at_witness(equality.witness)})" if equality.witness is not None else ""
        findings.append(f"the update {program} is {equality.verdict}: {equality.reason}{where}")
    # A hypothesis on gradients or parameters cannot be checked ahead: with one, the step is not proved.
    if open_hypotheses := [
        h.text for h in equality.claim.hypotheses if on_values & arrays(h.tree) and h not in implied_hypotheses
    ]:
        verdict = worst([verdict, "unproved"])
        findings.append(
            f"the update {program} is the stated one where {', '.join(open_hypotheses)}; whether gradients and "
            "parameters are ever like that, under the hypotheses of the gradient, is not known"
        )
    loss = gradient.graph.name
    names = ", ".join(trained)
    conclusions = [
        _of_gradient(gradient, seed, trained),
        Conclusion(
            name="update",
            statement=f"{'; '.join(update.formula)}, for every θ in {names}",
            holds=equality.proved and not open_hypotheses,
        ),
        Conclusion(
            name="the rest",
            statement=f"unchanged: {', '.join(unchanged) or 'no other parameter'}",
            holds=equality.proved and not open_hypotheses,
        ),
    ]
    return StepCertificate(
        format=FORMAT,
        loss=loss,
        update=_statement(update),
        program=program,
        trained=trained,
        unchanged=unchanged,
        verdict=verdict,
        conclusions=conclusions,
        hypotheses=hypotheses,
        kept=[h.text for h in kept_hypotheses],
        findings=findings,
        assumptions=[*gradient.assumptions, *(f"In the update, {note}." for note in equality.rests_on)],
        gradient=gradient,
        seed=seed,
        equality=equality.certificate,
        invariant=None if invariant is None else invariant.certificate,
    )


def unstated_certificate(
    gradient: GraphCertificate, update: Update, trained: list[str], unchanged: list[str]
) -> StepCertificate:
    """Return the certificate of a step without a formula: that the gradient is right, and which parameters stay."""
    seed = seed_theorem()
    hypotheses = [f"gradient: {h}" for h in dict.fromkeys(h.text for h in gradient.hypotheses)]
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
        hypotheses=[*hypotheses, *(f"gradient: {d}" for d in gradient.dimensions)],
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
