"""An audit made by hand: rules in code with places, findings of every kind, remarks, and what a baseline covers."""

from pathlib import Path
from typing import Any

import msgspec

from certgrad.obligations.certificate import Certificate
from certgrad.report.audited import Audit, RuleResult
from certgrad.report.findings import Remark
from tests.report import fabricated

BASE = Path.cwd()
"""Places are shown from the working directory."""


def renamed(certificate: Certificate, name: str) -> Certificate:
    """The certificate as that of a rule in code."""
    old = certificate.op
    claims = [msgspec.structs.replace(c, id=c.id.replace(old, name)) for c in certificate.claims]
    return msgspec.structs.replace(certificate, op=name, claims=claims)


def at(line: int, file: str = "pkg/losses.py") -> dict[str, str]:
    """The fields of a result that say where its rule is."""
    return {"where": f"{Path(file).name}:{line}", "file": str(BASE / file)}


def result(certificate: Certificate, seconds: float = 0.1, **fields: Any) -> RuleResult:
    return RuleResult(name=certificate.op, certificate=certificate, seconds=seconds, **fields)


def remarked(name: str, code: str, text: str, **fields: Any) -> RuleResult:
    """A rule, or a module, without a certificate."""
    return RuleResult(name=name, remarks=[Remark(code, text)], **fields)


MUL = renamed(fabricated.SWAPPED, "pkg.losses:mul")
SORT = renamed(fabricated.UNKNOWN, "pkg.losses:sort")
STRAIGHT = renamed(fabricated.STRAIGHT, "pkg.losses:straight_through")
RELU = renamed(fabricated.RELU, "pkg.losses:relu")
EVERY = Audit(
    [
        result(fabricated.LOG, 0.25),
        result(RELU, 0.5, **at(3), remarks=[Remark("CG206", "the signature has 2 arrays | not 1")]),
        result(
            MUL,
            1.5,
            **at(11),
            reproduction='print("100%")\n',
            remarks=[Remark("CG202", "its shapes are inferred (`*s, *s -> *s`)")],
        ),
        result(SORT, 0.125, **at(29, "pkg/a b,c:d.py")),
        result(STRAIGHT, 0.0625, **at(41), covered=["CG101"]),
        remarked("pkg.broken", "CG201", "not audited: ModuleNotFoundError: no <module>\nnamed x"),
    ],
    7.24,
    problems=("Cannot import 'pkg.gone': No module named 'pkg.gone'.",),
)
"""Of every verdict one; an op of the library; a file whose name needs care; a remark that fails."""
