"""`--strict=exact`: what is proved is evaluated exactly as well, and what does not agree fails by name."""

from collections.abc import Callable
from pathlib import Path

import pytest

from certgrad.obligations.certificate import Certificate
from certgrad.obligations.verify import Verification
from certgrad.report.audited import Audit, RuleResult
from certgrad.report.findings import NOT_EXACT, fatal
from certgrad.report.json import render
from certgrad.report.junit import render as junit
from certgrad.report.markdown import render as markdown
from certgrad.report.text import table
from certgrad.rules.certificates import exactly
from certgrad.rules.project.configuration import nearest
from tests.cli.conftest import Result
from tests.cli.test_process import run
from tests.report import fabricated

RULES = """
import jax, jax.numpy as jnp, certgrad

def rule(function, backward):
    one = jax.custom_vjp(function)
    one.defvjp(lambda x: (function(x), x), backward)
    return certgrad.declare("n -> n")(one)

sine = rule(jnp.sin, lambda x, g: (g * jnp.cos(x),))
half = rule(lambda x: x * 0.7071067811865476, lambda x, g: (g / jnp.sqrt(2.0),))
"""


def test_what_does_not_agree_fails_and_is_named(tmp_path: Path) -> None:
    (file := tmp_path / "mine.py").write_text(RULES)
    options = ("audit", str(file), "--no-cache", "--quiet", "--format", "text")
    assert run(*options).returncode == 0
    done = run(*options, "--strict=exact")
    assert done.returncode == 1
    assert "CG210" in done.stdout + done.stderr
    assert "sine" not in done.stdout + done.stderr
    assert "half" in done.stdout + done.stderr


@pytest.mark.parametrize(
    "verification, level, remarked",
    [
        (Verification(op="relu", outcome="verified", level="exact for all sizes"), "exact for all sizes", False),
        (Verification(op="relu", outcome="verified", level="balls"), "balls", True),
        (Verification(op="relu", outcome="failed", problems=("it differs",)), "", True),
    ],
)
def test_the_level_of_a_proof(
    monkeypatch: pytest.MonkeyPatch, verification: Verification, level: str, remarked: bool
) -> None:
    monkeypatch.setattr(exactly, "verify", lambda certificate: verification)
    found = exactly.with_level(RuleResult(name="relu", certificate=fabricated.RELU), {}.get)
    assert found.level == level
    assert [r.code for r in found.remarks] == [NOT_EXACT] * remarked
    assert all(fatal(r.code, ("exact",)) and not fatal(r.code, ("assumed",)) for r in found.remarks)


@pytest.mark.parametrize("certificate", [fabricated.SWAPPED, fabricated.UNKNOWN, None])
def test_what_is_not_proved_is_not_evaluated(monkeypatch: pytest.MonkeyPatch, certificate: Certificate | None) -> None:
    monkeypatch.setattr(exactly, "verify", lambda certificate: pytest.fail("it is evaluated"))
    before = RuleResult(name="x", certificate=certificate)
    assert exactly.with_level(before, {}.get) is before


@pytest.mark.parametrize("shown", [
    lambda audit: table(audit, 200),
    lambda audit: markdown(audit),
    lambda audit: junit(audit, Path.cwd()).decode(),
    lambda audit: render(audit, "1", Path.cwd()).decode(),
])  # fmt: skip
def test_formats_say_the_level(shown: Callable[[Audit], str]) -> None:
    one = RuleResult(name="relu", certificate=fabricated.RELU)
    assert "exact for all sizes" in shown(Audit([_leveled(one)]))
    assert "exact" not in shown(Audit([one]))


def _leveled(one: RuleResult) -> RuleResult:
    return RuleResult(name=one.name, certificate=one.certificate, level="exact for all sizes")


def test_names_that_are_not_known(
    certgrad: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = certgrad("audit", "--strict=all", "--show-settings")
    assert (wrong.code, "--strict=all is not known; it knows assumed, exact" in wrong.err) == (2, True)
    assert 'strict = ["exact", "assumed"]' in certgrad("audit", "--strict=exact,assumed", "--show-settings").out
    assert "strict = true" in certgrad("audit", "--strict", "--show-settings").out
    (tmp_path / "pyproject.toml").write_text('[tool.certgrad]\nstrict = ["exact"]\n')
    assert nearest(tmp_path).strict == ("exact",)
