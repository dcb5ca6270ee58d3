"""Certificates in Coq: printed from the specification's reading of the traced programs, and judged by Coq's kernel."""

from ._errors import NotPrintedError
from ._export import LIMIT, File, export, not_printed
from ._kernel import AXIOMS, UNTRIED, Judged, Kernel, Result
from ._library import INSTALL, Library, NoCoqError, sources
from ._statements import DEFINED

__all__ = [
    "AXIOMS",
    "DEFINED",
    "INSTALL",
    "LIMIT",
    "UNTRIED",
    "File",
    "Judged",
    "Kernel",
    "Library",
    "NoCoqError",
    "NotPrintedError",
    "Result",
    "export",
    "not_printed",
    "sources",
]
