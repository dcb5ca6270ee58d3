"""`certgrad diff`: exit codes, what it reads, and what it says of files that are no audits."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from certgrad.report import json as documents
from certgrad.report.audited import Audit
from tests.cli.conftest import Library, Result
from tests.report import fabricated
from tests.report.audits import result

Run = Callable[..., Result]


@pytest.fixture
def audits(library: Library, certgrad: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """`old.json`: all is proved; `new.json`: sigmoid lost its proof."""
    monkeypatch.chdir(tmp_path)
    assert certgrad("audit", "--output", "json=old.json").code == 0
    library.certificates["sigmoid"] = fabricated.certificate("sigmoid", *fabricated.both("sigmoid", "refuted"))
    assert certgrad("audit", "--output", "json=new.json").code == 1
    return library


def test_a_lost_proof_is_one_line_and_exit_1(audits: Library, certgrad: Run) -> None:
    done = certgrad("diff", "old.json", "new.json")
    assert (done.code, done.out) == (1, "sigmoid: lost proof: proved → refuted (CG101, CG102)\n")


def test_no_loss_exits_0(audits: Library, certgrad: Run) -> None:
    assert certgrad("diff", "old.json", "old.json").out == "no change in 3 rules\n"
    back = certgrad("diff", "new.json", "old.json")
    assert (back.code, back.out) == (0, "sigmoid: proved: refuted → proved\n")
    assert certgrad("diff", "new.json", "old.json", "--quiet").out == ""


def test_removed_rules_fail_strictly(audits: Library, certgrad: Run) -> None:
    certgrad("audit", "relu", "--output", "json=less.json")
    done = certgrad("diff", "old.json", "less.json")
    assert done.code == 0
    assert "log: removed: it was proved under hypotheses" in done.out
    assert certgrad("diff", "old.json", "less.json", "--strict").code == 1


def test_formats(audits: Library, certgrad: Run) -> None:
    done = certgrad("diff", "old.json", "new.json", "--format", "json", "--output", "markdown=pr.md")
    assert [one["rule"] for one in json.loads(done.out)["losses"]] == ["sigmoid"]
    assert Path("pr.md").read_text().startswith("**certgrad**: 1 loss in 3 rules.")
    assert certgrad("diff", "old.json", "new.json", "--output", "sarif=x").code == 2


def test_the_files_of_an_audit_are_not_those_of_a_comparison(
    audits: Library, certgrad: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CERTGRAD_OUTPUT", "sarif=a.sarif")
    assert certgrad("diff", "old.json", "old.json").code == 0


def test_folders_of_certificates_are_audits_too(audits: Library, certgrad: Run) -> None:
    folder = Path("certificates")
    folder.mkdir()
    for one in fabricated.PROVED:
        (folder / f"{one.op}.json").write_bytes(documents.encode(one))
    done = certgrad("diff", "certificates", "old.json")
    assert done.err == ""
    assert done.out == "no change in 3 rules\n"


@pytest.mark.parametrize(
    "content, said",
    [
        ("{", "this is no JSON, or not the whole of it"),
        ("[]", "this is JSON, but no certificate and no audit"),
        ('{"certificates": []}', "this audit has no format, and this certgrad reads format 1"),
        ('{"format": 99, "certificates": []}', "this audit has format 99, and this certgrad reads format 1"),
        ('{"format": 1, "certificates": [{"format": 3}]}', "its certificates have format 3, and this certgrad reads"),
        ('{"format": 1, "certificates": [], "more": 1}', "this is not a whole audit"),
        ('{"certificates": ' + "[" * 100_000, "this is no JSON, or not the whole of it"),
    ],
)
@pytest.mark.one_in(2)
def test_what_is_no_audit_is_named(audits: Library, certgrad: Run, content: str, said: str) -> None:
    Path("bad.json").write_text(content)
    done = certgrad("diff", "old.json", "bad.json")
    assert done.code == 2
    assert done.err.startswith("error: bad.json: ")
    assert said in done.err


@pytest.mark.parametrize("content", ["{", "[]", "import jax\n", '{"version": "2.1.0", "runs": []}'])
def test_a_file_that_is_no_audit_is_told_which_files_are(audits: Library, certgrad: Run, content: str) -> None:
    Path("bad.json").write_text(content)
    done = certgrad("diff", "bad.json", "old.json")
    assert done.code == 2
    assert "so there is nothing to compare. Name two audits as `certgrad audit TARGET --output json=FILE`" in done.err


def test_a_missing_file_is_named(audits: Library, certgrad: Run) -> None:
    done = certgrad("diff", "gone.json", "old.json")
    assert done.code == 2
    assert "gone.json: there is no such file" in done.err


def test_an_audit_that_is_not_complete_is_said(audits: Library, certgrad: Run) -> None:
    audit = Audit([result(c) for c in fabricated.PROVED], problems=["interrupted after 3 verdicts"])
    Path("cut.json").write_bytes(documents.render(audit, "1", Path.cwd()))
    done = certgrad("diff", "old.json", "cut.json")
    assert "note: cut.json is not a complete audit: interrupted after 3 verdicts" in done.err
