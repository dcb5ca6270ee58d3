"""The training log: what is appended is read back; a line that was cut off costs nothing but itself."""

import math
import threading
import warnings
from pathlib import Path

import jax.numpy as jnp
import pytest

from certgrad.errors import UsageError
from certgrad.training import DamagedLogWarning, Entry, LogError, TrainingLog, _log, read_log


@pytest.fixture
def log(tmp_path: Path) -> TrainingLog:
    return TrainingLog(tmp_path / "run.jsonl")


def test_entries_are_read_back_as_they_were(log: TrainingLog) -> None:
    log.append(1, jnp.float32(0.1), accuracy=0.5, seen=64)
    log.append(jnp.int32(2), math.nan, accuracy=jnp.bfloat16(0.75))
    log.append(3, -math.inf)
    read = log.read()
    assert read.entries[0] == Entry(1, float(jnp.float32(0.1)), {"accuracy": 0.5, "seen": 64.0})
    assert math.isnan(read.entries[1].loss)
    assert read.entries[1].metrics == {"accuracy": 0.75}
    assert read.entries[2] == Entry(3, -math.inf, {})
    assert read.series("accuracy") == [(1, 0.5), (2, 0.75)]
    assert [s for s, _ in read.series("loss")] == [1, 2, 3]
    assert log.path.read_text().splitlines()[2] == '{"step":3,"loss":"-inf"}'
    assert str(read) == ("step  loss  accuracy  seen\n   1   0.1       0.5    64\n   2   nan      0.75\n   3  -inf")


def test_cut_off_anywhere_nothing_else_is_lost(log: TrainingLog) -> None:
    log.append(1, 0.5)
    whole = log.path.read_bytes()
    log.append(2, 0.25, accuracy=1)
    data = log.path.read_bytes()
    for end in range(len(whole), len(data)):
        log.path.write_bytes(data[:end])
        complete = end in (len(whole), len(data) - 1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            before = log.read()
            log.append(3, 0.125)
            after = log.read()
        steps = [1] if end == len(whole) else [1, 2] if complete else [1]
        assert [e.step for e in before.entries] == steps
        assert [e.step for e in after.entries] == [*steps, 3]
        assert log.path.read_bytes().startswith(data[:end]), "what was there is still there"
        assert len(caught) == (0 if complete else 2)


def test_the_message_names_the_line(log: TrainingLog) -> None:
    log.append(1, 0.5)
    with log.path.open("ab") as file:
        file.write(b'{"step":2,"lo')
    with pytest.warns(DamagedLogWarning) as caught:
        read = log.read()
    assert list(read.damaged) == [
        "run.jsonl, line 2 is no entry: it was cut off, as when a program dies while it writes. "
        """It reads '{"step":2,"lo'; the other lines were read."""
    ]
    assert str(caught[0].message) == read.damaged[0]
    assert caught[0].filename == __file__
    assert str(read).endswith(read.damaged[0])


@pytest.mark.parametrize(
    "line, why",
    [
        (b'{"step":2}', "missing required field `loss`"),
        (b'{"step":2,"loss":0.5,"extra":1}', "unknown field `extra`"),
        (b'{"step":"two","loss":0.5}', "Expected `int`, got `str`"),
        (b'{"step":2,"loss":"large"}', "loss is the text 'large', and no number"),
        (b"\xff\xfe}", "malformed"),
    ],
)
def test_other_lines_that_are_no_entries(log: TrainingLog, line: bytes, why: str) -> None:
    log.path.write_bytes(line + b'\n\n{"step":7,"loss":1}\n')
    with pytest.warns(DamagedLogWarning):
        read = log.read()
    assert [e.step for e in read.entries] == [7]
    assert why in read.damaged[0]


def test_several_writers_do_not_mix_their_lines(log: TrainingLog) -> None:
    def write(first: int) -> None:
        own = TrainingLog(log.path)
        for k in range(50):
            own.append(first + k, k, **{f"metric{first}": 1.5})

    threads = [threading.Thread(target=write, args=(1000 * t,)) for t in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    read = log.read()
    assert not read.damaged
    assert sorted(e.step for e in read.entries) == sorted(1000 * t + k for t in range(4) for k in range(50))


def test_a_full_disk_is_an_error_and_harms_nothing(log: TrainingLog, monkeypatch: pytest.MonkeyPatch) -> None:
    log.append(1, 0.5)
    write = _log.os.write
    monkeypatch.setattr(_log.os, "write", lambda file, data: write(file, data[:9]))
    with pytest.raises(
        LogError, match=r"The entry of step 2 is not in .*run.jsonl as a whole: 9 of 23 bytes were written"
    ):
        log.append(2, 0.25)
    monkeypatch.undo()
    log.append(2, 0.25)
    with pytest.warns(DamagedLogWarning, match="line 2 is no entry: it was cut off"):
        assert [e.step for e in log.read().entries] == [1, 2]


def test_messages_name_what_is_wrong(log: TrainingLog, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"loss is an array of shape \(2,\); an entry holds single real numbers"):
        log.append(1, jnp.ones(2))
    with pytest.raises(UsageError, match="accuracy is 'high'"):
        log.append(1, 0.5, accuracy="high")
    with pytest.raises(UsageError, match=r"The step of an entry is a whole number, not 1\.5"):
        log.append(1.5, 0.5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        log.read()
    with pytest.raises(UsageError, match="cannot be opened: Is a directory"):
        TrainingLog(tmp_path).append(1, 0.5)
    log.append(1, 0.5, accuracy=1)
    with pytest.raises(UsageError, match="has no values of 'recall'; it has loss, accuracy"):
        read_log(log.path).series("recall")
