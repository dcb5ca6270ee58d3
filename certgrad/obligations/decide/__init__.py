"""Deciding whether a term is zero: case splits, sums over index sets, pairing, induction."""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

if TYPE_CHECKING:
    from . import correspondence, implicit, index_sets, induction, matrix_forms, off_zero, related

__getattr__ = door(__name__, modules="correspondence implicit index_sets induction matrix_forms off_zero related")
