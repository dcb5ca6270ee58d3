"""Limits of time, Ctrl-C, a broken target beside a good one, several processes: nothing that is finished is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from certgrad.report.audited import RuleResult
from certgrad.rules.workers.crew import audit_targets
from certgrad.rules.workers.worker import Begun, Seen

ROOT = Path(__file__).parents[2]
FINE = "import jax\nf = jax.custom_vjp(lambda x: 2 * x)\nf.defvjp(lambda x: (2 * x, None), lambda _, g: (2 * g,))\n"
SLOW = """
import jax

def rule(value):
    f = jax.custom_vjp(value)
    f.defvjp(lambda x: (2 * x, None), lambda _, g: (2 * g,))
    return f

def hangs(x):
    open("hanging", "w").close()
    while True:
        pass

a_quick = rule(lambda x: 2 * x)
hanging = rule(hangs)
zz_last = rule(lambda x: x + x)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in {
        "fine.py": FINE,
        "hangs.py": "while True: pass",
        "broken.py": "import nosuchmodule",
        "slow.py": SLOW,
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    # A shell ignores Ctrl-C in what it runs in the background, and a child would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return subprocess.Popen(
        [sys.executable, "-m", "certgrad", "audit", "--no-cache", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "CERTGRAD_FORMAT": "text"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.slow
def test_a_good_target_beside_broken_ones_is_audited_and_the_command_fails(project: Path) -> None:
    done = start(project, "nosuch_op", "broken.py", "fine.py", "hangs.py", "--import-timeout", "1")
    out, err = done.communicate(timeout=120)
    assert done.returncode == 2
    assert "1 rule: 1 proved" in out
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 3, err
    assert "Cannot import 'broken.py': No module named 'nosuchmodule'" in errors[0]
    assert errors[1] == "error: Cannot import 'hangs.py': it took more than 1 s; --import-timeout gives it more."
    assert "'nosuch_op' is not an op" in errors[2]


@pytest.mark.slow
def test_a_rule_that_takes_too_long_is_left_out_and_the_limit_can_be_configured(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.certgrad]\ntimeout = 5\n")
    done = start(project, "slow.py")
    out, err = done.communicate(timeout=120)
    assert done.returncode == 0
    assert "2 of 3 rules: 2 proved" in out
    assert "CG201 slow:hanging" in err
    assert "not audited: its audit took more than 30 s; --timeout gives it more" in err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("timeout = 0", "'timeout' of [tool.certgrad]"),
        ("timeout = true", "'timeout' of [tool.certgrad]"),
        ("import-timeout = 'long'", "'import-timeout' of [tool.certgrad]"),
        ("import-timeout = nan", "'import-timeout' of [tool.certgrad]"),
    ],
)
def test_a_limit_that_is_no_number_of_seconds(project: Path, line: str, said: str) -> None:
    from certgrad.errors import UsageError
    from certgrad.rules.project.configuration import nearest

    (project / "pyproject.toml").write_text(f"[tool.certgrad]\n{line}\n")
    with pytest.raises(UsageError) as error:
        nearest(project)
    assert said in str(error.value)
    assert "is no number of seconds above 0" in str(error.value)


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_what_ends_an_audit_prints_and_writes_what_is_finished_and_says_what_is_not(project: Path, by: int) -> None:
    done = start(project, "slow.py", "--jobs", "1", "--output", "json=out.json")
    results = project / "out.json"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (project / "hanging").exists():
        time.sleep(0.1)
    os.kill(done.pid, by)
    out, err = done.communicate(timeout=60)
    assert done.returncode == 130, err
    assert "1 rule: 1 proved" in out
    assert "interrupted: the audit ends after 1 verdict; not reached: slow:hanging, slow:zz_last" in err
    assert "Traceback" not in err
    assert [c["op"] for c in json.loads(results.read_text())["certificates"]] == ["slow:a_quick"]


@pytest.mark.slow
def test_processes_that_share_a_target_audit_each_rule_once(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    (project / "many.py").write_text(FINE + "".join(f"f{k} = jax.jit(f)\n" for k in range(2)) + _copies(5))
    events = list(audit_targets(["many.py", "fine.py"], jobs=2))
    seen = {e.target: [r.name for r in e.rules] for e in events if isinstance(e, Seen)}
    audited = [e.name for e in events if isinstance(e, RuleResult)]
    assert sorted(audited) == sorted(n for names in seen.values() for n in names)
    assert len(audited) == 6 + 1
    begun = [e.name for e in events if isinstance(e, Begun) and e.kind == "rule"]
    assert sorted(begun) == sorted(audited)


def _copies(count: int) -> str:
    lines = [f"g{k} = jax.custom_vjp(lambda x: {k} * x)\n" for k in range(count)]
    rules = [f"g{k}.defvjp(lambda x: ({k} * x, None), lambda _, g: ({k} * g,))\n" for k in range(count)]
    return "".join(lines + rules)


@pytest.mark.slow
def test_an_iteration_that_is_given_up_ends_its_processes(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    started = time.monotonic()
    events = audit_targets(["slow.py"], jobs=2)
    for event in events:
        if isinstance(event, Begun) and event.name == "slow:hanging":
            break
    events.close()
    assert time.monotonic() - started < 60
