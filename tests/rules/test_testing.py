"""`assert_certified`, the pytest plugin and `[tool.certgrad]`."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.errors import UsageError
from certgrad.pytest_plugin import _limited, _OverError
from certgrad.testing import assert_certified

from .judging.test_check import clip_rule, custom_vjp, energy, energy_bwd, energy_fwd, without_factor

ROOT = Path(__file__).parents[2]
PACKAGE = """
import jax
import jax.numpy as jnp

@jax.custom_vjp
def half(x):
    return jnp.sum(x * x, axis=1) / 2

half.defvjp(lambda x: (half(x), x), lambda x, g: (x * g[:, None],))

@jax.custom_vjp
def wrong(x):
    return jnp.sum(x * x, axis=1)

wrong.defvjp(lambda x: (wrong(x), x), lambda x, g: (x * g[:, None],))

@jax.custom_vjp
def unfinished(x):
    return x
"""
PROJECT = """
[tool.certgrad]
targets = ["mine"]

[tool.certgrad.signatures]
"mine:half" = "n d -> n"
"mine:wrong" = { signature = "n d -> n" }
"""


def test_a_right_rule_passes():
    report = assert_certified(custom_vjp(energy, energy_fwd, energy_bwd), "n d, d -> n", hypotheses=[])
    assert report.proved
    assert assert_certified(clip_rule, "*s -> *s", static={"c": 1.0}, surrogate="clips").verdict == "surrogate"


def declared(signature, bwd, **options):
    return certgrad.declare(signature, **options)(custom_vjp(energy, energy_fwd, bwd))


@pytest.mark.slow
def test_a_declared_function_needs_no_signature():
    assert assert_certified(declared("n d, d -> n", energy_bwd)).proved
    with pytest.raises(AssertionError, match="half the derivative"):
        assert_certified(declared("n d, d -> n", without_factor))
    intended = declared("n d, d -> n", without_factor, surrogate="half is enough")
    assert assert_certified(intended).verdict == "surrogate"
    with pytest.raises(AssertionError, match="half the derivative"):
        assert_certified(intended, surrogate="")
    with pytest.raises(AssertionError, match="half the derivative"):
        assert_certified(intended, "n d, d -> n")  # what is given is all that counts
    inside = certgrad.declare("n", domain="x > 1")(lambda x: jnp.log(x))
    assert assert_certified(inside).certificate.domain == ["x > 1"]
    assert assert_certified(inside, domain="x > 2").certificate.domain == ["x > 2"]
    with pytest.raises(UsageError, match="Nothing says the shapes of energy"):
        assert_certified(custom_vjp(energy, energy_fwd, energy_bwd))


def test_a_wrong_rule_fails_with_its_report():
    with pytest.raises(AssertionError, match=r"dx: refuted; likely cause: half the derivative(.|\n)*witness"):
        assert_certified(custom_vjp(energy, energy_fwd, without_factor), "n d, d -> n")


def test_a_missing_gradient_and_a_further_hypothesis_fail():
    rule = custom_vjp(lambda x, w: x * w, lambda x, w: (x * w, w), lambda w, g: (g * w, None))
    with pytest.raises(AssertionError, match="no gradient for w"):
        assert_certified(rule, "n, n -> n")
    assert_certified(rule, "n, n -> n", differentiable=["x"])
    root = custom_vjp(jnp.abs, lambda x: (jnp.abs(x), x), lambda x, g: (g * jnp.sign(x),))
    with pytest.raises(AssertionError, match="only under x ≠ 0"):
        assert_certified(root, "n -> n", hypotheses=[])
    assert_certified(root, "n -> n", hypotheses=["x ≠ 0"])


@pytest.fixture
def project(tmp_path):
    (tmp_path / "mine.py").write_text(PACKAGE)
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    return tmp_path


PLATFORMS = {"JAX_PLATFORMS": "cpu"}


def run(folder, *command):
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)]), **PLATFORMS},
        capture_output=True,
        text=True,
        check=False,
    )


def pytest_with_plugin(project, *options):
    """pytest, which loads the plugin by its entry point where certgrad is installed."""
    installed = any(e.value == "certgrad.pytest_plugin" for e in entry_points(group="pytest11"))
    plugin = () if installed else ("-p", "certgrad.pytest_plugin")
    return run(project, "pytest", *plugin, "-p", "no:cacheprovider", *options)


GUARDED = """
import jax

@jax.custom_vjp
def frozen(x, w):
    return x * w

frozen.defvjp(lambda x, w: (x * w, w), lambda w, g: (g * w, None))

def scaled(x, g):
    return (g * (2 if type(x.shape[0]) is int and x.shape[0] == 4 else 1),)

@jax.custom_vjp
def asking(x):
    return +x

