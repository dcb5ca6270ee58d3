"""One obligation at one family of shapes: the problem, its proof, and a point that satisfies its hypotheses."""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

if TYPE_CHECKING:
    from . import excluded, negligible, satisfiable

__getattr__ = door(__name__, modules="excluded negligible satisfiable")
