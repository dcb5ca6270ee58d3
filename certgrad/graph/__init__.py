"""Whole models as graphs: traced at symbolic dimensions, and certified by induction over their nodes.

graph = trace(loss, "x: n d", "W: d h", "target: n h")
certificate = certify(graph)
"""

from certgrad.graph.certificate import GraphCertificate, decode, encode
from certgrad.graph.certifying.certify import certify
from certgrad.graph.ir import Graph, Node
from certgrad.graph.tracing.trace import TracedGraph, trace
from certgrad.graph.tracing.wellformed import check
from certgrad.graph.wording.describe import describe

__all__ = [
    "Graph",
    "GraphCertificate",
    "Node",
    "TracedGraph",
    "certify",
    "check",
    "decode",
    "describe",
    "encode",
    "trace",
]
