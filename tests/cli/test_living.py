"""Ignores, the baseline, `--strict` and `--fail-on` on rules in code, in order of precedence. The rules are made up."""

import json as standard
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from certgrad.cli import _code
from certgrad.obligations.certificate import Certificate, ignoring
from certgrad.report.audited import RuleResult
from certgrad.report.findings import Remark
from certgrad.rules.workers import crew
from certgrad.rules.workers.worker import Begun, Seen
from tests.cli.conftest import Library, Result
from tests.report import fabricated

Run = Callable[..., Result]


def result(name: str, certificate: Certificate | None = None, *remarks: tuple[str, str]) -> RuleResult:
    module = name.partition(":")[0]
    return RuleResult(
        name=name,
        where=f"{module.rpartition('.')[2]}.py:3",
        file=str(Path.cwd() / f"{module.replace('.', '/')}.py"),
        certificate=msgspec.structs.replace(certificate, op=name) if certificate and certificate.claims else None,
        ignored=list(certificate.ignored or ()) if certificate and not certificate.claims else [],
        remarks=[Remark(*r) for r in remarks],
    )


@pytest.fixture
def project(library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, RuleResult]:
    """pkg.a:swapped is refuted, pkg.a:relu proved, pkg.b:sort unproved and with remarks."""
    monkeypatch.chdir(tmp_path)
    rules = [
        result("pkg.a:relu", fabricated.RELU),
        result("pkg.a:swapped", fabricated.SWAPPED),
        result("pkg.b:sort", fabricated.UNKNOWN, ("CG203", "no gradient for w")),
        result("pkg.b:through", fabricated.STRAIGHT),
    ]
    found = {rule.name: rule for rule in rules}

    def audit(targets: list[str], *options: object) -> Iterator[object]:
        for target in targets:
            chosen = [r for r in found.values() if r.name.startswith(target)]
            places = [Begun(kind="rule", name=r.name) for r in chosen]
            yield Seen(target=target, names=[target], rules=places)
            yield from chosen

    monkeypatch.setattr(crew, "audit_targets", audit)
    monkeypatch.setattr(_code, "_is_code", lambda target: target.startswith("pkg"))
    write("targets = ['pkg']")
    return found


def write(*lines: str, tail: str = "") -> None:
    Path("pyproject.toml").write_text("\n".join(["[tool.certgrad]", *lines, tail]))


def test_a_baseline_covers_what_it_lists(project: dict, certgrad: Run) -> None:
    assert certgrad("audit").code == 1
    first = certgrad("baseline")
    assert first.code == 0
    assert first.out.splitlines()[:2] == ["+ pkg.a:swapped: CG102 refuted", "+ pkg.b:sort: CG101 unproved"]
    assert first.out.splitlines()[-1].endswith("certgrad-baseline.json: 4 findings")
    after = certgrad("audit", "--strict")
    assert after.code == 0
    assert "4 findings in certgrad-baseline.json, not counted" in after.err
    assert "refuted (baseline)" in after.out
    assert "claim  " not in after.out, "what the baseline covers is not shown again"
    assert "CG203" not in after.err
    shown = certgrad("audit", "--no-baseline")
    assert shown.code == 1
    assert "CG102 mul.vjp_is_adjoint: refuted" in shown.out
    assert certgrad("baseline").out.count("\n") == 1, "written again, nothing changes"


def test_a_new_and_a_changed_finding_fail(project: dict, certgrad: Run) -> None:
    certgrad("baseline", "pkg.b")
    assert certgrad("audit", "pkg.b").code == 0
    assert certgrad("audit").code == 1, "the baseline knows nothing of pkg.a"
    certgrad("baseline")
    project["pkg.a:relu"] = result("pkg.a:relu", fabricated.SWAPPED)
    assert certgrad("audit").code == 1


