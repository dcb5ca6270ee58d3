"""Certificates made by hand: one of every verdict. They stand for what the kernel returns, and prove nothing."""

from certgrad.language.parse import parse
from certgrad.obligations.certificate import (
    CODES,
    FORMAT,
    Ball,
    CaseClaim,
    Certificate,
    Claim,
    Convention,
    Hypothesis,
    ObligationKind,
    VerdictName,
    Witness,
    worst,
)
from certgrad.report.codes import CODES as MEANINGS

NONZERO = Hypothesis(
    text="x[i] ≠ 0",
    latex="x_{i} \\neq 0",
    prose="no entry of x is zero",
    source="max(x, 0)",
    negligible=True,
    tree=parse("x != 0", ("x",)),
)
POSITIVE = Hypothesis(
    text="x[i] > 0",
    latex="x_{i} > 0",
    prose="every entry of x is positive",
    source="the domain",
    negligible=False,
    tree=parse("x > 0", ("x",)),
)
WITNESS = Witness(
    dims={"n": 2},
    statics={},
    inputs={"x": ["1/2", "3"], "y": ["0", "-2"]},
    tangents={"x": ["1", "0"], "y": ["0", "0"]},
    seeds={"seed": ["1", "1"]},
    where="the inner products",
    lhs=Ball(midpoint="0.33333333333333333333333333333333333333", radius="1e-150"),
    rhs=Ball(midpoint="2", radius="0"),
    relative_gap="0.833",
)


def claim(
    op: str,
    kind: ObligationKind,
    verdict: VerdictName = "proved",
    hypotheses: tuple[Hypothesis, ...] = (),
    signature: str = "*s -> *s",
    reason: str = "",
    residual: str = "",
    witness: Witness | None = None,
) -> Claim:
    """A claim with one case."""
    case = CaseClaim(
        signature=signature,
        statics={},
        scope="all shapes, any rank",
        verdict=verdict,
        hypotheses=list(hypotheses),
        reason=reason,
        residual=residual,
        witness=witness,
    )
    return Claim(
        id=f"{op}.{kind}",
        code=CODES[kind],
        kind=kind,
        statement=MEANINGS[CODES[kind]].statement,
        verdict=verdict,
        hypotheses=list(hypotheses),
        cases=[case],
    )


def certificate(op: str, *claims: Claim, **fields: object) -> Certificate:
    """A certificate with the verdict of its claims."""
    defaults: dict = {
        "format": FORMAT,
        "op": op,
        "signature": [entry.signature for entry in claims[0].cases],
        "params": {},
        "domain": [],
        "verdict": worst([entry.verdict for entry in claims]),
        "claims": list(claims),
        "conventions": [],
        "source": f"torch.{op}",
        "digest": "0" * 64,
        "versions": {"certgrad": "0.1.0", "jax": "0.10.2"},
    }
    return Certificate(**(defaults | fields))


def both(
    op: str, verdict: VerdictName = "proved", hypotheses: tuple[Hypothesis, ...] = (), signature: str = "*s -> *s"
) -> tuple[Claim, Claim]:
    """The two laws with the same verdict."""
    return (
        claim(op, "jvp_is_derivative", verdict, hypotheses, signature),
        claim(op, "vjp_is_adjoint", verdict, hypotheses, signature),
    )


SIGMOID = certificate("sigmoid", *both("sigmoid"))
RELU = certificate(
    "relu",
    claim("relu", "jvp_is_derivative", "proved under hypotheses", (NONZERO,)),
    claim("relu", "vjp_is_adjoint"),
    conventions=[Convention(point="x = 0", rule="0", jax="0", torch="0")],
)
LOG = certificate("log", *both("log", "proved under hypotheses", (POSITIVE,)), domain=["x > 0"])
SWAPPED = certificate(
    "mul",
    claim("mul", "jvp_is_derivative", signature="*s, *s -> *s"),
    claim(
        "mul",
        "vjp_is_adjoint",
        "refuted",
        signature="*s, *s -> *s",
        reason="the two sides differ at a concrete point",
        residual="Σ_i seed[i]·(dx[i]·y[i] − dx[i]·x[i])",
        witness=WITNESS,
    ),
)
UNKNOWN = certificate(
    "sort",
    claim("sort", "jvp_is_derivative", "unproved", signature="n -> n", reason="primitive sort is not known"),
    claim("sort", "vjp_is_adjoint", signature="n -> n"),
)
STRAIGHT = certificate(
    "straight_through",
    claim("straight_through", "jvp_is_derivative", "surrogate", reason="declared: the rule is the identity"),
    claim("straight_through", "vjp_is_adjoint"),
)
SMOOTH = certificate("smooth_abs", *both("smooth_abs"), params={"eps": "eps > 0", "c": ""})
PROVED = [SIGMOID, RELU, LOG]
ALL = [*PROVED, SWAPPED, UNKNOWN, STRAIGHT]
"""One of every verdict."""
