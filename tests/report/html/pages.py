"""Audits whose pages the tests look at: one of every verdict with exhibits, and one whose every text is hostile."""

from dataclasses import replace

import msgspec

from certgrad.exhibits.data import (
    Box,
    Curve,
    Dot,
    Drawing,
    Equation,
    Exhibit,
    Form,
    Mend,
    Plot,
    Program,
    Sides,
    encode,
)
from certgrad.language import tree as t
from certgrad.language.tree import Words
from certgrad.obligations.certificate import Certificate, Convention, Hypothesis
from certgrad.report.audited import Audit
from certgrad.report.findings import Remark
from tests.report import fabricated
from tests.report.audits import BASE, EVERY, remarked, result

EVIL = "</script></noscript></style><script>alert(1)</script><img src=x onerror=alert(2)> \" ' & {{ 7*7 }}"
X = t.Entry("x", (t.Index("i"),))
DX = t.Entry("dx", (t.Index("i"),))


def plot(kind: str = "seam", text: str = "relu and its derivative in x") -> Plot:
    points: list[tuple[float, float] | None] = [(-1.0, 0.0), (-0.1, 0.0), None, (0.1, 0.1), (1.0, 1.0)]
    flat: list[tuple[float, float] | None] = [(-1.0, 0.0), None, (1.0, 1.0)]
    return Plot(
        kind,  # type: ignore[arg-type]
        text,
        "x",
        [Curve("function", points), Curve("derivative by the rule", flat)],
        [(0.0, "x = 0")],
        [Dot("the rule returns", 0.0, 0.0)],
    )


def exhibit(text: str = "relu(x)") -> Exhibit:
    """All that there can be."""
    product = t.Mul((DX, t.Truth(t.Compare(">", X, t.ZERO))))
    return Exhibit(
        doc=f"The positive part. {text}",
        sides=[
            Sides("jvp_is_derivative", "*s -> *s", [Equation(product, product, "a", "a", [Form("", product, "a")])]),
            Sides("vjp_is_adjoint", "*s -> *s", [Equation(None, product, text, "b", [Form("x[i] > 0", DX, "dx[i]")])]),
        ],
        programs=[Program("forward", f"{{ lambda ; a:f64[n]. {text} }}")],
        plots=[plot(), plot("witness", "CG102: the difference of both sides on a line through the witness")],
        mend=Mend(
            "pkg/losses.py", f"--- a/pkg/losses.py\n+++ b/pkg/losses.py\n@@ -1 +1 @@\n-{text}\n+{text} + 1", "proved"
        ),
        drawings=[
            Drawing(text, "proved", 200, 120, [Box(10, 10, 80, 30, "proved", ["%0 exp", text], text)], ["M50 40L50 80"])
        ],
    )


def with_exhibits() -> Audit:
    """One of every verdict, in code and of the library."""
    return replace(EVERY, results=[msgspec.structs.replace(one, exhibit=encode(exhibit())) for one in EVERY.results])


def hostile() -> Audit:
    """Every text that a user, or a program of a user, can choose."""
    hypothesis = Hypothesis(text=EVIL, latex=EVIL, prose=EVIL, source=EVIL, negligible=True, tree=Words(EVIL))
    named = msgspec.structs.replace(hypothesis, tree=t.Compare(">", t.Entry(EVIL, (t.Index(EVIL),)), t.ZERO))
    witness = msgspec.structs.replace(fabricated.WITNESS, inputs={EVIL: ["1"]}, where=EVIL, dims={"n": 1})
    claim = fabricated.claim(
        "f", "vjp_is_adjoint", "refuted", (hypothesis, named), EVIL, reason=EVIL, residual=EVIL, witness=witness
    )
    claim = msgspec.structs.replace(
        claim, id=f"{EVIL}.vjp_is_adjoint", statement=f"for all {EVIL}: {EVIL} = {EVIL}", facts=[EVIL]
    )
    certificate: Certificate = fabricated.certificate(
        f"m{EVIL}:{EVIL}",
        claim,
        source=EVIL,
        domain=[EVIL],
        params={EVIL: EVIL},
        versions={EVIL: EVIL},
        conventions=[Convention(point=EVIL, rule=EVIL, jax=EVIL, torch=EVIL)],
    )
    shown = exhibit(EVIL)
    shown = msgspec.structs.replace(shown, plots=[plot(text=EVIL), plot("witness", f"CG102 {EVIL}")])
    place = {"where": "f.py:1", "file": str(BASE / EVIL)}
    remark = Remark("CG202", EVIL)
    one = result(
        certificate, 1.0, reproduction=EVIL, **place, covered=[EVIL], exhibit=encode(shown), coq=EVIL, remarks=[remark]
    )
    return Audit([one, remarked(EVIL, "CG201", EVIL, **place)], 1.0, problems=[EVIL])
