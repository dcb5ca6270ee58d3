"""Certificates in Coq: printed from the specification's reading of the traced programs, and judged by Coq's kernel."""

from ._errors import NotPrintedError
from ._export import LIMIT, File, export
from ._kernel import AXIOMS, Judged, Kernel, Result
from ._library import INSTALL, Library, NoCoqError, sources

__all__ = [
    "AXIOMS",
    "INSTALL",
    "LIMIT",
    "File",
    "Judged",
    "Kernel",
    "Library",
    "NoCoqError",
    "NotPrintedError",
    "Result",
    "export",
    "sources",
]
