"""The last step of a proof: other forms of the difference of both sides are tried until one is seen to vanish.

Each closer gives terms that are equal to the difference wherever the hypotheses hold. They are tried in the order of
the table; most differences vanish as they stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flint import fmpq

from certgrad.obligations import decide, laws
from certgrad.obligations.assume.fact import Fact
from certgrad.obligations.decide.cases import Region, nonzero_part
from certgrad.obligations.decide.pairing import paired, paired_by_coordinates
from certgrad.obligations.laws.recurrences import has_loop
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.sums import bounded_above

from .problem import Problem

if TYPE_CHECKING:
    from certgrad.obligations.decide.correspondence import Relation

Residue = tuple[Poly, tuple[Fact, ...]]
"""A part of a term that is not shown to be 0, and the signs of the region in which it is left."""
Form = tuple[Poly, Sequence["Relation"]]
"""A term that is equal to the difference, and the relations between loops that this rests on."""


@dataclass
class Closing:
    """The search for a form of a difference, `raw`, that vanishes where the hypotheses hold (in `region`).

    `families` are the names of the tangents and those of the seeds: as their entries are arbitrary, the difference is 0
    if the coefficient of each product of them is. `transposed` are the tangents whose loops have to be transposed, in
    an adjoint law; None for any other obligation.
    """

    raw: Poly
    region: Region
    problem: Problem
    families: Sequence[set[str]]
    transposed: Sequence[str] | None
    relations: list[Relation] = field(default_factory=list)
    """Relations between the carries of loops that the proof rests on."""

    def residue(self) -> Residue | None:
        """Return None if the difference is shown to be 0; else what is left of the last form that was tried.

        Loops are matched by induction first; then each closer of `CLOSERS` yields forms. The relations between loops
        that the vanishing form rests on are added to `relations`. Raises NoInvariantError where no relation between
        loops is found.
        """
        difference = self.raw
        if has_loop(difference):
            difference, relations = decide.induction.by_induction(difference, self.region, self.transposed)
            self.relations += relations
        left = self.left(difference)
        for closer in CLOSERS:
            if left is None:
                break
            for form, rests_on in closer(self, difference):
                left = self.left(form)
                if left is None:
                    self.relations += rests_on
                    break
        return left if left is None or not self._vanishes_at_places(difference) else None

    def _vanishes_at_places(self, difference: Poly) -> bool:
        """Return whether the difference is 0 with sorted entries of short axes written out place by place.

        False if it has no sorted entries.
        """
        region, forms = self.region, list(laws.places.at_places(difference, self.region.indices.ranges))
        return bool(forms) and all(nonzero_part(form, region.where(*order)) is None for form, order in forms)

    def left(self, difference: Poly) -> Residue | None:
        """Return None if every coefficient of the tangents' and seeds' entries is shown to be 0; else one that is not.

        Coefficients are read off in two ways. The first keeps entries apart whose indices are written differently, as
        dx[i] and dx[n − 1 − i]; the second, for indices that are more than variables, compares at free coordinates.
        """
        # A seed inside a loop is part of the loop's atom, so that its coefficient cannot be read off.
        families = self.families[:1] if has_loop(difference) else self.families
        tangents, seeds = [*families, set(), set()][:2]
        if families:
            applied(Law.PAIRED)
        groups = paired(difference, sorted(tangents), sorted(seeds))
        left = next(
            (part for group, ranges in groups if (part := self._of_group(group, self.region.over(ranges)))),
            None,
        )
        if left is None or not difference.structured:
            return left
        problem = self.problem
        shapes = {problem.tangents[problem.names[k]]: problem.inputs[k].shape for k in problem.differentiable}
        shapes |= {n: t.shape for n, t in zip(problem.seed_names, problem.seeds, strict=True)}
        by_coordinates = paired_by_coordinates(difference, shapes, families)
        return next(
            (part for group, ranges in by_coordinates if (part := self._of_group(group, self.region.over(ranges)))),
            None,
        )

    @staticmethod
    def _of_group(poly: Poly, region: Region) -> Residue | None:
        """Return None if a coefficient is shown to be 0, with its sums or matrices in other forms if need be.

        Else return what is left of it.
        """
        left = nonzero_part(poly, region)
        for further in _further(poly, region):
            if left is None:
                return None
            if further != poly:
                left = nonzero_part(further, region)
        return None if left is None or decide.matrix_forms.vanishes_in_another_form(poly, region) else left


def _further(poly: Poly, region: Region) -> Iterator[Poly]:
    """Yield forms of a term in which sums over roots of unity are carried out, or sums have other bounds."""
    carried_out = laws.roots_of_unity.carried_out(poly, region.indices.ranges)
    yield carried_out
    yield laws.half_spectra.carried_out(carried_out, region.indices.ranges)
    above = bounded_above(poly)
    yield above
    yield laws.sum_ends.with_ends(above, region.indices)


def _step_by_step(closing: Closing, difference: Poly) -> Iterator[Form]:
    """Yield forms of a difference with loops: carries at earlier steps, sums of products, short loops written out.

    In the first, the carry c[t + 1] is replaced by the loop's step from c[t]; in the second, a linear recurrence by its
    closed form.
    """
    if not has_loop(difference):
        return
    ranges = closing.region.indices.ranges
    yield decide.induction.oriented(laws.unfolding.unfolded(difference, ranges)), ()
    form = decide.induction.oriented(decide.correspondence.summed(difference, ranges))
    if form != difference:
        yield form, ()
    yield decide.correspondence.written_out(difference), ()


def _from_common_starts(closing: Closing, difference: Poly) -> Iterator[Form]:
    """Yield the difference with the common factors of linear recurrences' starts taken out."""
    form = laws.homogeneous.from_common_starts(difference) if has_loop(difference) else difference
    if form != difference:
        yield decide.induction.by_induction(form, closing.region)


