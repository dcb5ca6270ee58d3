"""The certificate as text and Markdown."""

from certgrad.graph import certify, trace
from certgrad.graph.wording.report import render_markdown, render_text
from tests.graph import models
from tests.graph.models import MLP, mlp, mlp_with


def test_text_says_what_holds_and_why() -> None:
    text = render_text(certify(trace(mlp, *MLP)))
    assert text.startswith("mlp over the dimensions n, d, h, c: proved under hypotheses\n")
    for part in (
        "hypotheses",
        "discharged",
        "lemmas, each for all sizes of its dimensions",
        "conclusions",
        "this rests on",
    ):
        assert f"\n\n{part}\n  " in text
    assert max(map(len, text.splitlines())) <= 110


def test_findings_stand_in_both() -> None:
    certificate = certify(trace(mlp_with(models.scaled_op), *MLP))
    assert "\n\nfindings\n  %9 relu at models.py" in render_text(certificate)
    assert "\n## Findings\n\n- %9 relu at models.py" in render_markdown(certificate)
    assert "adjoint law" in render_text(certificate)
    assert "(not shown)" in render_text(certificate)


def test_a_graph_without_hypotheses_says_so() -> None:
    assert "\nhypotheses\n  none\n" in render_text(certify(trace(lambda x: x, "x: n")))
