"""The baseline file: which findings are the same, what is stale, and what is said of a broken file."""

import os
import re

import msgspec
import pytest

from certgrad.cli._code import Code
from certgrad.errors import UsageError
from certgrad.report.findings import Finding, Remark, findings_of
from certgrad.rules.project import baseline
from certgrad.rules.project.baseline import AuditScope
from tests.report import fabricated

ONE = Finding("pkg.losses:f", "CG102", "refuted", "0123456789ab")
TWO = Finding("pkg.norms:g", "CG201", "not audited", "0123456789ab")


def test_the_file_is_sorted_and_has_a_finding_on_each_line(tmp_path):
    file = tmp_path / "baseline.json"
    baseline.write(file, [TWO, ONE, TWO])
    assert file.read_text() == (
        '{\n  "format": 1,\n  "findings": [\n'
        '    {"rule":"pkg.losses:f","code":"CG102","verdict":"refuted","digest":"0123456789ab"},\n'
        '    {"rule":"pkg.norms:g","code":"CG201","verdict":"not audited","digest":"0123456789ab"}\n  ]\n}\n'
    )
    assert baseline.read(file) == [ONE, TWO]
    baseline.write(file, [])
    assert baseline.read(file) == []
    assert os.listdir(tmp_path) == ["baseline.json"]


def test_a_file_that_cannot_be_written_is_left(tmp_path):
    with pytest.raises(UsageError, match="cannot be written"):
        baseline.write(tmp_path / "nowhere" / "b.json", [ONE])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no JSON, or not the whole"),
        ('{"format": 1, "findings": [\n<<<<<<< HEAD', "resolve a merge"),
        ('{"format": 2, "findings": []}', "has format 2, and this certgrad reads format 1"),
        ("[]", "is JSON, but no baseline"),
        ('{"format": 1}', "missing required field `findings`"),
        ('{"format": 1, "findings": [], "more": 1}', "unknown field `more`"),
        ('{"format": 1, "findings": [{"rule": "f"}]}', "missing required field"),
        (msgspec.json.encode({"format": 1, "findings": [{**msgspec.structs.asdict(ONE), "code": "CG9"}]}), "'CG9' of"),
    ],
)
def test_a_broken_file_is_described(tmp_path, text, said):
    file = tmp_path / "b.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError, match=re.escape(said)) as caught:
        baseline.read(file)
    assert "b.json" in str(caught.value)


def test_no_file(tmp_path):
    with pytest.raises(UsageError, match="`certgrad baseline` writes it"):
        baseline.read(tmp_path / "b.json")


def changed(certificate, **fields):
    """The certificate with its findings' cases changed."""
    return msgspec.structs.replace(
        certificate,
        claims=[
            msgspec.structs.replace(c, cases=[msgspec.structs.replace(case, **fields) for case in c.cases])
            for c in certificate.claims
        ],
    )


def test_a_finding_is_the_same_until_its_difference_changes():
    (finding,) = findings_of("m:f", fabricated.SWAPPED)
    assert (finding.rule, finding.code, finding.verdict) == ("m:f", "CG102", "refuted")
    assert findings_of("m:f", changed(fabricated.SWAPPED, reason="see m.py:99")) == [finding]
    assert findings_of("m:f", changed(fabricated.SWAPPED, residual="x")) != [finding]
    assert findings_of("m:f", changed(fabricated.SWAPPED, signature="n -> n")) != [finding]
    assert not findings_of("m:f", fabricated.RELU)
    (unproved,) = findings_of("m:f", changed(fabricated.UNKNOWN, residual="", reason="stopped in line 7 after 3.2 s"))
    assert findings_of("m:f", changed(fabricated.UNKNOWN, residual="", reason="stopped in line 9 after 4.5 s")) == [
        unproved
    ]
    assert findings_of("m:f", changed(fabricated.UNKNOWN, residual="", reason="no invariant")) != [unproved]


def test_a_remark_is_a_finding():
    (one,) = findings_of("m:f", None, [Remark("CG203", "no gradient for w")])
    assert one.verdict == "no gradient"
    assert findings_of("m:f", None, [Remark("CG203", "no gradient for b")]) != [one]


def test_what_an_interruption_left_over_is_not_stale():
    code = Code(names=["pkg"], interrupted=True, unreached=["pkg.losses:f"])
    assert baseline.stale([ONE, TWO], [], code.audit_scope) == [TWO]


def test_only_what_was_looked_at_is_stale():
    entries = [ONE, TWO, Finding("other:h", "CG102", "refuted", "0")]
    assert baseline.stale(entries, [ONE], AuditScope(("pkg",))) == [TWO]
    assert baseline.stale(entries, [], AuditScope(("pkg.losses",))) == [ONE]
    assert baseline.stale(entries, [], AuditScope(("pkg.losses:f",))) == [ONE]
    assert baseline.stale(entries, [], AuditScope(("pkg.losses:other", "pk"))) == []
    assert baseline.stale(entries, [], AuditScope(("pkg",), unseen=("pkg.norms", "pkg.losses:f"))) == []
