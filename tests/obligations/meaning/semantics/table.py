"""All examples. A primitive with semantics has at least one; one entry is its whole test.

`EXAMPLES` are compared with JAX; `EVERY` also has those of primitives that cannot be compared, or have no semantics,
for the table of coverage.
"""

from __future__ import annotations

from tests.obligations.meaning.semantics.example import Example
from tests.obligations.meaning.semantics.examples_complex import COMPLEX
from tests.obligations.meaning.semantics.examples_control import CONTROL
from tests.obligations.meaning.semantics.examples_devices import DEVICES
from tests.obligations.meaning.semantics.examples_elementwise import ELEMENTWISE, SPECIAL
from tests.obligations.meaning.semantics.examples_indices import INDICES
from tests.obligations.meaning.semantics.examples_linear_algebra import LINEAR_ALGEBRA
from tests.obligations.meaning.semantics.examples_open import OPEN
from tests.obligations.meaning.semantics.examples_order import ORDER
from tests.obligations.meaning.semantics.examples_programs import NOT_COMPARED, PROGRAMS
from tests.obligations.meaning.semantics.examples_structure import COMPOSED, MOVES, REDUCTIONS

EXAMPLES: list[Example] = [
    *ELEMENTWISE,
    *SPECIAL,
    *MOVES,
    *REDUCTIONS,
    *COMPOSED,
    *INDICES,
    *LINEAR_ALGEBRA,
    *CONTROL,
    *ORDER,
    *COMPLEX,
    *PROGRAMS,
]
EVERY: list[Example] = [*EXAMPLES, *NOT_COMPARED, *DEVICES, *OPEN]
