"""Families of shapes that the proofs of one case cover without a proof of their own.

`pointwise` carries a proof from one form of an elementwise program to all of them. `ranks` says when a program treats
the axes of a star group (`*s` in a signature) as one axis, and when a program without these axes is the general one at
size 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from certgrad.obligations.assume.conditions import Clause
from certgrad.obligations.prove.problem import Programs, Shapes
from certgrad.obligations.prove.statements import Outcome
from certgrad.obligations.terms.session import clear_caches

from .instances import Instance
from .pointwise import Pointwise, Scalars, about_entries, read_at_each_index
from .ranks import SplitGroupError, collapsed

Hypotheses = Mapping[str, Sequence[Clause]]
"""The hypotheses of the proof of each obligation, by its kind."""


class Covered:
    """The families of shapes examined so far, the general one first, and what was proved at them."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._pointwise = Pointwise()
        self._scalars: dict[int, tuple[Programs, Scalars | None]] = {}
        self._elementwise: dict[tuple, Hypotheses] = {}
        self._general: tuple[Instance, Programs] | None = None
        self._known: Hypotheses | None = None
        self._shapes: Shapes | None = None
        self._texts: dict[tuple[str, ...], dict[str, str]] = {}

    def begin(self, instance: Instance, shapes: Shapes, programs: Programs) -> None:
        """Set the general programs, with which later ones are compared."""
        self._general, self._shapes = (instance, programs), shapes
        self._scalars_of(shapes, programs)

    def add(self, shapes: Shapes, programs: Programs, outcomes: Mapping[str, Outcome]) -> None:
        """Add the outcomes of the attempts at a family, by kind; if all are proved, they may cover other families."""
        proved = all(o.proved for o in outcomes.values())
        hypotheses = {kind: o.hypotheses for kind, o in outcomes.items()}
        if self._general is not None and programs is self._general[1]:
            self._known = hypotheses if proved else None
        scalars = self._scalars_of(shapes, programs)
        if scalars is not None and proved and all(map(about_entries, hypotheses.values())):
            self._elementwise[scalars.programs] = hypotheses

    def hypotheses(
        self, instance: Instance, shapes: Shapes, programs: Programs
    ) -> tuple[Hypotheses, Shapes, list[str]] | None:
        """Return what earlier proofs give for this family of shapes; None where none of them covers it.

        That is the hypotheses of the proof, the shapes at which these are stated, and the primitives of the programs
        where they are elementwise (else []). For elementwise programs the terms of earlier proofs are forgotten.
        """
        scalars = self._scalars_of(shapes, programs)
        if scalars is not None and scalars.programs in self._elementwise:
            clear_caches()
            proved = self._elementwise[scalars.programs]
            out = programs.out_shapes[0]
            stated = {kind: read_at_each_index(clauses, self._names, shapes, out) for kind, clauses in proved.items()}
            return stated, shapes, scalars.primitives
        if self._known is not None and self._shapes is not None and self._at_size_one(instance, programs):
            return self._known, self._shapes, []  # hypotheses read a star group as one axis, here of size 1
        return None

    def _at_size_one(self, instance: Instance, programs: Programs) -> bool:
        """Return whether the programs are the general ones without the star groups that have no axes here."""
        assert self._general is not None
        absent_groups = tuple(g for g, axes in self._general[0].groups.items() if axes and not instance.groups[g])
        try:
            return bool(absent_groups) and self._collapses(instance, programs, absent_groups)
        except SplitGroupError:
            return False

    def same_as_general(self, instance: Instance, shapes: Shapes, programs: Programs) -> bool:
        """Return whether the programs are the general ones at other ranks.

        Raises SplitGroupError where they treat axes of one star group differently.
        """
        return self.acts_alike_on_each_entry(shapes, programs) or self._collapses(instance, programs, ())

    def acts_alike_on_each_entry(self, shapes: Shapes, programs: Programs) -> bool:
        """Return whether these programs and the general ones act on each entry alone, and in the same way."""
        assert self._general is not None
        general = self._scalars[id(self._general[1])][1]
        scalars = self._scalars_of(shapes, programs)
        return general is not None and scalars is not None and general.programs == scalars.programs

    def _collapses(self, instance: Instance, programs: Programs, gone: tuple[str, ...]) -> bool:
        """Return whether the programs are the general ones where each star group is one axis, and those `gone` none."""
        assert self._general is not None
        general, reference = self._general
        if gone not in self._texts:
            self._texts[gone] = collapsed(reference.all(), general.groups, gone)
        return collapsed(programs.all(), instance.groups, gone) == self._texts[gone]

    def _scalars_of(self, shapes: Shapes, programs: Programs) -> Scalars | None:
        if id(programs) not in self._scalars:
            self._scalars[id(programs)] = programs, self._pointwise.scalars(programs, shapes)
        return self._scalars[id(programs)][1]
