"""Running certified graphs: compiled by `jax.jit` from the programs that the certificate's lemmas are about."""

from certgrad.accel._check_sweep import check_sweep
from certgrad.accel._compile import CompiledGraph, NotCertifiedError, compile_graph
from certgrad.accel._export import ExportedGraph, ExportError, export_graph, load_exported
from certgrad.accel._guards import GuardError
from certgrad.accel._monitor import Monitor
from certgrad.accel._options import Options
from certgrad.accel._sweep import Sweep
from certgrad.accel.verify import GraphVerification, verify_graph

__all__ = [
    "CompiledGraph",
    "ExportError",
    "ExportedGraph",
    "GraphVerification",
    "GuardError",
    "Monitor",
    "NotCertifiedError",
    "Options",
    "Sweep",
    "check_sweep",
    "compile_graph",
    "export_graph",
    "load_exported",
    "verify_graph",
]
