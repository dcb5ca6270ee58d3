"""The ways to look for a proof: which one found it is said, goes first the next time, and is what is exported."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from certgrad.cli.export import _families
from certgrad.coq import RECORD_FILE, Kernel, read_ways, ways
from certgrad.coq._theorem import Theorem
from tests.coq.test_accepted import printed


def only(ways: tuple[str, ...]):
    """The file of the logarithm, with one theorem that has these ways."""
    file = printed("log")
    section = file.sections[0]
    theorem = replace(section.theorems[0], name="one_is_one", statement="  (1 = 1)%R", ways=ways)
    return replace(file, sections=(replace(section, theorems=(theorem,)),))


@pytest.mark.slow
def test_the_way_that_finds_a_proof_is_said(kernel):
    (judged,) = kernel.judge(only(("fail", "idtac", "reflexivity", "trivial"))).judged
    assert judged.accepted
    assert judged.way == 2


@pytest.mark.slow
def test_a_way_that_takes_long_does_not_hold_up_the_others(kernel):
    forever = "do 3000 (do 3000 (do 3000 idtac))"
    (judged,) = kernel.judge(only((f"{forever}; reflexivity", "reflexivity"))).judged
    assert judged.accepted
    assert judged.way == 1


def test_the_only_way_is_the_one(kernel):
    (judged,) = kernel.judge(only(("reflexivity",))).judged
    assert judged.accepted
    assert judged.way == 0


@pytest.mark.slow
def test_no_way_finds_a_proof(kernel):
    (judged,) = kernel.judge(only(("fail", "idtac"))).judged
    assert not judged.accepted
    assert judged.way is None
    assert judged.reason.startswith("no proof was found:")


@pytest.mark.slow
def test_a_search_that_ends_by_the_clock_says_so(kernel):
    hurried = Kernel(kernel.library, limit=1, remember=False)
    forever = "do 3000 (do 3000 (do 3000 idtac))"
    (judged,) = hurried.judge(only((forever, f"idtac; {forever}"))).judged
    assert judged.reason == "no proof was found in time"


def test_a_known_way_is_gone_first_and_is_the_proof():
    theorem = Theorem("t", "k", "  True", ("fail", "exact I"))
    assert theorem.search_sentence(1, 10).index("exact I") < theorem.search_sentence(1, 10).index("fail")
    assert theorem.proof_sentence(1, 10) == "exact I."
    assert theorem.proof_sentence(None, 10) == theorem.proof_sentence(2, 10)
    assert theorem.proof_sentence(None, 10) == (
        "first [timeout 3 (solve [fail]) | timeout 3 (solve [exact I]) | "
        "timeout 10 (solve [fail]) | timeout 10 (solve [exact I])]."
    )


def test_a_record_is_a_hint_and_may_be_missing(tmp_path):
    assert read_ways(tmp_path / RECORD_FILE) == {}
    (tmp_path / RECORD_FILE).write_text("[1]")
    assert read_ways(tmp_path / RECORD_FILE) == {}


def test_the_library_s_record_tells_a_way_that_there_is():
    known = ways()
    for name in ("log", "softmax", "matmul"):
        for theorem in printed(name).theorems:
            assert known.get(theorem.name, 0) < max(1, len(theorem.ways))
    assert known["log_jvp_is_derivative"] == 0


def test_what_is_exported_is_what_was_found():
    file = printed("log")
    text = file.text(lambda t: t.kind == "jvp_is_derivative", {"log_jvp_is_derivative": 0})
    theorem = next(t for t in file.theorems if t.kind == "jvp_is_derivative")
    assert f"  {theorem.ways[0]}.\nQed." in text
    assert "(* log_vjp_is_adjoint is not here. No proof of it was found. *)" in text
    assert "first [timeout" not in text


def test_definitions_that_no_kept_theorem_mentions_are_left_out():
    file = printed("log")
    assert "Definition log_vjp " in file.text()
    derivative = file.text(lambda t: t.kind == "jvp_is_derivative")
    assert "Definition log_forward " in derivative
    assert "Definition log_jvp " in derivative
    assert "Definition log_vjp " not in derivative
    assert "Definition" not in file.text(lambda t: False)
    assert "Definition log_vjp " not in file.session(lambda t: t.kind == "jvp_is_derivative", {}, 10)


def test_ops_of_one_module_share_a_file():
    one, two, three = (printed(name) for name in ("relu", "softmax", "elu"))
    piecewise, softmax = _families([one, two, three])
    assert (piecewise.name, piecewise.subject) == ("activations_piecewise", "relu, elu")
    assert piecewise.theorems == (*one.theorems, *three.theorems)
    assert softmax.sections == two.sections
    names = [d.name for s in piecewise.sections for d in s.definitions]
    assert len(names) == len(set(names))


@pytest.mark.slow
def test_what_is_recorded_is_compiled_anew(kernel, tmp_path: Path) -> None:
    from tests.cli.test_process import run

    asked = run("report", "--coq", "--check", "--directory", str(tmp_path))
    assert asked.returncode == 2
    assert "no record of accepted theorems" in asked.stderr
    (tmp_path / "certificates").mkdir()
    shutil.copy(Path("reports/certificates/log.json"), tmp_path / "certificates")
    (tmp_path / RECORD_FILE).write_text('{"log_jvp_is_derivative": 0, "log_vjp_is_adjoint": 7}')
    done = run("report", "--coq", "--check", "--directory", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 theorems" in done.stdout
    (tmp_path / RECORD_FILE).write_text('{"log_jvp_is_derivative": 0, "log_is_no_theorem": 0}')
    done = run("report", "--coq", "--check", "--directory", str(tmp_path))
    assert done.returncode == 1
    assert "log_is_no_theorem: recorded as accepted, and no theorem of any op" in done.stdout
