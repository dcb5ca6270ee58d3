"""Primitives: their registry, their owners, and those that a program runs."""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from typing import Any

import jax
from jax.extend import core as jex

from certgrad.jaxpr.programs import equations_of, jaxpr_of, programs_in
from certgrad.process.threads import Kept

from ._programs import of_equation


def primitives_with_rules() -> list[str]:
    """Return the names of JAX's primitives with a JVP or a transpose rule, sorted. Imports JAX's submodules."""
    from jax._src.interpreters import ad

    modules = ("jax.experimental.sparse", "jax.scipy.linalg", "jax.scipy.special", "jax.experimental.shard_map")
    for module in modules:
        with suppress(ImportError):
            importlib.import_module(module)
    # Only these modules count, whatever else of `jax.experimental` is loaded, so that the list is the same in every
    # process. Primitives of Pallas are left out: its kernels are read as programs without references (docs/pallas.md).
    namespaces = [
        vars(m)
        for n, m in list(sys.modules.items())
        if m is not None and n.startswith((*modules, "jax._src")) and not n.startswith("jax._src.pallas")
    ]
    offered = {id(x) for names in namespaces for x in list(names.values()) if isinstance(x, jex.Primitive)}
    with_rules = {p for table in (ad.primitive_jvps, ad.primitive_transposes) for p in table if id(p) in offered}
    names = {p.name for p in with_rules if genuine(p)}  # other packages register primitives of their own
    return sorted(n for n in names if not n.startswith("certgrad_"))  # an op's tangent is a primitive of our own


_own = Kept()
"""The primitives that modules of JAX and of certgrad hold, by identity; they live as long as the process."""


def genuine(primitive: Any) -> bool:
    """Return whether a primitive is JAX's own or certgrad's, and not a user's, which may have the same name.

    It is if a loaded module of JAX or certgrad holds this object.
    """
    if id(primitive) not in _own.table:
        loaded = [(name.partition(".")[0], m) for name, m in list(sys.modules.items()) if m is not None]
        modules = [m for top, m in loaded if top in ("jax", "certgrad")]
        _own.table.update((id(x), x) for m in modules for x in list(vars(m).values()) if isinstance(x, jex.Primitive))
    return id(primitive) in _own.table


def primitives_of(jaxpr: Any) -> set[str]:
    """Return the names of the primitives that a program runs, also in programs inside of it."""
    return {eqn.primitive.name for eqn in equations_of(jaxpr)}


_DRAWN = frozenset({"rng_uniform"})
"""Primitives that draw from a generator which the machine keeps: JAX counts them as free of effects."""


def is_function(eqn: Any) -> bool:
    """Return whether an equation gives equal outputs at equal operands: it has no effects and draws no random numbers.

    Draws from keys are functions of the keys.
    """
    return not getattr(eqn, "effects", None) and _DRAWN.isdisjoint(primitives_of(of_equation(eqn).jaxpr))


TELLS = ("debug_callback", "debug_print")
"""Primitives that send the host something and return nothing."""

SIDE_EFFECTS = {**dict.fromkeys(TELLS, "tells the host something"), "dce_sink": "asks that a value be computed"}
"""Primitives that return nothing to the program, and what they do."""


def tells(eqn: Any) -> bool:
    """Return whether an equation sends the host or the compiler something, and returns nothing to the program."""
    return eqn.primitive.name in SIDE_EFFECTS and not eqn.outvars and genuine(eqn.primitive)


def has_effects(jaxpr: Any) -> bool:
    """Return whether an equation of the program has an effect other than to tell the host something."""
    return any(_acts(eqn) for eqn in jaxpr.eqns)


def _acts(eqn: Any) -> bool:
    """Return whether an equation has an effect other than to tell the host something.

    An equation with programs inside has one if an equation inside has, or if it has an effect that is not of these.
    """
    if not getattr(eqn, "effects", None) or tells(eqn):
        return False
    inner = [*map(jaxpr_of, programs_in(eqn))]
    of_inner = {e for jaxpr in inner for e in getattr(jaxpr, "effects", None) or ()}
    return not eqn.effects <= of_inner or any(map(has_effects, inner))


def versions() -> dict[str, str]:
    """Return the versions that a proof depends on, by name."""
    import flint
    import islpy
    import sympy

    return {
        "flint": flint.__version__,
        "isl": str(islpy.version.VERSION_TEXT),
        "jax": jax.__version__,
        "sympy": sympy.__version__,
    }