asking.defvjp(lambda x: (+x, x), scaled)
"""


def test_every_rule_is_a_test(project):
    (project / "more.py").write_text(GUARDED)
    with (project / "pyproject.toml").open("a") as configured:
        configured.write('"more:frozen" = "n, n -> n"\n"more:asking" = "n -> n"\n')
    done = pytest_with_plugin(project, "--certgrad", "--certgrad-target", "mine", "--certgrad-target", "more", "-v")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 failed, 2 passed, 1 skipped" in done.stdout
    assert "certgrad: more:frozen: proved; no gradient for w" in done.stdout
    assert "scaled compares the type of a value" in done.stdout
    assert "likely cause: half the derivative is returned" in done.stdout
    assert "Traceback" not in done.stdout
    assert "mine:half PASSED" in done.stdout


@pytest.mark.slow
def test_verdicts_are_remembered(project):
    first, second = (pytest_with_plugin(project, "--certgrad", "-q") for _ in range(2))
    assert list((project / ".certgrad_cache").glob("*"))
    for done in (first, second):
        assert "1 failed, 1 passed, 1 skipped" in done.stdout
        assert "half the derivative is returned" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("platforms", ["cpu", ""])
def test_the_audit_and_pytest_share_what_they_remember(project, platforms, monkeypatch):
    if not platforms and jax.default_backend() != "cpu":
        pytest.skip("what is there on another platform is kept apart")
    monkeypatch.setitem(PLATFORMS, "JAX_PLATFORMS", platforms)
    run(project, "certgrad", "audit", "--cache-dir", ".certgrad_cache")
    kept = {path.name for path in (project / ".certgrad_cache").glob("*.entry")}
    done = pytest_with_plugin(project, "--certgrad", "-q")
    assert "1 failed, 1 passed, 1 skipped" in done.stdout
    assert {path.name for path in (project / ".certgrad_cache").glob("*.entry")} == kept != set()


def test_a_limit_of_time_leaves_the_clock_of_others_alone():
    told = []
    before = signal.signal(signal.SIGALRM, lambda *_: told.append("theirs"))
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(_OverError), _limited(0.05):
            time.sleep(10)
        with _limited(100):
            assert not told
        time.sleep(1)
        assert told == ["theirs"]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.slow  # as each run of these tests shows, in which the plugin is installed
def test_without_the_option_nothing_is_collected(project):
    assert pytest_with_plugin(project).returncode == 5


MENDED = {"rule": "mine:half", "code": "CG102", "verdict": "refuted", "digest": "000000000000"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "ended"),
    [((), "1 passed, 2 deselected, 1 warning"), (("-W", "error"), "1 failed")],
)
def test_a_finding_of_the_baseline_that_was_mended_is_a_warning(project, options, ended):
    (project / "certgrad-baseline.json").write_text(json.dumps({"format": 1, "findings": [MENDED]}))
    done = pytest_with_plugin(project, "--certgrad", "-k", "half", *options)
    assert ended in done.stdout
    assert "the baseline lists CG102 refuted of mine:half, which is no finding any more" in done.stdout
    assert len(done.stdout.splitlines()) < 25


LIVING = """
import jax, jax.numpy as jnp

@jax.custom_vjp
def ignored(x):  # certgrad: ignore[CG102] see the tracker
    return jnp.sum(x * x, axis=1)

ignored.defvjp(lambda x: (ignored(x), x), lambda x, g: (x * g[:, None],))

@jax.custom_vjp
def inferred(x):
    return 2 * x

inferred.defvjp(lambda x: (2 * x, None), lambda _, g: (2 * g,))
"""
SUITE = """
from certgrad.testing import assert_certified
import mine, more

def test_accepted():
    assert_certified(mine.wrong, "n d -> n")
    assert_certified(more.ignored, "n d -> n")
"""


@pytest.mark.slow
def test_what_a_project_accepts(project):
    """The baseline and ignores, the plugin with and without workers, `assert_certified`."""
    (project / "more.py").write_text(LIVING)
    (project / "test_suite.py").write_text(SUITE)
    (project / "pyproject.toml").write_text(
        PROJECT.replace('["mine"]', '["mine", "more"]') + '"more:ignored" = "n d -> n"\n'
    )
    written = run(project, "certgrad", "baseline", "mine")
    assert "mine:wrong: CG102 refuted" in written.stdout, written.stderr
    done = pytest_with_plugin(project, "--certgrad", "-n", "2", "-rsx")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed, 2 xfailed" in done.stdout, "`unfinished` is in the baseline as well"
    assert "in the baseline: CG102" in done.stdout
    strict = pytest_with_plugin(project, "--certgrad", "--certgrad-strict", "--certgrad-target", "more", "more.py")
    assert strict.returncode == 1
    assert "CG202 its shapes are inferred" in strict.stdout
    assert "1 failed, 1 passed" in strict.stdout
    assert "Traceback" not in strict.stdout


@pytest.mark.slow
def test_a_rule_that_cannot_be_audited_is_skipped_with_the_reason_or_fails(project):
    (project / "mine.py").write_text("import jax\n@jax.custom_vjp\ndef unfinished(x):\n    return x\n")
    (project / "pyproject.toml").write_text('[tool.certgrad]\ntargets = ["mine"]\n')
    done = pytest_with_plugin(project, "--certgrad", "-rs")
    assert done.returncode == 0
    assert "1 skipped" in done.stdout
    assert "not audited: a custom_vjp without defvjp: it has no rule" in done.stdout
    (project / "pyproject.toml").write_text('[tool.certgrad]\ntargets = ["mine"]\nstrict = true\n')
    strict = pytest_with_plugin(project, "--certgrad")
    assert strict.returncode == 1
    assert "CG201 not audited: a custom_vjp without defvjp" in strict.stdout


@pytest.mark.slow
def test_a_module_of_a_package_that_does_not_import_fails(project):
    package = project / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "broken.py").write_text("def f(:\n")
    (project / "pyproject.toml").write_text('[tool.certgrad]\ntargets = ["pack"]\n')
    done = pytest_with_plugin(project, "--certgrad")
    assert done.returncode == 1
    assert "CG208 not audited: does not import: SyntaxError" in done.stdout


@pytest.mark.slow
def test_a_target_that_does_not_import_is_a_usage_error(project):
    (project / "mine.py").write_text("import sys\nsys.exit(0)\n")
    done = pytest_with_plugin(project, "--certgrad")
    assert done.returncode == 4
    assert "--certgrad: Cannot import 'mine': it calls sys.exit(0). (mine.py:2)" in done.stderr + done.stdout
