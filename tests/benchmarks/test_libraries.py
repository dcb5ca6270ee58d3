"""The survey of libraries: no public part is left out, and each outcome has its row."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any

import jax.numpy as jnp
import pytest

from benchmarks.libraries._certify import certified
from benchmarks.libraries._part import Call, Part, abstract, function, layer, untried
from benchmarks.libraries._report import rendered
from benchmarks.libraries._run import LIBRARIES, library, work

NEEDS = {"jax.scipy.stats": "jax", "optax losses": "optax", "optax optimisers": "optax"}


@pytest.mark.parametrize("name", LIBRARIES)
def test_every_public_part_has_an_entry(name: str) -> None:
    if find_spec(NEEDS.get(name, name.split(".")[0])) is None:
        pytest.skip(f"{name} is not installed")
    module = library(name)
    assert sorted(module.PARTS) == sorted(module.public())


def test_a_part_is_tried_at_names_first_and_at_numbers_last() -> None:
    part = function(jnp.sin, "x: n h 2*d", "y: d", h=9)
    assert [(claimed, call.specs) for claimed, call in part.attempts()] == [
        ("all d, h, n", ("x: n h 2*d", "y: d")),
        ("all d, n; h = 9", ("x: n 9 2*d", "y: d")),
        ("all n; d = 4, h = 9", ("x: n 9 8", "y: 4")),
        ("d = 4, h = 9, n = 2", ("x: 2 9 8", "y: 4")),
    ]


def test_the_shape_of_a_parameter_is_said_in_the_names_of_the_inputs() -> None:
    def init(sizes: Any, x: Any) -> Any:
        shapes = {"kernel": (sizes["d"], 2, sizes["k"]), "wide": (9 * sizes["d"],), "sum": (sizes["d"] + sizes["k"],)}
        return {name: abstract([" ".join(map(str, shape))], {})[0] for name, shape in shapes.items()}

    def apply(sizes: Any, p: Any, x: Any) -> Any:
        return jnp.einsum("nd,dak->nak", x, p["kernel"]) * sizes["k"]

    call = layer(init, apply, "x: n d").call()
    assert call.specs == ("p_kernel: d 2 k", "p_sum: d+k", "p_wide: 9*d", "x: n d")
    assert call.fn(jnp.ones((3, 2, 5)), jnp.ones(8), jnp.ones(27), jnp.ones((4, 3))).tolist()[0][0] == [15.0] * 5


def forever(x: Any) -> Any:
    while True:
        pass


def _fails() -> Call:
    raise ValueError("no such layer")


PARTS = {
    "sin": function(jnp.sin, "x: n"),
    "log": function(jnp.log, "x: n"),
    "by_number": function(lambda x: x.reshape(2, -1), "x: n"),
    "forever": function(forever, "x: "),
    "fails": Part(_fails),
    "base": untried("the base class"),
    "forgotten": None,
}


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return [{"part": name} | certified(part, 1 if name == "forever" else 60) for name, part in PARTS.items()]


def test_each_outcome_is_a_row(rows: list[dict[str, Any]]) -> None:
    found = {row["part"]: row for row in rows}
    assert {name: row["verdict"] for name, row in found.items()} == {
        "sin": "proved",
        "log": "proved under hypotheses",
        "by_number": "proved",
        "forever": "failed",
        "fails": "failed",
        "base": "not tried",
        "forgotten": "not tried",
    }
    assert found["log"]["asks"] == ["log (%1): every element of `x` > 0"]
    assert found["by_number"]["for"] == "n = 2"
    assert found["by_number"]["narrower"][0].startswith("all n: TraceError")
    assert found["forever"]["why"] == "out of time after 1 s of processor time"
    assert found["fails"]["why"] == "ValueError: no such layer"


def test_the_page_counts_what_is_a_part_and_gives_every_other_row_its_reason(rows: list[dict[str, Any]]) -> None:
    page = rendered({"toys": {"version": "1.0", "parts": rows}})
    assert "| toys | 1.0 | 6 | 3 | 1 | 2 | 3 | 50 % |" in page
    assert "| `sin` | proved |  | all n |" in page
    assert "| `log` | proved under hypotheses | `log (%1): every element of x > 0` | all n |" in page
    assert "| `forever` | failed |  |  |" in page
    assert "| out of time after 1 s of processor time |" in page
    assert "| ValueError: no such layer |" in page
    assert "- `base` is no part: the base class" in page
    assert "| no entry |" in page
    assert "- `by_number` is not certified for all n: TraceError" in page


def test_a_part_that_ended_the_process_is_not_begun_again(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Toys:
        PARTS = PARTS
        public = staticmethod(lambda: ["sin", "base"])

    monkeypatch.setattr("benchmarks.libraries._run.library", lambda name: Toys)
    out = tmp_path / "rows"
    out.write_text(json.dumps({"part": "sin"}) + "\n", "utf-8")
    work("toys", out, 60, ())
    assert [json.loads(line)["part"] for line in out.read_text("utf-8").splitlines()] == ["sin", "base", "base"]
