"""The corpus: what its command finds to be worse, and that no entry can keep it from going on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from benchmarks.corpus import __main__ as command
from benchmarks.corpus import run as running
from benchmarks.corpus import subjects
from benchmarks.corpus.compare import Change, compared, not_implied
from benchmarks.corpus.entries import CorpusError, Entry, Record, entries, records, write
from benchmarks.corpus.run import Results, can_run, run, sample
from benchmarks.corpus.worker import Worker
from certgrad.language import tree as t
from certgrad.language.coding import encode
from certgrad.language.parse import conjuncts, parse

PROVED, UNDER, SIZES = "proved", "proved under hypotheses", "proved at sizes"


def said(*texts: str) -> list[Any]:
    """The trees of hypotheses, as records hold them."""
    return [msgspec.json.decode(encode(s)) for text in texts for s in statements(text)]


def statements(text: str) -> list[t.Statement]:
    return [*conjuncts(parse(text, ("x", "y", "z")))]


def entry(expected: Any = "right", **more: Any) -> Entry:
    return Entry(id="tests/rule", where="tests.rules:rule", expected=expected, **more)


def record(verdict: str = UNDER, seconds: float = 2.0, hypotheses: Any = (), **more: Any) -> Record:
    found = None if verdict.startswith(("out of time", "crashed", "raised")) else [*hypotheses]
    return Record(id="tests/rule", verdict=verdict, seconds=seconds, hypotheses=found, **more)


def decided(of: Entry, found: Record) -> bool:
    """As it is to be: a right rule proved, a wrong one refuted."""
    return found.verdict == "refuted" if of.expected == "wrong" else found.verdict.startswith("proved")


def changes(of: Entry, before: Record | None, now: Record) -> list[Change]:
    return compared({of.id: of}, {} if before is None else {before.id: before}, {now.id: now})


CHANGES = {
    "the same": ("right", record(), record(), [], False),
    "a right rule is not proved any more": ("right", record(), record("unproved"), ["weaker"], True),
    "at sizes alone": ("right", record(), record(SIZES), ["weaker"], True),
    "out of time": ("right", record("unproved"), record("out of time", 180.0), ["weaker"], True),
    "crashed": ("right", record(), record("crashed", 0.1), ["weaker"], True),
    "raised": ("wrong", record("refuted"), record("raised ValueError"), ["weaker"], True),
    "refuted": ("right", record(), record("refuted"), ["right and refuted", "weaker"], True),
    "refuted as ever": ("right", record("refuted"), record("refuted"), ["right and refuted"], True),
    "a wrong rule is proved": ("wrong", record("refuted"), record(), ["wrong and proved", "weaker"], True),
    "at sizes as well": ("wrong", record("unproved"), record(SIZES), ["wrong and proved", "weaker"], True),
    "where it is right alone": ("wrong", record("refuted"), record(excluded=True), ["weaker"], True),
    "a wrong rule is not refuted any more": ("wrong", record("refuted"), record("unproved"), ["weaker"], True),
    "a wrong rule is refuted": ("wrong", record("unproved"), record("refuted"), ["stronger"], False),
    "a right rule is proved": ("right", record("out of time"), record(), ["stronger"], False),
    "of which nothing is known: refuted": ("", record(), record("refuted"), ["weaker"], True),
    "of which nothing is known: proved": ("", record("refuted"), record(), ["weaker"], True),
    "of which nothing is known: decided": ("", record("unproved"), record("refuted"), ["stronger"], False),
    "a hypothesis": ("right", record(), record(hypotheses=said("x > 0")), ["new hypothesis"], True),
    "one that is implied": (
        "right",
        record(hypotheses=said("x > 1")),
        record(hypotheses=said("x != 0")),
        ["fewer hypotheses"],
        False,
    ),
    "one less": ("right", record(hypotheses=said("x > 0")), record(), ["fewer hypotheses"], False),
    "slower": ("right", record(), record(seconds=3.5), ["slower"], True),
    "hardly slower": ("right", record(), record(seconds=2.9), [], False),
    "slower by little": ("right", record(seconds=0.1), record(seconds=0.9), [], False),
    "faster": ("right", record(seconds=3.5), record(), ["faster"], False),
    "a limit": ("right", record(), record(limits=["float32"]), ["narrower"], True),
    "no gradient": ("right", record(), record(without_gradient=["x"]), ["narrower"], True),
    "a size less": (
        "right",
        record(SIZES, sizes=[{"n": 2}, {"n": 3}]),
        record(SIZES, sizes=[{"n": 2}]),
        ["narrower"],
        True,
    ),
}


@pytest.mark.parametrize(("expected", "before", "now", "kinds", "fails"), CHANGES.values(), ids=CHANGES)
def test_what_changed(expected: str, before: Record, now: Record, kinds: list[str], fails: bool) -> None:
    found = changes(entry(expected), before, now)
    assert [change.kind for change in found] == kinds
    assert any(change.fails for change in found) == fails
    assert all("tests/rule" in str(change) for change in found)


def test_a_hypothesis_of_a_graph_is_said_in_its_own_words() -> None:
    digest = "17d68b9c" * 4
    tree = ["compare", "!=", ["entry", digest, [["number", "0"]]], ["number", "2"]]
    (new,) = changes(entry("right"), record(), record(hypotheses=[tree], asks=["log: every element of `x` ≠ 2"]))
    assert new.text == "value 17d68b[0] ≠ 2 (log: every element of `x` ≠ 2)"


def test_outside_of_the_model_nothing_fails_and_all_is_said() -> None:
    (proved, weaker) = changes(entry("wrong", outside="it counts"), record("refuted"), record())
    assert not proved.fails
    assert not weaker.fails
    assert str(proved).endswith("(outside the model: it counts)")


@pytest.mark.parametrize(
    ("causes", "kinds"),
    [({"x": "the sign is wrong"}, []), ({"x": "the sum"}, ["cause not said"]), ({}, ["cause not said"])],
)
def test_what_is_wrong_is_said_as_ever(causes: dict[str, str], kinds: list[str]) -> None:
    found = changes(entry("wrong", cause="the sign"), record("refuted"), record("refuted", causes=causes))
    assert [change.kind for change in found] == kinds
    assert all(change.fails for change in found)


def test_a_new_entry_is_compared_with_what_is_known_of_it() -> None:
    assert [c.kind for c in changes(entry("wrong"), None, record())] == ["wrong and proved"]
    assert changes(entry("right"), None, record("unproved")) == []


def test_a_page_knows_the_verdict_alone() -> None:
    before = Record(id="tests/rule", verdict=UNDER, seconds=2.0)
    assert changes(entry(), before, record(seconds=9.0, hypotheses=said("x > 0"), limits=["float32"])) == []


def test_a_tree_of_another_version_is_equal_or_new() -> None:
    unknown = ["of the future", "x"]
    assert not_implied([unknown], [unknown]) == []
    assert not_implied([unknown], said("x > 0")) == [unknown]


# --- the files


def test_the_files_are_read_as_they_are_written(tmp_path: Path) -> None:
    rows = [entry(), Entry(id="cases/a", where="corpus/cases/a.py:right", domain=["x > 0"])]
    write(tmp_path / "entries", rows)
    write(tmp_path / "records", [record(hypotheses=said("x > 0"))])
    assert entries(tmp_path) == {row.id: row for row in rows}
    assert records(tmp_path)["tests/rule"].hypotheses == said("x > 0")


BAD = {
    "no JSON": ('{"id": ', "tests.jsonl:2: "),
    "an unknown field": ('{"id": "tests/b", "where": "m:b", "verdikt": "proved"}', "unknown field `verdikt`"),
    "an unknown class": ('{"id": "tests/b", "where": "m:b", "expected": "maybe"}', "'maybe'"),
    "no place": ('{"id": "tests/b"}', "`where`"),
    "another source": ('{"id": "cases/b", "where": "m:b"}', "does not begin with 'tests/'"),
    "twice": ('{"id": "tests/a", "where": "m:a"}', "stands twice"),
}


@pytest.mark.parametrize(("line", "message"), BAD.values(), ids=BAD)
def test_a_bad_file_is_said_with_its_line(
    line: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "entries").mkdir()
    (tmp_path / "entries" / "tests.jsonl").write_text('{"id": "tests/a", "where": "m:a"}\n' + line + "\n")
    with pytest.raises(CorpusError, match=r"tests\.jsonl:2: "):
        entries(tmp_path)
    monkeypatch.setattr(command, "entries", lambda: entries(tmp_path))
    assert command.main([]) == 2
    assert message in capsys.readouterr().err


def test_a_file_of_no_source(tmp_path: Path) -> None:
    (tmp_path / "entries").mkdir()
    (tmp_path / "entries" / "elsewhere.jsonl").write_text("")
    with pytest.raises(CorpusError, match="no source 'elsewhere'"):
        entries(tmp_path)


def test_each_source_has_its_door() -> None:
    from benchmarks.corpus.entries import SOURCES
    from benchmarks.corpus.subjects import SOURCES as DOORS

    assert DOORS.keys() == SOURCES.keys()


# --- the runs

PROGRAM = """
import os, time
from benchmarks.corpus.entries import Record
from benchmarks.corpus.worker import serve

