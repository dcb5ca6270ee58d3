"""Users' code: derivative rules (`jax.custom_vjp`, `jax.custom_jvp`, plain functions), and functions that are equal.

Submodules load on first use: reading a configuration does not load the kernel, and a rule that is proved does not load
what is looked at where one is not.
"""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

if TYPE_CHECKING:
    from ._approximation import approximation, ideals_of
    from ._assumed import assumed
    from ._at_sizes import at_sizes, first_sizes, read_sizes, refuted_at
    from ._causes import diagnosed
    from ._check import check
    from ._declaration import declare, named_function
    from ._equal import Equality, equal
    from ._failures import failure, refuted, runs
    from ._known_functions import is_long, known_as, known_beside, measured
    from ._merged import as_surrogate, merged, read_as_ideal, with_integers, with_value
    from ._multiples import listed, multiples, no_multiples
    from ._numeric import checked_numerically, pointed_to_solves
    from ._open_number import OpenNumber
    from ._projections import (
        granted,
        likely_properties,
        structures,
        with_properties,
    )
    from ._properties import check_properties, projected, properties_in
    from ._report import Report
    from ._reproduction import of_failure, reproduction
    from ._second_order import gradients_of
    from ._statics import each, real
    from ._traced import forward_of, traces

_PUBLIC = {
    "Equality": "_equal",
    "Report": "_report",
    "check": "_check",
    "declare": "_declaration",
    "each": "_statics",
    "equal": "_equal",
    "real": "_statics",
}

_FOR_SOME_RULES = {
    "OpenNumber": "_open_number",
    "approximation": "_approximation",
    "as_surrogate": "_merged",
    "check_properties": "_properties",
    "granted": "_projections",
    "projected": "_properties",
    "properties_in": "_properties",
    "structures": "_projections",
    "with_properties": "_projections",
    "assumed": "_assumed",
    "at_sizes": "_at_sizes",
    "checked_numerically": "_numeric",
    "diagnosed": "_causes",
    "differs_at_a_point": "_numeric",
    "failure": "_failures",
    "first_sizes": "_at_sizes",
    "forward_of": "_traced",
    "gradients_of": "_second_order",
    "ideals_of": "_approximation",
    "is_long": "_known_functions",
    "known_as": "_known_functions",
    "known_beside": "_known_functions",
    "likely_properties": "_projections",
    "listed": "_multiples",
    "measured": "_known_functions",
    "merged": "_merged",
    "multiples": "_multiples",
    "no_multiples": "_multiples",
    "named_function": "_declaration",
    "of_failure": "_reproduction",
    "pointed_to_solves": "_numeric",
    "read_as_ideal": "_merged",
    "read_sizes": "_at_sizes",
    "refuted_at": "_at_sizes",
    "refuted": "_failures",
    "reproduction": "_reproduction",
    "runs": "_failures",
    "traces": "_traced",
    "with_integers": "_merged",
    "with_value": "_merged",
}
"""What only some rules need: those that are wrong, fail, stay open, take numbers, or approximate a function."""

__all__ = ["Equality", "Report", "check", "declare", "each", "equal", "real"]


__getattr__ = door(__name__, _PUBLIC | _FOR_SOME_RULES)
