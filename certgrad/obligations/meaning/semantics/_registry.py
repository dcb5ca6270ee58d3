"""The table of primitive semantics, and what a rule may ask of its context."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from certgrad.obligations.assume.conditions import Clause
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.tensor import Tensor
from certgrad.obligations.terms.index import Ix
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.tracing.jax_internals import is_det, is_sign_bit, is_slogdet
from certgrad.process.on_demand import Table

from ..literals import Reading

Params = dict[str, Any]
Rule = Callable[..., list[Tensor]]
"""`(context, parameters, shapes of the results, *operands) -> results`."""

Control = Callable[["Context", Any, list[bool], list[Tensor | None]], list[Tensor | None]]
"""`(context, equation, which outputs are needed, inputs) -> outputs`."""


@dataclass(frozen=True)
class Runs:
    """The semantics of a primitive that runs inner programs."""

    control: Control


RULES: Table[Rule | Runs] = Table(
    __package__,
    "_elementwise _specified _casts _linear_algebra _branches _integers _division _order "
    "_loops _factorisations _solvers _folds",
)
"""By primitive, and by the name of a function in `LIBRARY`."""

LIBRARY: dict[str, Callable[[Any], bool]] = {
    "jax.numpy.linalg.det": is_det,
    "jax.numpy.linalg.slogdet": is_slogdet,
    "jax.numpy.signbit": is_sign_bit,
}
"""Functions of JAX's library that have semantics of their own, each with whether an equation is a call of it."""


class UnprovedError(Exception):
    """The calculus cannot follow the program. The message is the reason that the verdict gives."""


class Context:
    """What the interpretation of one program carries along.

    `facts` hold for every call (constraints on parameters), `reading` says what float literals mean. `notes` collects
    what the certificate must say: idealisations such as a narrowing cast. `stop` keeps `stop_gradient` visible, for
    differentiating a forward, by the inputs that are `moving`. With `opaque`, what cannot be followed is a value of
    which nothing is known, and recorded there (see `_opaque`).
    """

    def __init__(
        self,
        facts: Facts,
        stop: bool = False,
        reading: Reading | None = None,
        opaque: dict[str, Any] | None = None,
        moving: frozenset[str] = frozenset(),
    ) -> None:
        """Start an interpretation. `moving` names the differentiated inputs; `opaque` collects values that cannot be
        followed.

        `stop` keeps `stop_gradient` as a function of its own, with an arbitrary tangent.
        """
        self.facts = facts
        self.reading = reading or Reading()
        self.stop = stop
        self.moving = moving
        self.opaque: dict[str, Any] = {} if opaque is None else opaque
        self.everything_followed = opaque is None
        """Whether an equation that cannot be followed ends the interpretation: also inside loops and branches."""
        self.names_tables = opaque is not None
        """Whether a large table may be a value of which nothing is known but its name (`_tables`)."""
        self.notes: dict[str, None] = {}
        self.used_facts: dict[str, None] = {}
        self.primitives: dict[str, None] = {}
        self.known: dict[Any, tuple[list[Tensor], list[Tensor]]] = {}
        """What equations gave, by what they do and to which values, with these values (see `_interpreter`)."""
        self.untouched: dict[int, Tensor] = {}
        """Inputs, constants and what has their entries elsewhere, by object: the floats are those of the term."""
        self.arrays: dict[int, tuple[Tensor, Any]] = {}
        """Constant arrays of programs, by the objects that they are as tensors, with these."""
        self.integers: dict[int, tuple[Tensor, Any]] = {}
        """Integers whose values are known, by the objects that they are as tensors, with these (`_known_integers`)."""
        self.tests: dict[Var, Poly] = {}
        """For each loop that ends by its values, the variable that numbers its steps, and its test as 0 or 1."""
        self.ranges: dict[Var, Poly] = {}
        """The ranges of the variables that number the steps of loops."""
        self.wrapped: dict[int, tuple[Tensor, Ix]] = {}
        """Sums of an index and a size of which it is not said that they fit, by object, with the index (`_fits`)."""
        self.in_range: dict[Clause, None] = {}
        """What says of indices that are clamped that they need not be, as it is asked of those that are not."""
        self.equation: Any = None
        """The equation that is being read."""

    @property
    def dtypes(self) -> tuple[Any, ...]:
        """The operands' types in the equation that is being read."""
        return tuple(v.aval.dtype for v in self.equation.invars)

    def note(self, text: str) -> None:
        self.notes.setdefault(text)


rule = RULES.adds
"""Registers the semantics of primitives or functions: `(context, params, output shapes, *inputs) -> outputs`."""


def control(name: str) -> Callable[[Control], Control]:
    """Register the semantics of a primitive that runs inner programs."""

    def register(f: Control) -> Control:
        RULES.add(name, Runs(f))
        return f

    return register


_GROUPS: dict[str, str] = {
    "a collective over devices": """all_gather all_gather_invariant all_gather_reduced all_to_all axis_index
        pbroadcast pbroadcast_dynamic pmax pmin ppermute preduced psum psum_invariant psum_scatter ragged_all_to_all
        reduce_scatter pvary reduced_vary_cast reduced_vary_cast_p shard_map unreduced_psum unreduced_reduce_scatter
        vary_unreduced_cast vary_unreduced_cast_p""",
    "sparse arrays": """bcoo_fromdense bcoo_sort_indices bcoo_spdot_general bcoo_sum_duplicates bcsr_dot_general
        bcsr_extract bcsr_fromdense bcsr_todense coo_fromdense csr_fromdense csr_matmat csr_matvec csr_todense spsolve
        todense""",
    "a call out of the program": """check debug_callback debug_print ffi_call inspect_sharding io_callback
        pure_callback""",
    "a place in memory": "relayout with_memory_space_constraint",
    "an order of effects": "program_order",
    "internal to JAX: in no finished program": "custom_lin eval_jaxpr stage",
    "a mutable reference": """accum_grad_in_ref addupdate array_ref empty_ref free_ref freeze get log_extend log_read
        new_log new_ref run_state swap""",
    "a value of a type that its author defines": "box_get box_set call_hi_primitive new_box",
    "random bits are opaque": """random_bits random_clone random_fold_in random_gamma random_seed random_split
        random_unwrap random_wrap threefry2x32""",
    "an extended dtype": "from_edtype to_edtype",
    "complex numbers, beside a primitive that has no reading as pairs of real ones": "complex conj eig fft imag real",
    "the float next to a number is nothing over the reals": "nextafter",
    "a reduction by an arbitrary function": "reduce reduce_window",
    "a factorisation that its equation alone does not determine": "schur",
    "the bits of a number are nothing over the reals": "bitcast_convert_type",
}
REFUSED: dict[str, str] = {name: reason for reason, names in _GROUPS.items() for name in names.split()}
