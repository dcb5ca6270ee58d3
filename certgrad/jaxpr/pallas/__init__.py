"""What a Pallas kernel computes, as a program without references: its grid gone through step by step.

A step works on blocks of the operands and of the outputs. What it leaves in a block and in its scratch is the next
step's, where that works on the same block, as Pallas promises for a grid whose steps run one after another; all else
that a kernel finds in its outputs and its scratch is no number. What the compiler makes of a kernel is not seen.
"""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

if TYPE_CHECKING:
    from ._grid import in_order, program
    from ._memory import KernelError

_PUBLIC = {
    "KernelError": "_memory",
    "in_order": "_grid",
    "program": "_grid",
}

__getattr__ = door(__name__, _PUBLIC)