def test_stale_entries_are_noted_and_pruned(project: dict, certgrad: Run) -> None:
    certgrad("baseline")
    project["pkg.a:swapped"] = result("pkg.a:swapped", fabricated.RELU)
    project["pkg.a:relu"] = result("pkg.a:relu", fabricated.SWAPPED)
    noted = certgrad("audit", "pkg.a:swapped")
    assert noted.code == 0
    assert "1 entry of the baseline is no finding any more (CG102 refuted of pkg.a:swapped)" in noted.err
    assert "baseline" not in certgrad("audit", "pkg.b").err.replace("certgrad-baseline.json", "")
    pruned = certgrad("baseline", "--prune")
    assert pruned.out.splitlines()[0] == "- pkg.a:swapped: CG102 refuted"
    assert "+ " not in pruned.out, "--prune adds nothing"
    assert "(0 new, 1 removed)" in pruned.out
    assert certgrad("audit").code == 1
    del project["pkg.b:sort"]
    assert "- pkg.b:sort: CG203 no gradient" in certgrad("baseline", "--prune").out


@pytest.mark.parametrize(
    ("lines", "options", "code"),
    [
        ((), (), 0),
        (("strict = ['assumed']",), (), 1),
        (("strict = true",), (), 1),
        (("strict = ['assumed']",), ("--no-strict",), 0),
        (("strict = ['assumed']", "ignore = ['CG209']"), (), 0),
        ((), ("--strict",), 1),
    ],
)
def test_bounds_that_are_assumed_fail_where_that_is_strict(
    project: dict, certgrad: Run, lines: tuple, options: tuple, code: int
) -> None:
    project.clear()
    project["pkg.a:relu"] = result("pkg.a:relu", fabricated.RELU, ("CG209", "assumed: delta > 0"))
    write("targets = ['pkg']", *lines)
    assert certgrad("audit", *options).code == code
    project["pkg.a:relu"] = result("pkg.a:relu", fabricated.RELU, ("CG203", "no gradient for w"))
    assert certgrad("audit", *options).code == int(lines == ("strict = true",) or options == ("--strict",))


def test_wrong_use_of_the_baseline(project: dict, certgrad: Run) -> None:
    assert "to prune" in certgrad("baseline", "--prune").err
    assert "'relu' is no module" in certgrad("baseline", "relu").err
    write("targets = []")
    assert certgrad("baseline").code == 2
    write("targets = ['pkg']", "baseline = 'known.json'")
    missing = certgrad("audit")
    assert missing.code == 2
    assert "There is no baseline" in missing.err
    assert certgrad("baseline").code == 0
    assert Path("known.json").exists()
    Path("known.json").write_text("{")
    assert "no JSON" in certgrad("audit").err
    assert certgrad("baseline").code == 2, "a broken baseline is not overwritten in silence"


@pytest.mark.parametrize(
    ("lines", "options", "code"),
    [
        ((), (), 1),
        (("ignore = ['CG102']",), (), 0),
        (("ignore = ['CG102']",), ("--strict",), 1),
        (("select = ['CG103']",), (), 5),
        (("select = ['CG103']",), ("--select", "CG102"), 1),  # replaces
        (("ignore = ['CG102']",), ("--ignore", "CG101", "--strict"), 1),  # adds; CG203 and the surrogate are left
        (("ignore = ['CG102', 'CG203']",), ("--ignore", "CG101", "--strict"), 5),
        (("fail-on = ['unproved']", "ignore = ['CG102']"), (), 1),
        (("fail-on = ['unproved']", "ignore = ['CG101']"), (), 0),
        (("fail-on = ['unproved']", "ignore = ['CG101']"), ("--fail-on", "refuted"), 1),
        (("strict = true", "ignore = ['CG1']"), ("pkg.b",), 1),
        (("strict = true", "ignore = ['CG102']"), ("--no-strict",), 0),
        ((), ("--ignore", "pkg.a:swapped"), 0),
        ((), ("--select", "pkg.b:*"), 0),
        ((), ("--select", "pkg.a:swap*"), 1),
    ],
)
def test_precedence(project: dict, certgrad: Run, lines: tuple, options: tuple, code: int) -> None:
    write("targets = ['pkg']", *lines)
    assert certgrad("audit", *options).code == code


