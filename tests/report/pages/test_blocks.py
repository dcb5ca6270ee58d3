"""The page on composed ops: a row and a section for each, and the file of every graph."""

import pytest

from certgrad import audit, ops
from certgrad.cli import _library, _run
from certgrad.graph import decode
from certgrad.report.pages import blocks as blocks_page
from certgrad.report.pages import committed_report
from certgrad.report.pages.blocks import Block


@pytest.fixture(scope="module")
def blocks() -> dict[str, Block]:
    return _library.blocks(_run.run(["relu", "mlp_mse", "rnn", "feed_forward"], 1, graphs=True))


@pytest.mark.slow
def test_only_composed_ops_are_blocks(blocks: dict[str, Block]) -> None:
    assert list(blocks) == ["mlp_mse", "rnn", "feed_forward"]


def test_the_page(blocks: dict[str, Block]) -> None:
    page = blocks_page.render(blocks)
    rows = [line for line in page.splitlines() if line.startswith("| [`")]
    assert [row.split("`")[1] for row in rows] == ["mlp_mse", "rnn", "feed_forward", "feed_forward"]
    assert "[12](graphs/rnn.json)" in rows[1]
    assert "activation=gelu` | proved | [8](graphs/feed_forward-2.json)" in rows[3]
    assert "- appending a node: proved." in page
    loss = page.partition("## `mlp_mse`")[2].partition("## `rnn`")[0]
    assert "- gradient: the gradient of mlp_mse is backprop of 1: ∂mlp_mse/∂x, ∂mlp_mse/∂weight_1" in loss
    assert "every element of `linear(x, weight_1, bias_1)` ≠ 0" in loss
    assert "| `op relu(%6)` |" in loss


def test_each_graph_is_a_file_of_the_report(blocks: dict[str, Block]) -> None:
    files = committed_report.render([audit(ops.rnn)], blocks)
    assert [path for path in files if not path.startswith("certificates/")] == [
        "README.md",
        "schema.json",
        "blocks.md",
        "graphs/mlp_mse.json",
        "graphs/rnn.json",
        "graphs/feed_forward-1.json",
        "graphs/feed_forward-2.json",
    ]
    assert decode(files["graphs/rnn.json"]) == blocks["rnn"].cases[0][1]
