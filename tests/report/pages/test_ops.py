"""The page on the ops is current, and says of each op what its declaration does."""

from pathlib import Path

from certgrad.ops import registry
from certgrad.report.pages import ops
from certgrad.report.pages.torchlean import STATUS

PAGE = Path(__file__).parents[3] / "docs" / "ops.md"


def test_the_page_is_current():
    current = PAGE.read_text(encoding="utf-8") == ops.render(registry)
    assert current, "docs/ops.md is not current: run `certgrad list --format markdown > docs/ops.md`."


def test_there_is_a_row_for_each_op():
    rows = [line for line in ops.render(registry).splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(registry.names())
    (log,) = (row for row in rows if row.startswith("| `log`"))
    for cell in ("`*s -> *s`", "`x > 0`", "`inf at x = 0`", "`jax.numpy.log`", "`torch.log`", "J, N"):
        assert cell in log
    assert all(len(row.replace("\\|", "").split("|")) == 10 for row in rows)


def test_statuses_are_of_ops():
    assert set(STATUS) - set(registry.names()) <= LATER


LATER = set("cross_entropy binary_cross_entropy hinge poisson log_cosh".split())
