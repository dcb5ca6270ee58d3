"""An audit made by hand: rules in code with places, findings of every kind, remarks, and what a baseline covers."""

from pathlib import Path

import msgspec

from certgrad.obligations.certificate import Certificate
from certgrad.report.audited import Audit, Audited, Place, Remarked
from tests.report import fabricated

BASE = Path("/repository")


def renamed(certificate: Certificate, name: str) -> Certificate:
    """The certificate as that of a rule in code."""
    old = certificate.op
    claims = [msgspec.structs.replace(c, id=c.id.replace(old, name)) for c in certificate.claims]
    return msgspec.structs.replace(certificate, op=name, claims=claims)


def at(line: int, file: str = "pkg/losses.py") -> Place:
    return Place(str(BASE / file), line, f"{file}:{line}")


MUL = renamed(fabricated.SWAPPED, "pkg.losses:mul")
SORT = renamed(fabricated.UNKNOWN, "pkg.losses:sort")
STRAIGHT = renamed(fabricated.STRAIGHT, "pkg.losses:straight_through")
RELU = renamed(fabricated.RELU, "pkg.losses:relu")
EVERY = Audit(
    [
        Audited(fabricated.LOG, 0.25),
        Audited(RELU, 0.5, place=at(3)),
        Audited(MUL, 1.5, 'print("100%")\n', at(11)),
        Audited(SORT, 0.125, place=at(29, "pkg/a b,c:d.py")),
        Audited(STRAIGHT, 0.0625, place=at(41), covered=frozenset({"CG101"})),
    ],
    7.24,
    [
        Remarked("pkg.losses:mul", "CG202", "its shapes are inferred (`*s, *s -> *s`)", at(11)),
        Remarked("pkg.broken", "CG201", "not audited: ModuleNotFoundError: no <module>\nnamed x"),
        Remarked("pkg.losses:relu", "CG206", "the signature has 2 arrays | not 1", at(3), fails=True),
    ],
    missing=1,
    problems=("Cannot import 'pkg.gone': No module named 'pkg.gone'.",),
)
"""Of every verdict one; an op of the library; a file whose name needs care; a remark that fails."""
