"""JUnit XML, read back by junitparser."""

import io
from dataclasses import replace

import pytest
from junitparser import Failure, JUnitXml, Skipped, TestCase

from certgrad.report import junit
from certgrad.report.audited import Audit
from certgrad.report.findings import Remark
from tests.report import fabricated
from tests.report.audits import BASE, EVERY, remarked, result
from tests.report.golden import check


def read(audit: Audit) -> tuple[JUnitXml, dict[str, TestCase]]:
    document = JUnitXml.fromroot(JUnitXml.fromstring(junit.render(audit, BASE))._elem)
    return document, {f"{case.classname}:{case.name}": case for suite in document for case in suite}


def test_every_verdict_reads_back() -> None:
    check("audit.junit.xml", junit.render(EVERY, BASE).decode())
    document, cases = read(EVERY)
    assert (document.tests, document.failures, document.errors, document.skipped) == (7, 2, 1, 3)
    assert document.time == pytest.approx(sum(one.seconds for one in EVERY.results), abs=0.001)
    assert list(cases) == [
        "certgrad.ops:log",
        "pkg.losses:relu",
        "pkg.losses:mul",
        "pkg.losses:sort",
        "pkg.losses:straight_through",
        "pkg.broken:pkg.broken",
        "certgrad:problem 1",
    ]
    assert cases["certgrad.ops:log"].is_passed
    assert cases["certgrad.ops:log"].system_out == "proved under hypotheses: x[i] > 0"
    (failure,) = cases["pkg.losses:mul"].result
    assert isinstance(failure, Failure)
    assert failure.message == "CG102 pkg.losses:mul.vjp_is_adjoint: refuted"
    assert "x = [1/2, 3]" in failure.text
    (skipped,) = cases["pkg.losses:sort"].result
    assert isinstance(skipped, Skipped)
    assert "primitive sort is not known" in skipped.text
    (covered,) = cases["pkg.losses:straight_through"].result
    assert covered.message.endswith("(baseline)")


def test_what_the_audit_fails_on_fails() -> None:
    strict = replace(EVERY, failing=frozenset({"refuted", "unproved"}))
    (failure,) = read(strict)[1]["pkg.losses:sort"].result
    assert isinstance(failure, Failure)
    assert read(strict)[0].failures == 3


def test_a_remark_beside_a_proof_does_not_take_it_away() -> None:
    noted = result(fabricated.LOG, remarks=[Remark("CG202", "its shapes are inferred")])
    (case,) = read(Audit([noted]))[1].values()
    assert case.is_passed
    assert "its shapes are inferred" in (case.system_out or "")


def test_characters_that_xml_cannot_hold_are_replaced() -> None:
    rule = remarked("pkg:f", "CG201", "\x1b[31mred\x00 ]]> <&>\ufffe")
    data = junit.render(Audit([rule]), BASE)
    (case,) = (case for suite in JUnitXml.fromfile(io.BytesIO(data)) for case in suite)
    (skipped,) = case.result
    assert "[31mred\ufffd ]]> <&>\ufffd" in skipped.text
