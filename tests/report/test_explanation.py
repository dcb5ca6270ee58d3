"""`explain`: golden text for an op with a kink, one with a domain, a refuted one, and a code."""

from typing import Any

import msgspec
import pytest

from certgrad.language.parse import parse
from certgrad.obligations.certificate import Certificate, Hypothesis
from certgrad.report.codes import CODES
from certgrad.report.explanation import Declaration, explain_code, explain_op
from certgrad.report.wording import grounds
from tests.report import fabricated
from tests.report.golden import check


def explained(certificate: Certificate, doc: str, **fields: object) -> str:
    return explain_op(certificate, Declaration(doc, **fields))  # type: ignore[arg-type]


def test_relu() -> None:
    side = "[x[i] > 0]·dx[i]"
    equations = {"jvp_is_derivative": [(side, side)]}
    text = explained(
        fabricated.RELU, "max(x, 0), elementwise.", jax="jax.nn.relu", torch="torch.relu", equations=equations
    )
    check("explain_relu.txt", text)


def test_log() -> None:
    doc = "Natural logarithm, elementwise.\n\n    Outside its domain jnp.log returns NaN."
    check("explain_log.txt", explained(fabricated.LOG, doc, aliases=("ln",), params={"eps": "eps > 0", "c": None}))


def test_refuted_and_unproved() -> None:
    check("explain_mul.txt", explained(fabricated.SWAPPED, "Product.", broadcast=True))
    check("explain_sort.txt", explained(fabricated.UNKNOWN, ""))


@pytest.mark.parametrize(
    ("condition", "source", "outside", "why"),
    [
        ("x != 0", "division", "no derivative", "a division by it: the function has no derivative elsewhere"),
        ("x != 0", "division", "right", "the proof needs it: at points outside that were looked at, the function is "),
        ("x != 0", "division", msgspec.UNSET, "a division by it; excludes a set of measure zero"),
        ("x != 0", "kink", "no derivative", "the function has a kink elsewhere"),
        ("x > 0", "sqrt", "no derivative", "sqrt is differentiable only there"),
        ("x >= 0", "sqrt", msgspec.UNSET, "sqrt is defined only there"),
    ],
)
def test_why_points_are_excluded(condition: str, source: str, outside: Any, why: str) -> None:
    excluded = Hypothesis(
        text=condition,
        latex="",
        prose="",
        source=source,
        negligible=True,
        tree=parse(condition, ("x",)),
        outside=outside,
    )
    assert grounds(excluded).startswith(why)


def test_code() -> None:
    check("explain_CG102.txt", explain_code(CODES["CG102"]))


def test_of_a_rule_in_code_it_says_that_shapes_are_inferred_and_what_limits_it() -> None:
    certificate = fabricated.certificate(
        "pkg:f", *fabricated.both("pkg:f", signature="n d,  -> "), without_gradient=["w"]
    )
    said = Declaration(doc="", inferred='"n d, ()"', limits=[("warning", 'CG202 with "b n d" it is refuted')])
    lines = [line.split(None, 1) for line in explain_op(certificate, said).splitlines()[2:5]]
    assert lines == [
        ["verdict", "proved; no gradient for w"],
        ["warning", 'CG202 with "b n d" it is refuted'],
        ["signature", "n d, scalar (inferred)"],
    ]