@pytest.mark.parametrize("how", ["option", "configuration", "by path"])
def test_what_is_ignored_is_shown_as_ignored_in_every_format(
    project: dict, certgrad: Run, how: str, tmp_path: Path
) -> None:
    """pkg.a:swapped without its refuted CG102 is not called proved, nor counted so."""
    tail = "[tool.certgrad.per-file-ignores]\n'pkg/a.py' = ['CG102']" if how == "by path" else ""
    write("targets = ['pkg']", *(["ignore = ['CG102']"] if how == "configuration" else []), tail=tail)
    paths = {kind: tmp_path / kind for kind in ("text", "json", "markdown", "sarif", "junit", "github")}
    outputs = [f"--output={kind}={path}" for kind, path in paths.items()]
    found = certgrad("audit", "pkg.a:swapped", *outputs, *(["--ignore", "CG102"] if how == "option" else []))
    assert found.code == 0
    for kind in ("text", "markdown", "sarif", "junit", "github"):
        said = paths[kind].read_text()
        assert "CG101 proved; CG102 ignored" in said or (kind == "github" and "1 in part" in said), kind
        assert ": 1 proved" not in said
    (certificate,) = standard.loads(paths["json"].read_text())["certificates"]
    assert certificate["ignored"] == ["CG102"]
    assert "CG102" not in {claim["code"] for claim in certificate["claims"]}


def test_a_rule_of_which_all_is_ignored_is_named(project: dict, certgrad: Run) -> None:
    """By the command line, by path and by comments: it has no row, and does not vanish."""
    text = "every obligation is ignored: CG101, CG102"
    done = certgrad("audit", "pkg.a", "--ignore", "pkg.a:swapped", "--strict", "--format", "markdown")
    assert done.code == 0
    assert f"CG205 pkg.a:swapped (a.py:3): {text}" in done.err.replace("pkg/", "")
    assert text in done.out
    write("targets = ['pkg']", tail="[tool.certgrad.per-file-ignores]\n'a.py' = ['CG1']")
    assert certgrad("audit", "pkg.a").err.count("every obligation is ignored") == 2
    write("targets = ['pkg']")
    project["pkg.a:swapped"] = result("pkg.a:swapped", ignoring(fabricated.SWAPPED, {"CG101", "CG102"}))
    assert f"{text}" in certgrad("audit", "pkg.a").err


def test_ignores_by_path(project: dict, certgrad: Run) -> None:
    write("targets = ['pkg']", "strict = true", tail="[tool.certgrad.per-file-ignores]\n'pkg/b.py' = ['CG1', 'CG203']")
    left = certgrad("audit")
    assert left.code == 1
    assert "unproved" not in left.out.replace("0 unproved", "")
    write("targets = ['pkg']", tail="[tool.certgrad.per-file-ignores]\n'a.py' = ['CG102']")
    assert certgrad("audit").code == 0


def test_a_declaration_that_does_not_fit_always_fails(project: dict, certgrad: Run) -> None:
    project["pkg.b:sort"] = result("pkg.b:sort", None, ("CG206", "not audited: takes 2 array arguments"))
    done = certgrad("audit", "pkg.b")
    assert done.code == 1
    assert "CG206 pkg.b:sort (pkg/b.py:3): not audited: takes 2 array arguments" in done.err
    assert certgrad("audit", "pkg.b:sort").code == 1, "also where nothing else was audited"


def test_a_signature_of_a_rule_that_is_gone(project: dict, certgrad: Run) -> None:
    write("targets = ['pkg']", "ignore = ['CG102']", tail="[tool.certgrad.signatures]\n'pkg.a:gone' = 'n -> n'")
    done = certgrad("audit")
    assert done.code == 0
    assert "has 'pkg.a:gone', and there is no such rule" in done.err
    assert "gone" not in certgrad("audit", "pkg.b").err
