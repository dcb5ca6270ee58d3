"""Certificates in Coq: printed from the specification's reading of the traced programs, and judged by Coq's kernel."""

from ._errors import NotPrintedError
from ._export import EDITED, LIMIT, File, export, not_printed
from ._graph import QUIET, Argument, Claim, Graph, Lemma, Loop, Node, input_name
from ._graphs import export_graph, graph_not_printed
from ._kernel import AXIOMS, MEMORY, UNTRIED, Judged, Kernel, Obligation, Result
from ._library import INSTALL, RECORD, Library, NoCoqError, read_ways, sources, ways
from ._programs import MAX_TABLE
from ._statements import DEFINED, HOLD, is_obligation

__all__ = [
    "AXIOMS",
    "DEFINED",
    "EDITED",
    "HOLD",
    "INSTALL",
    "LIMIT",
    "MAX_TABLE",
    "MEMORY",
    "QUIET",
    "RECORD",
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
