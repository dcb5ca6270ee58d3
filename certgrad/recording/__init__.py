"""Recording: a program runs as it is, the derivative rules that it calls are noted and audited when it has ended.

Submodules load on first use: a program that is recorded decides itself when JAX is imported, and how.
"""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

if TYPE_CHECKING:
    from ._audit import Recorded, audited
    from ._functions import Functions, certified
    from ._notes import Notes
    from ._notice import noticed
    from ._program import Ended, Program, run
    from ._record import Record
    from ._save import save

_PUBLIC = {
    "Ended": "_program",
    "Functions": "_functions",
    "Notes": "_notes",
    "Program": "_program",
    "Record": "_record",
    "Recorded": "_audit",
    "audited": "_audit",
    "certified": "_functions",
    "noticed": "_notice",
    "run": "_program",
    "save": "_save",
}

__all__ = [
    "Ended",
    "Functions",
    "Notes",
    "Program",
    "Record",
    "Recorded",
    "audited",
    "certified",
    "noticed",
    "run",
    "save",
]


__getattr__ = door(__name__, _PUBLIC)
