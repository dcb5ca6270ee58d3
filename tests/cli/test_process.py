"""The command as a process: start-up, version, help, plain output."""

import os
import subprocess
import sys
from pathlib import Path

import certgrad

_ROOT = Path(certgrad.__file__).parents[1]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`python -m certgrad` with its output piped."""
    return subprocess.run(
        [sys.executable, "-m", "certgrad", *arguments],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        cwd=_ROOT,
        env=os.environ | {"PYTHONPATH": str(_ROOT), "PYTHONIOENCODING": "utf-8"} | environment,
        timeout=300,
        check=False,
    )


def test_version() -> None:
    result = run("--version")
    assert (result.returncode, result.stdout) == (0, f"certgrad {certgrad.__version__}\n")


def test_help_names_every_command() -> None:
    result = run("--help")
    assert result.returncode == 0
    assert "\x1b" not in result.stdout
    for command in ("audit", "explain", "list", "table", "report"):
        assert f"\n  {command} " in result.stdout


def test_help_and_codes_do_not_import_jax() -> None:
    program = (
        "import sys\n"
        "from certgrad.cli import app\n"
        "try:\n    app(['audit', '--help'])\n"
        "except SystemExit:\n    pass\n"
        "heavy = {'jax', 'sympy', 'numpy', 'islpy', 'flint'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=_ROOT, stdout=subprocess.DEVNULL)


def test_no_command_is_a_usage_error() -> None:
    result = run()
    assert result.returncode == 2
    assert "Usage:" in result.stdout + result.stderr


def test_unknown_command_suggests() -> None:
    result = run("adit")
    assert result.returncode == 2
    assert "audit" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_terminal_without_unicode_is_no_reason_to_fail() -> None:
    result = run("explain", "CG102", PYTHONIOENCODING="ascii")
    assert result.returncode == 0
    assert "jvp(x, dx), seed" in result.stdout
