"""Everything here that touches JAX's internals: tracing at symbolic dimensions, and reading jaxprs.

Supports jax 0.10 (ClosedJaxpr) and 0.11 (one Jaxpr class). The rest of the kernel sees only `Program`, equations and
dimensions as polynomials.
"""

from certgrad.jaxpr.keys import at_least, key_dtype, keys_from, sampler
from certgrad.jaxpr.programs import equations_of, is_dropped, is_literal, jaxpr_of

from ._approximations import approximation, inlined, with_ideals
from ._eager import EndlessError, Questions, computed_by, seen_platform, typed
from ._exact import computed, integers, integers_throughout, is_computed
from ._live import (
    ScanLoop,
    WhileLoop,
    branch_programs,
    live_equations,
    live_inputs,
    live_results,
    part_of,
    scan_loop,
    up_to_mark,
    while_loop,
)
from ._primitives import (
    SIDE_EFFECTS,
    genuine,
    has_effects,
    is_function,
    primitives_of,
    primitives_with_rules,
    tells,
    versions,
)
from ._programs import (
    Decision,
    Program,
    evaluate,
    inner_program,
    mark,
    of_equation,
    own_lines,
    primal_body,
    program_of,
    source_place,
)
from ._solvers import MarkedSolver, is_det, is_sign_bit, is_slogdet, marked_solver
from ._text import Serialiser, identity, remembered, serialised, serialised_all
from ._tracing import (
    abstract,
    asks_for_others,
    from_library,
    symbols,
    trace,
    trace_or_failure,
    unremembered,
    wide_floats,
)
from ._values import (
    DimExpr,
    bits_function,
    bits_of,
    data_of,
    dim_poly,
    keep_widths_apart,
    kind_of,
    literal_value,
    rounded_sizes,
    shape_polys,
    weakly_typed,
)

keep_widths_apart()