def _summed(closing: Closing, difference: Poly) -> Iterator[Form]:
    """Yield the difference with every loop as a sum of products, none transposed: a recurrence beside its
    closed form.
    """
    if closing.transposed is not None and has_loop(difference):
        form = decide.correspondence.summed(closing.raw, closing.region.indices.ranges)
        if not has_loop(form):
            yield decide.induction.oriented(form), ()


def _in_exponentials(closing: Closing, difference: Poly) -> Iterator[Form]:
    """Yield the difference with carries in log space, as of a logsumexp, as logarithms of loops over exponentials."""
    facts = closing.region.facts
    form = laws.log_space.in_exponentials(closing.raw, facts) if has_loop(difference) else closing.raw
    if form != closing.raw:
        with suppress(laws.transposition.NoInvariantError):
            form, relations = decide.induction.by_induction(form, closing.region, closing.transposed)
            yield form, relations
            for further_form, further_relations in _from_common_starts(closing, form):
                yield further_form, [*relations, *further_relations]


def _transposed_otherwise(closing: Closing, difference: Poly) -> Iterator[Form]:
    """Yield the difference with its loops transposed in the two ways besides the usual one (`LookedAt.AFTER` and
    `CUT`), for carries that are read at times which vary.
    """
    if closing.transposed is None or not has_loop(difference):
        return
    transposition, induction = laws.transposition, decide.induction
    for looked_at in (transposition.LookedAt.AFTER, transposition.LookedAt.CUT):
        try:
            form, relations = induction.by_induction(closing.raw, closing.region, closing.transposed, looked_at)
        except transposition.NoInvariantError:
            continue
        yield form, relations
        yield induction.oriented(laws.unfolding.unfolded(form, closing.region.indices.ranges)), relations


def _by_equations(closing: Closing, difference: Poly) -> Iterator[Form]:
    """Yield the difference rewritten by solvers' equations, with one inverse for equal matrices."""
    for form in decide.implicit.solution_forms(difference, closing.region, closing.problem.input_shapes):
        yield form, ()


def _off_zero(closing: Closing, difference: Poly) -> Iterator[Form]:
    """Yield the difference with [p > 0] + [p < 0] = 1 for nonzero p, at each summed index and step of a loop."""
    looped = has_loop(difference)
    before = closing.raw if looped else difference
    form = decide.off_zero.off_zero(before, closing.region.facts)
    if form == before:
        return
    if not looped:
        yield form, ()
        # Rewriting may turn a sum over pairs of places into its mirror image, and that back: their mean is tried too.
        yield (form + decide.off_zero.off_zero(form, closing.region.facts)).scale(fmpq(1, 2)), ()
        return
    with suppress(laws.transposition.NoInvariantError):
        yield decide.induction.by_induction(form, closing.region, closing.transposed)


def _term_by_term(closing: Closing, difference: Poly) -> Iterator[Form]:
    """Yield the difference with sums over few values written out, also in steps of loops."""
    if not has_loop(difference):
        return
    written = laws.matrices.written_out(closing.raw, sums=True)
    if written != closing.raw:
        with suppress(laws.transposition.NoInvariantError):
            form, relations = decide.induction.by_induction(written, closing.region, closing.transposed)
            yield form, relations


CLOSERS: tuple[Callable[[Closing, Poly], Iterator[Form]], ...] = (
    _step_by_step,
    _from_common_starts,
    _summed,
    _transposed_otherwise,
    _in_exponentials,
    _term_by_term,
    _by_equations,
    _off_zero,
)
