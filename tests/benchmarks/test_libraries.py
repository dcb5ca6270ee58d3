"""The parts of libraries: no public one is left out, and each outcome has its row."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import jax.numpy as jnp
import pytest

from benchmarks.corpus.entries import Entry, Record
from benchmarks.corpus.views import views
from benchmarks.libraries import LIBRARIES, NO_ENTRY, library
from benchmarks.libraries._certify import certified
from benchmarks.libraries._part import Call, Part, abstract, function, layer, untried

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


def test_each_outcome_has_its_words() -> None:
    found = {name: certified(part, 1 if name == "forever" else 60) for name, part in PARTS.items()}
    assert {name: row["verdict"] for name, row in found.items()} == {
        "sin": "proved",
        "log": "proved under hypotheses",
        "by_number": "proved",
        "forever": "failed",
        "fails": "failed",
        "base": "not tried",
        "forgotten": "not tried",
    }
    assert found["by_number"]["for"] == "n = 2"
    assert found["by_number"]["why"].startswith("all n: TraceError")
    assert found["forever"]["why"] == "out of time after 1 s of processor time"
    assert found["fails"]["why"] == "ValueError: no such layer"
    assert found["base"]["why"] == "the base class"
    assert found["forgotten"]["why"] == NO_ENTRY


def test_the_page_counts_what_is_a_part_and_gives_every_other_row_its_reason() -> None:
    log = {"verdict": "proved under hypotheses", "scope": ["all n"], "asks": ["log (%1): every element of `x` > 0"]}
    outcomes: dict[str, dict[str, Any]] = {
        "sin": {"verdict": "proved", "scope": ["all n"], "version": "1.0"},
        "log": log,
        "by_number": {"verdict": "proved", "scope": ["n = 2"], "reason": "all n: TraceError: no"},
        "forever": {"verdict": "failed", "reason": "out of time after 1 s of processor time"},
        "fails": {"verdict": "failed", "reason": "ValueError: no such layer"},
        "base": {"verdict": "not tried", "reason": "the base class"},
        "forgotten": {"verdict": "not tried", "reason": NO_ENTRY},
    }
    entries = {
        f"libraries/jax_stats:{name}": Entry(
            id=f"libraries/jax_stats:{name}", where=f"benchmarks.libraries.jax_stats:{name}"
        )
        for name in outcomes
    }
    records = {id: Record(id=id, seconds=0.1, **outcomes[id.rpartition(":")[2]]) for id in entries}
    page = views(entries, records)["libraries.md"]
    assert "| jax.scipy.stats | 1.0 | 6 | 3 | 1 | 2 | 3 | 50 % | 0.10 |" in page
    assert "| `sin` | proved |  | all n |" in page
    assert "| `log` | proved under hypotheses | `log (%1): every element of x > 0` | all n |" in page
    assert "| `forever` | failed |  |  | 0.1 | out of time after 1 s of processor time |" in page
    assert "| ValueError: no such layer | 1 | jax.scipy.stats `fails` |" in page
    assert "- `base` is no part: the base class" in page
    assert "| `forgotten` | not tried |" in page
    assert "- `by_number` is not certified for all n: TraceError" in page
