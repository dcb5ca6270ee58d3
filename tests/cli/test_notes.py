"""What is noted on stderr beside a report: what this does not say itself."""

import msgspec
import pytest

from certgrad.cli._policy import notes
from certgrad.report.audited import Audit
from certgrad.report.findings import Remark, Strictness
from tests.report import fabricated
from tests.report.audits import remarked, result

WRONG = Remark("CG202", "all of it", True, 'proved with "n d" (inferred); with "b n d" it is refuted')
INFERRED = Remark("CG202", "its shapes are inferred")
LOST = Remark("CG203", "no gradient for w")
BOUNDED = Remark("CG209", "assumed: x > 0")
LEFT = Remark("CG204", "no claim at p = 3")


def named(name: str, *remarks: Remark) -> object:
    certificate = msgspec.structs.replace(fabricated.RELU, op=name)
    return result(certificate, remarks=list(remarks))


@pytest.mark.parametrize(
    ("options", "strict", "noted"),
    [
        (
            {},
            False,
            ["CG202 f: all of it", "CG204 f: no claim at p = 3", "CG203 g: no gradient for w", "CG201 h: not audited"],
        ),
        ({"rows": True}, False, ["CG203 g: no gradient for w", "CG201 h: not audited"]),
        ({"rows": True}, True, []),  # all are listed below the rows
        ({"brief": True}, False, ["CG204 left out of the claim: 1 rule; --strict lists it"]),
    ],
)
def test_what_rows_and_lines_say_is_not_noted_again(
    options: dict[str, bool], strict: Strictness, noted: list[str]
) -> None:
    audit = Audit([named("f", WRONG, LEFT), named("g", LOST), remarked("h", "CG201", "not audited")], strict=strict)
    found = notes(audit, **options)
    assert [note for note in found if "CG203 no gradient: 1 rule" not in note] == noted


def test_without_rows_everything_is_noted() -> None:
    assert notes(Audit([remarked("h", "CG201", "not audited")]), rows=True) == ["CG201 h: not audited"]


def test_what_many_rows_say_is_counted() -> None:
    rules = [named(f"f{k}", INFERRED, BOUNDED) for k in range(4)]
    assert notes(Audit(rules), rows=True) == [
        "CG202 shapes inferred: 4 rules; --strict lists them",
        "CG209 bounds assumed: 4 rules; --strict lists them",
    ]
    assert len(notes(Audit(rules[:3]), rows=True)) == 6
