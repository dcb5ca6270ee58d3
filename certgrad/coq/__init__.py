"""Certificates in Coq: printed from the specification's reading of the traced programs, and judged by Coq's kernel."""

from ._errors import NotPrintedError
from ._export import CHECKSUM_MISMATCH, LIMIT, File, export, not_printed
from ._graph import NO_CLAIM, Argument, Claim, Graph, Lemma, Loop, Node, input_name
from ._graphs import export_graph, graph_not_printed
from ._kernel import AXIOMS, MEMORY, UNTRIED, Judged, Kernel, Obligation, Result
from ._library import INSTALL, RECORD_FILE, Library, NoCoqError, read_ways, sources, ways
from ._programs import MAX_TABLE
from ._statements import CAN_HOLD_KIND, DEFINED_SUFFIX, is_obligation

__all__ = [
    "AXIOMS",
    "CAN_HOLD_KIND",
    "CHECKSUM_MISMATCH",
    "DEFINED_SUFFIX",
    "INSTALL",
    "LIMIT",
    "MAX_TABLE",
    "MEMORY",
    "NO_CLAIM",
    "RECORD_FILE",
    "UNTRIED",
    "Argument",
    "Claim",
    "File",
    "Graph",
    "Judged",
    "Kernel",
    "Lemma",
    "Library",
    "Loop",
    "NoCoqError",
    "Node",
    "NotPrintedError",
    "Obligation",
    "Result",
    "export",
    "export_graph",
    "graph_not_printed",
    "input_name",
    "is_obligation",
    "not_printed",
    "read_ways",
    "sources",
    "ways",
]
