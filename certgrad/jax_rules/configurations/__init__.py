"""The declared configurations, one concept a file: an audit of JAX covers what is listed here.

The name of a configuration's subject is that of a primitive, or of a function (`jax.nn.relu`).
"""

from .._configuration import Configuration
from .complex_numbers import COMPLEX
from .control import CONTROL
from .devices import DEVICES
from .elementwise import ELEMENTWISE
from .indexing import INDEXING
from .jax_nn import NN
from .jax_numpy import NUMPY
from .jax_scipy_special import SCIPY_SPECIAL
from .linear_algebra import LINEAR_ALGEBRA
from .logic import LOGIC
from .order import ORDER
from .reductions import CONTRACTIONS, REDUCTIONS
from .references import REFERENCES
from .sparse import SPARSE
from .special import SPECIAL
from .structure import STRUCTURE
from .windows import WINDOWS

CONFIGURATIONS: list[Configuration] = [
    *ELEMENTWISE,
    *SPECIAL,
    *LOGIC,
    *STRUCTURE,
    *REDUCTIONS,
    *CONTRACTIONS,
    *WINDOWS,
    *INDEXING,
    *ORDER,
    *LINEAR_ALGEBRA,
    *CONTROL,
    *COMPLEX,
    *DEVICES,
    *REFERENCES,
    *SPARSE,
    *NN,
    *NUMPY,
    *SCIPY_SPECIAL,
]
"""Every configuration, in the order of the report."""
