"""How many processes a command takes."""

import os
import pickle

import pytest

from certgrad.cli._errors import InternalError
from certgrad.cli._options import WORTH_A_PROCESS, processes


@pytest.fixture(autouse=True)
def _four_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(4), raising=False)


@pytest.mark.parametrize(
    ("jobs", "tasks", "count"),
    [
        (None, 300, 4),
        (None, 2 * WORTH_A_PROCESS, 2),
        (None, 3, 1),
        (None, 0, 1),
        (1, 300, 1),
        (3, 300, 3),
        (3, 2, 2),
    ],
)
def test_as_many_as_there_are_processors_unless_there_is_little_to_do(jobs, tasks, count):
    assert processes(jobs, tasks) == count


def test_a_defect_in_a_worker_is_the_same_defect_here():
    sent = pickle.loads(pickle.dumps(InternalError("auditing 'relu'", "ZeroDivisionError", "Traceback: …")))
    assert (sent.task, str(sent), sent.details) == ("auditing 'relu'", "ZeroDivisionError", "Traceback: …")
