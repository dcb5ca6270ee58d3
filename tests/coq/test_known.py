"""What a page says of Coq: only what was found before, of the very theorems that are printed now."""

import shutil

import msgspec
import pytest

from certgrad.cli import _coq, _library
from certgrad.coq import Judged, Kernel, Library

pytestmark = pytest.mark.skipif(shutil.which("coqc") is None, reason="Coq is not installed")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(_coq, "CACHE", tmp_path / "coq")
    _coq._known.cache_clear()
    yield tmp_path / "coq"
    _coq._known.cache_clear()


def test_an_op_is_accepted_where_all_its_theorems_are_known_to_be(cache):
    certificate = _library.audit_op("relu", None)
    assert _coq.accepting(certificate) == "", "Coq was never asked here"
    _coq._known.cache_clear()
    memory = Kernel(Library(cache)).memory
    (file,) = _coq.printed([certificate])
    theorems = [(section, t) for section in file.sections for t in section.theorems if t.stated]
    for k, (section, theorem) in enumerate(theorems, start=1):
        memory.keep(section, theorem, Judged(theorem.name, theorem.kind, True))
        assert bool(_coq.accepting(certificate)) == (k == len(theorems))
    assert _coq.accepting(certificate) in Library(cache).version
    assert _coq.accepting(msgspec.structs.replace(certificate, verdict="unproved")) == ""
    assert _coq.accepting(msgspec.structs.replace(certificate, op="a_rule_of_somebody")) == ""
