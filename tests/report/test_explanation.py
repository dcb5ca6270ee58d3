"""`explain`: golden text for an op with a kink, one with a domain, a refuted one, and a code."""

from certgrad.obligations.certificate import Certificate
from certgrad.report.codes import CODES
from certgrad.report.explanation import Declaration, explain_code, explain_op
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
