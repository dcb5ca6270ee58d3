"""A Pallas kernel as a program without references, which runs the steps of the kernel's grid one after the other.

A step works on blocks of the operands and of the outputs. The contents of an output block and of the scratch memory
after a step are there at the start of the next step, if that works on the same block, as Pallas promises for a grid
whose steps run one after another. Anything else that a kernel reads from its outputs or its scratch is undefined. What
a compiler makes of the kernel is not modelled.
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
