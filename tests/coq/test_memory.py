"""What is remembered of what Coq found, without Coq: by what a theorem says, and by what was tried."""

from dataclasses import replace

import pytest

from certgrad.coq import Judged
from certgrad.coq._memory import Memory
from tests.coq.test_accepted import printed


class Lib:
    version = "The Coq Proof Assistant, version 8.16.1"
    digest = "tactics"

    def __init__(self, cache):
        self.cache = cache


@pytest.fixture
def section():
    return printed("log").sections[0]


def test_an_acceptance_outlives_the_tactics(tmp_path, section):
    theorem = section.theorems[0]
    memory = Memory(Lib(tmp_path), 10)
    assert memory.recall(section, theorem) is None
    memory.keep(section, theorem, Judged(theorem.name, theorem.kind, True, "", 0.5, way=0))
    other = Lib(tmp_path)
    other.digest = "other tactics"
    assert Memory(other, 1).recall(section, theorem).accepted


def test_what_is_said_otherwise_is_not_known(tmp_path, section):
    theorem = section.theorems[0]
    memory = Memory(Lib(tmp_path), 10)
    memory.keep(section, theorem, Judged(theorem.name, theorem.kind, True, "", 0.5, way=0))
    stronger = replace(theorem, statement=theorem.statement.replace(f"  {theorem.hypotheses} ->\n", ""))
    assert stronger.statement != theorem.statement
    assert memory.recall(section, stronger) is None
    definition = section.definitions[0]
    changed = replace(definition, text=definition.text.replace("ln", "exp"))
    assert memory.recall(replace(section, definitions=(changed, *section.definitions[1:])), theorem) is None


def test_a_failure_is_known_for_these_tactics_and_no_longer_limit(tmp_path, section):
    theorem = section.theorems[0]
    memory = Memory(Lib(tmp_path), 10)
    memory.keep(section, theorem, Judged(theorem.name, theorem.kind, False, "no proof was found in time", 10.0))
    assert not memory.recall(section, theorem).accepted
    assert Memory(Lib(tmp_path), 20).recall(section, theorem) is None
    other = Lib(tmp_path)
    other.digest = "other tactics"
    assert Memory(other, 10).recall(section, theorem) is None


def test_a_definition_of_the_library_counts_with_those_that_it_mentions(tmp_path):
    mentioned = "\n".join(Memory(Lib(tmp_path), 10)._mentioned("(unique_max n f)"))
    assert "Definition unique_max" in mentioned
    assert "Fixpoint maxN" in "\n".join(Memory(Lib(tmp_path), 10)._mentioned("(max_lt n f)"))
    assert "erf" not in mentioned


def test_nothing_is_kept_where_nothing_is_to_be(tmp_path, section):
    theorem = section.theorems[0]
    memory = Memory(Lib(tmp_path), 10, used=False)
    memory.keep(section, theorem, Judged(theorem.name, theorem.kind, True))
    assert memory.recall(section, theorem) is None
    assert not list(tmp_path.iterdir())


def test_a_file_is_known_by_all_that_it_is_printed_from(tmp_path):
    memory = Memory(Lib(tmp_path), 10)
    judged = (Judged("a", "is_told", True, "", 0.5, way=1), Judged("b", "is_told", False, "no proof was found in time"))
    memory.keep_file("key", judged)
    assert memory.known_file("key") == judged
    assert memory.known_file("another key") is None
    assert Memory(Lib(tmp_path), 20).known_file("key") is None
    other = Lib(tmp_path)
    other.digest = "other tactics"
    assert Memory(other, 10).known_file("key") is None
    assert Memory(Lib(tmp_path), 10, used=False).known_file("key") is None


def test_the_way_that_found_a_proof_is_remembered(tmp_path, section):
    theorem = section.theorems[0]
    memory = Memory(Lib(tmp_path), 10)
    memory.keep(section, theorem, Judged(theorem.name, theorem.kind, True, "", 0.5, way=2))
    assert memory.recall(section, theorem).way == 2
