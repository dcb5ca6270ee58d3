"""`reports/coq_models.md` counts what its rows say, and the models that it is about are accepted."""

from __future__ import annotations

import re

from benchmarks.coq_models import PAGE

ROW = re.compile(r"^\| `([^`]+)` \| ([^|]*) \| (.*) \|$", re.MULTILINE)
NAMED = (
    *("mlp_mse_graph", "softmax_classifier_graph", "multi_head_self_attention_1_graph", "pre_norm_block_1_graph"),
    *("lstm_graph", "gru_graph", "mlp", "attention_block", "gpt2"),
)


def rows() -> dict[str, list[str]]:
    """By graph: nodes, lemmas, laws accepted, of, defined, of, whole, discharged, program, seconds."""
    table, _, _ = PAGE.read_text().partition("## Laws")
    return {m[1]: [cell.strip() for cell in m[3].split("|")] for m in ROW.finditer(table)}


def test_it_counts_its_rows() -> None:
    accepted = sum(cells[6] == "accepted" for cells in rows().values())
    assert f"Of {len(rows())} graphs {accepted} are accepted as a whole" in PAGE.read_text()


def test_the_models_that_it_is_about_are_accepted() -> None:
    for name in NAMED:
        _, _, laws, of, _, _, whole, discharged, _, _ = rows()[name]
        assert (laws, whole) == (of, "accepted"), name
        assert discharged in ("", "accepted"), name
