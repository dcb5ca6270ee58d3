"""One rule a primitive, one concept a file. Importing this package registers all of them."""

from . import (
    casts,
    comparisons,
    contractions,
    control,
    cumulative,
    elementwise,
    functions,
    gather_scatter,
    linear_algebra,
    opaque,
    order,
    reductions,
    shape,
    windows,
)
