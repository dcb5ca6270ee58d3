"""`certgrad audit --jax`: what it prints, its exit codes, and its messages for bad input."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from certgrad.cli import _library
from certgrad.obligations.certificate import Certificate
from tests.cli.conftest import Result
from tests.report import fabricated

Run = Callable[..., Result]


def named(certificate: Certificate, name: str) -> Certificate:
    return msgspec.structs.replace(certificate, op=name)


@dataclass
class Jax:
    """A fabricated JAX: certificates by name."""

    certificates: dict[str, Certificate] = field(default_factory=dict)

    def audit(self, name: str, cache: Path | None = None) -> Certificate:
        return self.certificates[name]


@pytest.fixture
def jax(monkeypatch: pytest.MonkeyPatch) -> Jax:
    """logistic and jax.nn.relu, both proved."""
    fake = Jax(
        {"logistic": named(fabricated.SIGMOID, "logistic"), "jax.nn.relu": named(fabricated.RELU, "jax.nn.relu")}
    )
    monkeypatch.setattr(_library, "jax_rules", lambda: list(fake.certificates))
    monkeypatch.setattr(_library, "audit_jax_rule", fake.audit)
    monkeypatch.setattr(_library, "tidy_cache", lambda folder, problem: None)
    monkeypatch.setattr(_library, "cache_problem", lambda folder: "")
    return fake


def test_table_and_summary(jax: Jax, certgrad: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = certgrad("audit", "--jax")
    assert result.code == 0
    assert result.err == ""
    assert result.out.startswith("rule         configurations  verdict                  time")
    assert "1 primitive: 1 proved, 0 proved under hypotheses, 0 unproved, 0 refuted\n" in result.out
    assert "1 function: 0 proved, 1 proved under hypotheses, 0 unproved, 0 refuted (" in result.out


def test_findings_are_printed_and_fail(jax: Jax, certgrad: Run) -> None:
    jax.certificates |= {"mul": named(fabricated.SWAPPED, "mul"), "sort": named(fabricated.UNKNOWN, "sort")}
    result = certgrad("audit", "--jax")
    assert result.code == 1
    assert "vjp_is_adjoint: refuted\n" in result.out
    assert "unproved:\n" in result.out
    assert certgrad("audit", "--jax", "--select", "sort").code == 0
    assert certgrad("audit", "--jax", "--select", "sort", "--strict").code == 1
    assert certgrad("audit", "--jax", "--select", "sort", "--fail-on", "unproved").code == 1


def test_a_rounded_constant_is_not_enough_for_strict(jax: Jax, certgrad: Run) -> None:
    claims = fabricated.both("cbrt", "proved up to rounding")
    jax.certificates["cbrt"] = fabricated.certificate("cbrt", *claims)
    assert certgrad("audit", "--jax").code == 0
    assert certgrad("audit", "--jax", "--strict").code == 1


def test_json_and_markdown(jax: Jax, certgrad: Run, tmp_path: Path) -> None:
    document = json.loads(certgrad("audit", "--jax", "--format", "json").out)
    assert [entry["op"] for entry in document["certificates"]] == ["logistic", "jax.nn.relu"]
    page = tmp_path / "jax.md"
    assert certgrad("audit", "--jax", "-q", "--output", f"markdown={page}").code == 0
    assert "## Functions\n" in page.read_text()


def test_select_takes_names_with_dots(jax: Jax, certgrad: Run) -> None:
    for pattern in ("jax.nn.relu", "jax.nn.*", "jax.nn.relu.vjp_is_adjoint"):
        document = json.loads(certgrad("audit", "--jax", "--select", pattern, "--format", "json").out)
        assert [entry["op"] for entry in document["certificates"]] == ["jax.nn.relu"]


def test_a_target_is_refused(jax: Jax, certgrad: Run) -> None:
    result = certgrad("audit", "--jax", "relu")
    assert result.code == 2
    assert result.err == (
        "error: --jax audits the installed JAX and takes no target, but 'relu' is named. "
        "Narrow it with --select 'relu', or leave --jax out.\n"
    )


def test_a_pattern_that_matches_nothing_is_refused(jax: Jax, certgrad: Run) -> None:
    result = certgrad("audit", "--jax", "--select", "tanhh")
    assert result.code == 2
    assert result.err == (
        "error: --select: 'tanhh' matches no primitive or function of the installed JAX and is no code. "
        "`certgrad audit --jax` shows all; a pattern may use * and ?, as in 'soft*'.\n"
    )


def test_patterns_that_leave_nothing_exit_5(jax: Jax, certgrad: Run) -> None:
    result = certgrad("audit", "--jax", "--select", "logistic", "--ignore", "logistic")
    assert result.code == 5
    assert result.err.startswith("nothing selected: ")


def test_the_installed_jax(certgrad: Run) -> None:
    result = certgrad("audit", "--jax", "--no-cache", "--select", "sub,jax.nn.relu6")
    assert result.code == 0
    assert "0 at x = 0; 0 at x = 6" in result.out
