"""The text report: golden output, and what must not be in it."""

import msgspec
import pytest

from certgrad.language.parse import parse
from certgrad.obligations.certificate import Ball
from certgrad.report import labelled, text, wording
from certgrad.report.audited import Audit
from certgrad.report.findings import Remark
from tests.report import fabricated
from tests.report.audits import at, result
from tests.report.golden import check


def audited(certificates: list, seconds: float = 0.0) -> Audit:
    return Audit([result(c, 0.012 * (1 + index)) for index, c in enumerate(certificates)], seconds)


def test_report_of_every_verdict() -> None:
    check("audit.txt", text.render(audited(fabricated.ALL, 7.24)))


def test_quiet_prints_findings_and_the_summary_only() -> None:
    check("audit_quiet.txt", text.render(audited(fabricated.ALL, 7.24), quiet=True))


def test_quiet_without_findings_is_one_line() -> None:
    printed = text.render(audited(fabricated.PROVED, 0.5), quiet=True)
    assert printed == "3 ops: 1 proved, 2 proved under hypotheses, 0 unproved, 0 refuted (500 ms)\n"


def test_plain_text_has_no_escape_codes_and_no_trailing_blanks() -> None:
    printed = text.render(audited(fabricated.ALL, 1))
    assert "\x1b" not in printed
    assert all(line == line.rstrip() for line in printed.splitlines())


def test_brackets_in_hypotheses_are_not_read_as_markup() -> None:
    assert "x[i] ≠ 0" in text.table(audited([fabricated.RELU]))
    assert "x[i] ≠ 0" in text.table(audited([fabricated.RELU]), width=200)


def test_the_constraint_of_a_parameter_stands_with_the_hypotheses() -> None:
    row = text.table(audited([fabricated.SMOOTH])).splitlines()[1]
    assert row.split() == ["smooth_abs", "jvp", "vjp", "proved", "eps", ">", "0", "12", "ms"]


LIMITED = Remark("CG202", "all of it", True, 'proved with "n d" (inferred); with "b n d" it is refuted')


@pytest.mark.parametrize("verbose", [False, True])
def test_a_row_says_what_limits_it(verbose: bool) -> None:
    """A warning, and what the row says nowhere else; not what its shapes, its verdict and its hypotheses say."""
    beside = [Remark("CG204", "no claim at p = 3"), Remark("CG209", "assumed: x > 0"), Remark("CG203", "none for w")]
    one = result(fabricated.RELU, remarks=[LIMITED, *beside])
    told = text.table(Audit([one]), width=200, verbose=verbose)
    assert [line.split(None, 1) for line in told.splitlines() if "CG2" in line] == [
        ["warning", 'CG202 proved with "n d" (inferred); with "b n d" it is refuted'],
        ["note", "CG204 no claim at p = 3"],
    ]
    known = text.table(Audit([msgspec.structs.replace(one, covered=["CG202"])]), width=200, verbose=verbose)
    assert "CG202" not in known


def test_verbose_says_all_of_every_rule() -> None:
    check("audit_verbose.txt", text.render(audited(fabricated.ALL, 7.24), verbose=True))


def test_hypotheses_that_a_cell_does_not_hold_are_counted_and_verbose_lists_them() -> None:
    many = tuple(
        msgspec.structs.replace(fabricated.NONZERO, text=f"{'y' * 30}[{k}] ≠ 0", tree=parse(f"x != {k}", ("x",)))
        for k in range(9)
    )
    one = audited([fabricated.certificate("f", *fabricated.both("f", "proved under hypotheses", many))])
    assert "and 7 more (--verbose)" in " ".join(text.table(one).split())
    told = text.table(one, verbose=True)
    assert all(h.text in told for h in many)
    assert "more" not in told


def test_one_op_is_singular() -> None:
    assert text.render(audited([fabricated.SIGMOID], 1), quiet=True).startswith("1 op: 1 proved")


def test_balls_are_cut_visibly() -> None:
    assert labelled.ball(Ball(midpoint="1." + "3" * 50 + "e-7", radius="1e-99")) == "1." + "3" * 22 + "…e-7 ± 1e-99"
    assert labelled.ball(Ball(midpoint="2", radius="0")) == "2 ± 0"


def test_arrays_are_nested_lists_of_rationals() -> None:
    assert labelled.array([["1/2", "3"], ["0", "1"]]) == "[[1/2, 3], [0, 1]]"
    assert labelled.array("1/2") == "1/2"


@pytest.mark.parametrize("seconds, shown", [(0.0004, "0 ms"), (0.0124, "12 ms"), (7.24, "7.2 s"), (61, "61.0 s")])
def test_durations(seconds: float, shown: str) -> None:
    assert wording.duration(seconds) == shown


def test_the_values_of_options_stand_with_the_verdict_on_a_rule_in_code() -> None:
    """`proved` is said of these values alone. An op of the library declares which it has."""
    claims = fabricated.both("f", "proved")
    cased = [
        msgspec.structs.replace(
            claim, cases=tuple(msgspec.structs.replace(c, statics={"reduction": "mean"}) for c in claim.cases)
        )
        for claim in claims
    ]
    certificate = fabricated.certificate("pkg:f", *cased)
    in_code = text.table(Audit([result(certificate, **at(3))]))
    assert "    with  reduction=mean\n" in in_code
    assert "reduction" not in text.table(Audit([result(certificate)]))


def test_a_formula_without_a_space_is_wrapped_at_its_signs() -> None:
    formula = "·".join(f"exp(x[i,{k}])" for k in range(20))
    lines = "\n".join(labelled.fields([("residual", formula), ("file", "a" * 90)], 60)).splitlines()
    assert max(map(len, lines[:-1])) <= 60
    assert "".join(line.removeprefix("  residual").strip() for line in lines[:-1]) == formula
    assert lines[-1].endswith("a" * 90)


SIDES = [
    (("1.25", "1"), "0.2", "0.25 (0.2 of the larger side)"),
    (("-1", "1"), "2", "2 (2 of the larger side)"),
    (("1e-10", "0"), "1.00", "1e-10 (one side is 0)"),
    (("0", "2.5e-400"), "1.00", "2.5e-400 (one side is 0)"),
    (("nan", "1"), "", "one side is no number"),
]


@pytest.mark.parametrize("sides, relative, gap", SIDES)
def test_a_gap_is_said_with_what_it_is_beside(sides: tuple[str, str], relative: str, gap: str) -> None:
    left, right = (Ball(midpoint=side, radius="0") for side in sides)
    witness = msgspec.structs.replace(fabricated.WITNESS, lhs=left, rhs=right, relative_gap=relative)
    assert labelled.witness_rows(witness)[-1] == ("gap", gap)
