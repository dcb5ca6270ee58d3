"""Whole models as graphs: traced at symbolic dimensions, and certified by induction over their nodes.

graph = trace(loss, "x: n d", "W: d h", "target: n h")
certificate = certify(graph)
"""

from certgrad.graph._certify import certify
from certgrad.graph._describe import describe
from certgrad.graph._trace import TracedGraph, trace
from certgrad.graph._wellformed import check
from certgrad.graph.certificate import GraphCertificate, decode, encode
from certgrad.graph.ir import Graph, Node

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
