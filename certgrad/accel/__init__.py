"""Running certified graphs: compiled by `jax.jit` from the programs that the certificate's lemmas are about."""

from certgrad.accel._check_sweep import check_sweep
from certgrad.accel._compile import CompiledGraph, NotCertifiedError, compile_graph
from certgrad.accel._sweep import Sweep

__all__ = ["CompiledGraph", "NotCertifiedError", "Sweep", "check_sweep", "compile_graph"]