def audited(entry):
    kind = entry.where.partition(":")[2]
    if kind == "exits":
        os._exit(3)
    while kind == "burns":
        pass
    if kind == "sleeps":
        time.sleep(60)
    print("this is no answer")
    return Record(id=entry.id, verdict=kind, seconds=0.1, reason=str(os.getpid()))

serve(lambda: audited)
"""


def stub(root: Path) -> Worker:
    return Worker(root, ("-c", PROGRAM))


def rows(*kinds: str) -> list[Entry]:
    return [Entry(id=f"tests/{k}{kind}", where=f"tests.made_up:{kind}") for k, kind in enumerate(kinds)]


@pytest.fixture
def results(tmp_path: Path) -> Results:
    (tmp_path / "certgrad").mkdir()
    return Results(tmp_path / "results", tmp_path)


def test_an_entry_that_ends_its_process_is_a_result(results: Results) -> None:
    of = rows("proved", "exits", "burns", "sleeps", "refuted")
    found = run(of, results, jobs=1, limit=0.2, worker=stub)
    assert [found[e.id].verdict for e in of] == ["proved", "crashed", "out of time", "out of time", "refuted"]
    assert found[of[1].id].reason == "the process ended with status 3"


def test_a_run_goes_on_where_it_was(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    of = rows("proved", "refuted", "unproved")
    told: list[str] = []
    run(of[:2], results, jobs=1, worker=stub)
    found = run(of, results, jobs=2, tell=lambda e, r: told.append(e.id), worker=stub)
    assert told == [of[2].id]
    assert [r.verdict for r in found.values()] == ["proved", "refuted", "unproved"]
    assert [*found] == [e.id for e in of]
    (results.root / "certgrad" / "changed.py").write_text("")
    assert Results(results.folder.parent, results.root).get(of[0]) is None


@pytest.mark.slow
def test_on_dask(results: Results) -> None:
    of = rows("proved", "exits", "refuted")
    found = run(of, results, jobs=1, limit=2, worker=stub, dask="local")
    assert [found[e.id].verdict for e in of] == ["proved", "crashed", "refuted"]


def test_outside_of_the_model_an_entry_has_a_process_of_its_own(results: Results) -> None:
    of = [msgspec.structs.replace(e, outside="it counts") for e in rows("proved", "refuted")]
    found = run(of, results, jobs=1, worker=stub)
    assert len({r.reason for r in found.values()}) == 2


def test_a_worker_that_does_not_start_is_an_error(results: Results) -> None:
    with pytest.raises(RuntimeError, match="does not start"):
        run(rows("proved"), results, jobs=1, worker=lambda root: Worker(root, ("-c", "raise SystemExit(1)")))


def test_the_sample_is_fixed_and_fits() -> None:
    of = rows(*("proved",) * 400)
    known = {e.id: Record(id=e.id, verdict=PROVED, seconds=float(k % 50)) for k, e in enumerate(of)}
    chosen = sample(of, known)
    assert [e.id for e in chosen] == [e.id for e in sample(reversed(of), known)]
    assert sum(known[e.id].seconds for e in chosen) <= running.SAMPLE
    assert all(known[e.id].seconds <= running.LONG for e in chosen)
    assert len(chosen) > 20


def test_what_is_not_installed_is_not_run() -> None:
    of = Entry(id="survey/a", where="nowhere.at_all:a", needs="nowhere.at_all")
    assert not can_run(of)
    assert not can_run(msgspec.structs.replace(of, needs="", stands="as its driver calls it"))
    assert can_run(msgspec.structs.replace(of, needs="json"))


@pytest.mark.parametrize(("verdict", "code"), [("proved", 0), ("unproved", 1)])
def test_the_exit_code(
    verdict: str, code: int, results: Results, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (of,) = rows(verdict)
    monkeypatch.setattr(command, "entries", lambda: {of.id: msgspec.structs.replace(of, expected="right")})
    monkeypatch.setattr(command, "records", lambda: {of.id: Record(id=of.id, verdict=PROVED, seconds=0.1)})
    monkeypatch.setattr(command, "run", lambda *a, **more: run(*a, worker=stub, **more))
    arguments = ["--results", str(results.folder), "--root", str(results.root), "--jobs", "1"]
    assert command.main(arguments) == code
    assert ("nothing is worse" in capsys.readouterr().out) == (code == 0)
    assert command.main([*arguments, "nothing/begins/so"]) == 2


# --- the corpus as it is committed

RECORDS = records()
CLOSED = [
    e
    for id, e in entries().items()
    if e.source == "pairs" and not id.startswith("pairs/devices") and id in RECORDS and decided(e, RECORDS[id])
]
"""Pairs for several devices, of which JAX is told before it starts, are audited by `make corpus` alone."""


@pytest.mark.usefixtures("verdicts_alone")
@pytest.mark.one_in(150)
@pytest.mark.parametrize("one", CLOSED, ids=lambda one: one.id)
def test_a_pair_is_as_it_was(one: Entry) -> None:
    from benchmarks.corpus.subjects import audited

    assert decided(one, audited(one))


@pytest.mark.usefixtures("verdicts_alone")
@pytest.mark.one_in(60)
@pytest.mark.parametrize(
    "one", [e for id, e in entries().items() if e.source == "tests" and id in RECORDS], ids=lambda one: one.id
)
def test_a_rule_of_the_tests_is_as_it_was(one: Entry) -> None:
    from benchmarks.corpus.subjects import audited

    assert [c for c in changes(one, RECORDS[one.id], audited(one)) if c.fails and c.kind != "slower"] == []


OPEN = ("published/u109_grouped_heads:right",)
"""Right and proved at sizes alone: an index that is a remainder ties no sizes. The page counts it so."""
REPORTED = [e for id, e in entries().items() if e.where.startswith("corpus/cases/u") and id not in OPEN]


@pytest.mark.usefixtures("verdicts_alone")
@pytest.mark.one_in(19)
@pytest.mark.parametrize("one", REPORTED, ids=lambda one: one.id)
def test_a_report_with_nothing_declared_is_decided_for_untied_sizes(one: Entry) -> None:
    from benchmarks.corpus.page import same_shapes
    from benchmarks.corpus.subjects import audited

    found = audited(one)
    if one.expected == "wrong":
        assert found.verdict == "refuted" or "refuted" in found.choices
    else:
        assert found.verdict in (PROVED, UNDER)
        assert same_shapes(found.inferred, one.signature)


@pytest.mark.parametrize(
    ("inferred", "meant", "same"),
    [
        ("n d, d", "b k, k", True),
        ("n n, n", "n d, d", False),
        ("n d", "n", False),
        ("n 2*d, m:int", "n 2*k, l:int", True),
        ("n d -> n", "n d", True),
    ],
)
def test_shapes_are_the_same_but_for_the_names_of_axes(inferred: str, meant: str, same: bool) -> None:
    from benchmarks.corpus.page import same_shapes

    assert same_shapes(inferred, meant) is same


def test_the_page_counts_what_is_proved_for_untied_sizes() -> None:
    from benchmarks.corpus.page import page

    every = [
        Entry(id=f"published/{k}", where=f"m:{k}", expected=expected, signature="n d, d", needs="m")
        for k, expected in enumerate(("right", "right", "wrong", "wrong"))
    ]
    every[2] = msgspec.structs.replace(every[2], cause="the sign")
    known = [
        Record(id="published/0", verdict=PROVED, seconds=1, inferred="n d, d"),
        Record(id="published/1", verdict=PROVED, seconds=1, inferred="n n, n"),
        Record(id="published/2", verdict="refuted", seconds=1, causes={"x": "the sign is wrong"}),
        Record(id="published/3", verdict="unproved", seconds=1, choices='with "n, n" it is refuted'),
    ]
    text = page({e.id: e for e in every}, {r.id: r for r in known})
    assert "| proved for untied sizes | 1 (50 %) |" in text
    assert "| the mistake is named | 1 (50 %) |" in text
    assert "| named at other ranks, or with defaults passed | 1 (50 %) |" in text


@pytest.mark.parametrize(
    ("signature", "excluded"),
    [("n d, m:int -> m d", False), ("n d, :int", True), ("n d", True), ("n n, m:int", True), ("n 2, m:int", True)],
)
def test_a_claim_at_other_shapes_is_not_about_the_example(signature: str, excluded: bool) -> None:
    from benchmarks.corpus.subjects import excludes

    assert excludes(signature, [], {}, lambda: (np.zeros((2, 1)), np.array([0, 0]))) is excluded


def test_a_claim_is_not_about_an_example_at_which_a_hypothesis_is_false() -> None:
    from benchmarks.corpus.subjects import excludes

    def excluded(condition: str) -> bool:
        return excludes("n", [parse(condition, ("x",))], {"x": 0}, lambda: (np.array([0.0, 2.0]),))

    assert excluded("x > 0")
    assert not excluded("x >= 0")


QUICK = ["library", "models", "pairs", "tests", "wrong_ops"]
LONG = ["attacks", "cases", "examples", "ordinary", "traps"]


@pytest.mark.parametrize("source", [*QUICK, *(pytest.param(source, marks=pytest.mark.slow) for source in LONG)])
def test_every_rule_has_its_row(source: str) -> None:
    from benchmarks.corpus.collect import SOURCES

    assert {e.id for e in SOURCES[source]()} <= set(entries())


PAGES = ["corpus.md", "libraries.md", "library_models.md", "models.md"]


def test_its_files_are_in_order() -> None:
    every, known = entries(), records()
    assert set(known) <= set(every)
    assert all(not e.twin or e.twin in every for e in every.values())
    assert {name: (command.REPORTS / name).read_text("utf-8") for name in PAGES} == command.pages(every, known)


def test_inferred_shapes_are_read_beside_the_objects_of_an_audit() -> None:
    text = 'its shapes are inferred ("n d"{}), as nothing declares them; certgrad.declare does; with "n" it is refuted'
    for objects in ("", ", with model = Spring(k=0.5)"):
        match = subjects._OF_SHAPES.fullmatch(text.format(objects))
        assert match is not None
        assert (match[2], match[3]) == ("n d", 'with "n" it is refuted')
