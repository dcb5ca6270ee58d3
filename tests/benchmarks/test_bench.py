"""`make bench`: what is worse than the committed figures, on made-up ones, and the exit code of each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import jax.numpy as jnp
import pytest

from benchmarks.bench import __main__ as bench
from benchmarks.bench import _drawn
from benchmarks.bench._compare import BadData, read, worse, write
from benchmarks.bench._figure import CALLS, Figure, not_installed
from benchmarks.bench._page import page

COMMITTED = Figure("a chain", 2.0, "s", peer=1.0, beside="jax.make_jaxpr", at_most=1.0)
ALONE = Figure("a ratio", 0.8)


@pytest.mark.parametrize(
    "now, lines",
    [
        pytest.param([COMMITTED, ALONE], 0, id="the same"),
        pytest.param([Figure("a chain", 2.49, "s", 1.0), ALONE], 0, id="a little more"),
        pytest.param([Figure("a chain", 2.6, "s", 1.0), ALONE], 1, id="1.3 times as much"),
        pytest.param([Figure("a chain", 8.0, "s", 4.0), ALONE], 0, id="on a slower machine"),
        pytest.param([Figure("a chain", 2.0, "s", 0.5), ALONE], 1, id="as long where the peer takes half"),
        pytest.param([COMMITTED, Figure("a ratio", 1.1)], 1, id="a ratio without a peer"),
        pytest.param([Figure("a chain", 9.0, "s", 1.0), Figure("a ratio", 1.1)], 2, id="both"),
        pytest.param([COMMITTED], 1, id="one is missing"),
        pytest.param([COMMITTED, ALONE, Figure("another", 9.0)], 0, id="a new one"),
        pytest.param([COMMITTED, Figure("a ratio", None, note="not done in 5 s")], 1, id="it was not done"),
        pytest.param([COMMITTED, not_installed("a ratio", "flax")], 0, id="its package is not installed"),
    ],
)
def test_what_is_worse(now: list[Figure], lines: int) -> None:
    assert len(worse({"graphs": [COMMITTED, ALONE]}, {"graphs": now})) == lines


@pytest.mark.parametrize("calls, lines", [(103.0, 0), (107.0, 1)])
def test_calls_are_counted_and_may_grow_less(calls: float, lines: int) -> None:
    before, now = (Figure("calls of an audit", x, CALLS, peer=50.0) for x in (100.0, calls))
    assert len(worse({"calls": [before]}, {"calls": [now]})) == lines


def test_a_line_names_the_figure_with_both_values() -> None:
    (line,) = worse({"graphs": [ALONE]}, {"graphs": [Figure("a ratio", 1.2)]})
    assert line == "a ratio: 1.2, 1.50 times the last committed 0.8"


def test_groups_that_were_not_run_are_not_missing() -> None:
    assert worse({"graphs": [COMMITTED], "ops": [ALONE]}, {"ops": [ALONE]}) == []


def test_a_figure_without_a_committed_value_is_compared_with_nothing() -> None:
    assert worse({"graphs": [Figure("a chain", None, "s", note="not done")]}, {"graphs": [COMMITTED]}) == []


def test_what_is_written_is_read(tmp_path: Path) -> None:
    data = tmp_path / "bench.json"
    write(data, "full", {"graphs": [COMMITTED], "ops": [ALONE]})
    write(data, "short", {"ops": [ALONE]})
    write(data, "full", {"ops": [Figure("a ratio", 0.9)]})
    assert read(data, "full") == {"graphs": [COMMITTED], "ops": [Figure("a ratio", 0.9)]}
    assert read(data, "short") == {"ops": [ALONE]}
    assert read(tmp_path / "none.json", "full") == {}


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "bench.json is no JSON: "),
        ("[]", "bench.json is no table of forms, groups and figures."),
        ('{"full": {"ops": 3}}', "bench.json is no table of forms, groups and figures."),
        ('{"full": {"ops": [3]}}', "bench.json, ops: 3 is no figure."),
        ('{"full": {"ops": [{"name": "x"}]}}', 'bench.json, ops: {"name": "x"} is no figure.'),
        (
            '{"full": {"ops": [{"name": "x", "value": "1"}]}}',
            'bench.json, ops: {"name": "x", "value": "1"} is no figure.',
        ),
    ],
)
def test_a_data_file_that_cannot_be_read(text: str, message: str, tmp_path: Path) -> None:
    data = tmp_path / "bench.json"
    data.write_text(text)
    with pytest.raises(BadData, match=r".") as raised:
        read(data, "full")
    assert str(raised.value).startswith(message)
    assert bench.main(["--data", str(data), "--only", "ops"]) == 2


def measuring(monkeypatch: pytest.MonkeyPatch, figures: Sequence[Figure], failures: Sequence[str] = ()) -> None:
    """Let every group have these figures."""
    monkeypatch.setattr(bench, "_measured", lambda groups, short: ({g: list(figures) for g in groups}, list(failures)))


def run(tmp_path: Path, *arguments: str) -> int:
    return bench.main(["--only", "graphs", "--data", f"{tmp_path}/b.json", "--page", f"{tmp_path}/b.md", *arguments])


def committed(tmp_path: Path) -> Mapping[str, Sequence[Figure]]:
    return read(tmp_path / "b.json", "full")


def test_new_values_are_written_where_they_are_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measuring(monkeypatch, [ALONE])
    assert run(tmp_path) == 0
    assert not (tmp_path / "b.json").exists()
    assert run(tmp_path, "--accept") == 0
    assert committed(tmp_path) == {"graphs": [ALONE]}

    measuring(monkeypatch, [Figure("a ratio", 1.2)])
    capsys.readouterr()
    assert run(tmp_path) == 1
    assert capsys.readouterr().err == "worse: a ratio: 1.2, 1.50 times the last committed 0.8\n"
    assert committed(tmp_path) == {"graphs": [ALONE]}
    assert run(tmp_path, "--accept") == 0
    assert run(tmp_path) == 0


def test_what_is_worse_is_measured_once_more_and_the_better_of_both_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured: list[list[Figure]] = []
    monkeypatch.setattr(bench, "_measured", lambda groups, short: ({g: measured.pop(0) for g in groups}, []))
    measured[:] = [[ALONE, COMMITTED]]
    assert run(tmp_path, "--accept") == 0

    measured[:] = [[Figure("a ratio", 1.2), COMMITTED], [ALONE, Figure("a chain", 8.0, "s", 1.0)]]
    assert run(tmp_path) == 0
    assert measured == []
    measured[:] = [[Figure("a ratio", 1.2), COMMITTED], [Figure("a ratio", 1.1), COMMITTED]]
    capsys.readouterr()
    assert run(tmp_path) == 1
    assert capsys.readouterr().err == "worse: a ratio: 1.1, 1.38 times the last committed 0.8\n"


def test_a_group_that_fails_is_accepted_never(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measuring(monkeypatch, [ALONE], ["graphs failed: an error"])
    assert run(tmp_path, "--accept") == 1
    assert committed(tmp_path) == {}


def test_a_group_that_ends_with_an_error_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = json.dumps({"name": "a ratio", "value": 0.8})
    ended = bench.python("-c", f"print('''{printed}'''); 1 / 0")
    monkeypatch.setattr(bench, "python", lambda *arguments: ended)
    now, (failure,) = bench._measured(["ops"], short=True)
    assert now == {"ops": [ALONE]}
    assert failure.startswith("ops failed: ")
    assert failure.endswith("ZeroDivisionError: division by zero")


@pytest.mark.slow
def test_a_program_is_ended_at_its_limit_of_processor_time() -> None:
    assert bench.python("-c", "while True: pass", limit=1).out_of_time


def test_the_short_form_writes_no_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measuring(monkeypatch, [ALONE])
    assert run(tmp_path, "--short") == 0
    assert not (tmp_path / "b.md").exists()


def test_a_group_that_is_not_known_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["--only", "graphs,nothing"])
    assert "no group is called nothing" in capsys.readouterr().err


def test_the_page_has_what_is_new_and_what_was_not_run() -> None:
    rows = page({"graphs": [COMMITTED, not_installed("models", "flax", "s")]}, {"graphs": [COMMITTED]}).splitlines()
    assert "| a chain | 2 s (2 × jax.make_jaxpr) | 2 s (2 × jax.make_jaxpr) | 1 s |  |" in rows
    assert "| models | not run | new |  | flax is not installed |" in rows


def test_the_committed_page_shows_the_committed_figures() -> None:
    figures = read(bench.DATA, "full")
    assert bench.PAGE.read_text("utf-8") == page(figures, figures)


@pytest.mark.parametrize(
    "signature, shapes",
    [
        ("n d, d -> n d", [(3, 2), (2,)]),
        ("*s -> *s", [(3, 2)]),
        ("n 3*d, n+1 -> n", [(3, 6), (4,)]),
        ("n d, n:int -> n", [(3, 2), (3,)]),
        (" -> ", [()]),
    ],
)
def test_arrays_that_fit_a_signature(signature: str, shapes: list[tuple[int, ...]]) -> None:
    found = _drawn.arrays(signature)
    assert [x.shape for x in found] == shapes
    assert all(
        jnp.issubdtype(x.dtype, jnp.integer) == (":int" in text)
        for x, text in zip(found, signature.split(","), strict=False)
    )
