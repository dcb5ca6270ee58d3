"""What an audit inferred, as a declaration beside the rule, and what is said of one that is marked."""

from pathlib import Path

import msgspec
import pytest

import certgrad
from certgrad.cli._fixing import fixed
from certgrad.language.parse import parse
from certgrad.obligations.certificate import ASSUMED, Hypothesis
from certgrad.report.audited import RuleResult
from certgrad.report.findings import BOUNDED, INFERRED, Remark
from certgrad.report.wording import INTENDED
from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.declared.fix import Beside
from certgrad.rules.project.marked import NOT_DECLARED, as_marked, of_result
from tests.report import fabricated

SHAPES = Remark(INFERRED, f'its shapes are inferred ("n, ()"), {NOT_DECLARED}; with "n" it is refuted')
POSITIVE = Hypothesis(
    text="delta > 0", latex="", prose="", source=ASSUMED, negligible=False, tree=parse("delta > 0", ("delta",))
)
BOUNDS = fabricated.certificate(
    "m:f", fabricated.claim("m:f", "vjp_is_adjoint", "proved under hypotheses", (POSITIVE,))
)
MEANT = fabricated.certificate(
    "m:f",
    fabricated.claim(
        "m:f",
        "vjp_is_adjoint",
        "refuted",
        reason=f"they differ\nlikely cause in the cotangent of x: it is −g; {INTENDED}",
    ),
)
BOUNDED_ALONE = RuleResult(name="m:f", where="m.py:3", certificate=BOUNDS, remarks=[Remark(BOUNDED, "")])
INFERRED_ALONE = RuleResult(name="m:f", where="m.py:3", inferred='"n, ()"', remarks=[SHAPES])


@pytest.mark.parametrize(
    "result, wanted",
    [
        (INFERRED_ALONE, Beside(3, Declaration("n, ()"))),
        (BOUNDED_ALONE, Beside(3, Declaration("", domain=("delta > 0",)), whole=False)),
        (
            msgspec.structs.replace(BOUNDED_ALONE, inferred='"n"', remarks=[SHAPES, *BOUNDED_ALONE.remarks]),
            Beside(3, Declaration("n", domain=("delta > 0",))),
        ),
        (
            RuleResult(name="m:f", where="m.py:3", certificate=MEANT),
            Beside(3, Declaration("", domain=(), surrogate="it is −g"), whole=False),
        ),
        (msgspec.structs.replace(INFERRED_ALONE, covered=[INFERRED]), None),
        (RuleResult(name="m:f", where="m.py:3", certificate=fabricated.RELU), None),
    ],
)
def test_what_is_to_stand_beside_a_rule(result: RuleResult, wanted: Beside | None) -> None:
    assert of_result(msgspec.structs.replace(result, file="/m.py")) == wanted


@pytest.mark.parametrize("marked, otherwise", [("n, ()", False), ("n d", True)])
def test_the_remark_speaks_of_the_mark(marked: str, otherwise: bool) -> None:
    function = certgrad.declare(marked, domain="delta > 0", inferred=True)(lambda x, delta: x)
    (remark,) = as_marked(INFERRED_ALONE, function).remarks
    assert "is marked as inferred: read it, and remove the mark" in remark.text
    assert ("which does not count" in remark.text) is otherwise
    assert remark.text.endswith('; with "n" it is refuted')
    assert as_marked(INFERRED_ALONE, len) == INFERRED_ALONE


def test_files_are_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "m.py"
    file.write_text("import jax\n\n@jax.custom_vjp\ndef f(x, delta): ...\n")
    one = msgspec.structs.replace(INFERRED_ALONE, file=str(file))
    differs = msgspec.structs.replace(one, name="m:g", inferred='"n d, ()"')
    elsewhere = msgspec.structs.replace(one, name="m:h", file="/elsewhere/m.py")
    before = file.read_text()
    assert fixed([one, differs]) == [
        "nothing can be written beside m:f (m.py:3), m:g (m.py:3): [tool.certgrad.signatures] takes a declaration"
    ]
    assert file.read_text() == before
    notes = fixed([one, elsewhere])
    read = "read what is marked, and remove the marks (findings name the lines before that)"
    assert notes[0] == f"m.py: 1 declaration marked as inferred: {read}"
    assert notes[1].startswith("nothing can be written beside m:h (m.py:3)")
    after = file.read_text()
    assert after == (
        "import certgrad\nimport jax\n\n"
        '@certgrad.declare("n, ()", inferred=True)\n@jax.custom_vjp\ndef f(x, delta): ...\n'
    )
    assert fixed([msgspec.structs.replace(one, where="m.py:4")]) == notes[:1]
    assert file.read_text() == after
