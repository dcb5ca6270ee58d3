"""Everything that touches JAX's internals: tracing, programs as texts, primitives, symbolic sizes."""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

if TYPE_CHECKING:
    from . import ideals

__getattr__ = door(__name__, modules="ideals")
