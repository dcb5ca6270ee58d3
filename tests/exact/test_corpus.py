"""Rules of the corpus: right ones that are proved agree, wrong ones differ. reports/exact.md has those that do not."""

import pytest

from benchmarks.corpus.entries import Entry, entries
from benchmarks.exact.page import good
from benchmarks.exact.subjects import checked

ENTRIES = [e for e in entries().values() if e.source in ("cases", "ordinary") and e.expected and not e.outside]
OPEN = {
    "cases/r16_quat_exp:wrong": "wrong on a boundary alone",
    "cases/r17_unpool_duplicates:wrong": "the forward is not defined there itself",
}


@pytest.mark.one_in(12)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_an_entry(entry: Entry) -> None:
    found = checked(entry)
    expected = not any(entry.id.startswith(start) for start in OPEN)
    assert good(entry, found) == expected, (found.verdict, found.reason)
