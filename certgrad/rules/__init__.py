"""Users' code: derivative rules (`jax.custom_vjp`, `jax.custom_jvp`, plain functions), and functions that are equal.

Submodules load on first use: reading a configuration does not load the kernel, and a rule that is proved does not load
what is looked at where one is not.
"""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

if TYPE_CHECKING:
    from .causes.causes import diagnosed
    from .causes.reproduction import of_failure, reproduction
    from .declared.declaration import declare, named_function
    from .declared.statics import each, real
    from .inference.known_functions import is_long, known_as, known_beside, measured
    from .judging.assumed import assumed
    from .judging.at_sizes import at_sizes, first_sizes, read_sizes, refuted_at
    from .judging.check import check
    from .judging.equal import Equality, equal
    from .judging.merged import as_surrogate, merged, read_as_ideal, with_integers, with_value
    from .judging.multiples import listed, multiples, no_multiples
    from .judging.numeric import checked_numerically, pointed_to_solves
    from .subject.approximation import approximation, ideals_of
    from .subject.failures import failure, refuted, runs
    from .subject.open_number import OpenNumber
    from .subject.orders import in_each_order, said_in_general, sizes_of_witnesses
    from .subject.projections import granted, likely_properties, structures, with_properties
    from .subject.properties import check_properties, projected, properties_in
    from .subject.report import Report
    from .subject.second_order import gradients_of
    from .subject.traced import forward_of, traces

_PUBLIC = {
    "Equality": "judging.equal",
    "Report": "subject.report",
    "check": "judging.check",
    "declare": "declared.declaration",
    "each": "declared.statics",
    "equal": "judging.equal",
    "real": "declared.statics",
}

_FOR_SOME_RULES = {
    "OpenNumber": "subject.open_number",
    "approximation": "subject.approximation",
    "as_surrogate": "judging.merged",
    "check_properties": "subject.properties",
    "granted": "subject.projections",
    "projected": "subject.properties",
    "properties_in": "subject.properties",
    "structures": "subject.projections",
    "with_properties": "subject.projections",
    "assumed": "judging.assumed",
    "at_sizes": "judging.at_sizes",
    "checked_numerically": "judging.numeric",
    "diagnosed": "causes.causes",
    "differs_at_a_point": "judging.numeric",
    "failure": "subject.failures",
    "first_sizes": "judging.at_sizes",
    "forward_of": "subject.traced",
    "gradients_of": "subject.second_order",
    "ideals_of": "subject.approximation",
    "in_each_order": "subject.orders",
    "is_long": "inference.known_functions",
    "known_as": "inference.known_functions",
    "known_beside": "inference.known_functions",
    "likely_properties": "subject.projections",
    "listed": "judging.multiples",
    "measured": "inference.known_functions",
    "merged": "judging.merged",
    "multiples": "judging.multiples",
    "no_multiples": "judging.multiples",
    "named_function": "declared.declaration",
    "of_failure": "causes.reproduction",
    "pointed_to_solves": "judging.numeric",
    "read_as_ideal": "judging.merged",
    "read_sizes": "judging.at_sizes",
    "refuted_at": "judging.at_sizes",
    "refuted": "subject.failures",
    "reproduction": "causes.reproduction",
    "runs": "subject.failures",
    "said_in_general": "subject.orders",
    "sizes_of_witnesses": "subject.orders",
    "traces": "subject.traced",
    "with_integers": "judging.merged",
    "with_value": "judging.merged",
}
"""What only some rules need: those that are wrong, fail, stay open, take numbers, or approximate a function."""

__all__ = ["Equality", "Report", "check", "declare", "each", "equal", "real"]


__getattr__ = door(__name__, _PUBLIC | _FOR_SOME_RULES)
