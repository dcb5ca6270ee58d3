"""`certgrad audit` on modules, packages and files, as a user runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RULES = """
import jax
import jax.numpy as jnp
import certgrad

@certgrad.declare("n d, d -> n")
@jax.custom_vjp
def energy(x, w):
    return jnp.sum(x * w, axis=-1) ** 2

def fwd(x, w):
    s = jnp.sum(x * w, axis=-1)
    return s**2, (x, w, s)

def bwd(res, g):
    x, w, s = res
    return 2 * (g * s)[:, None] * w, jnp.sum(2 * (g * s)[:, None] * x, axis=0)

energy.defvjp(fwd, bwd)
again = energy

@jax.custom_vjp
def softplus(x):
    return jnp.logaddexp(x, 0.0)

softplus.defvjp(lambda x: (softplus.fun(x), x), lambda x, g: (g * jax.nn.sigmoid(x) * (x > -20),))

@jax.custom_vjp
def unfinished(x):
    return x
"""


@pytest.fixture
def folder(tmp_path):
    package = tmp_path / "mypkg"
    package.mkdir()
    (package / "__init__.py").write_text("from .rules import energy\n")
    (package / "rules.py").write_text(RULES)
    (package / "broken.py").write_text("raise RuntimeError('not today')\n")
    return tmp_path


def audit(folder, *arguments):
    path = os.pathsep.join([str(ROOT), str(folder)])
    return subprocess.run(
        [sys.executable, "-m", "certgrad", "audit", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_package_with_a_broken_module(folder):
    done = audit(folder, "mypkg")
    assert done.returncode == 1
    assert "mypkg.rules:energy" in done.stdout
    assert done.stdout.count("energy ") == 1, "a rule that is re-exported is audited once"
    assert "CG102 mypkg.rules:softplus.vjp_is_adjoint: refuted" in done.stdout
    assert "CG201 mypkg.broken: not audited: does not import: RuntimeError: not today (broken.py:1)" in done.stderr
    assert "CG201 mypkg.rules:unfinished (rules.py:28): not audited: a custom_vjp without defvjp" in done.stderr
    assert "shapes are inferred" in done.stderr


def test_one_object_of_a_file(folder):
    done = audit(folder, "mypkg/rules.py:energy")
    assert done.returncode == 0, done.stderr
    assert "1 proved" in done.stdout


def test_inferred_shapes_are_not_enough_for_strict(folder):
    (folder / "mypkg" / "fine.py").write_text(
        "import jax\nf = jax.custom_vjp(lambda x: 2 * x)\nf.defvjp(lambda x: (2 * x, None), lambda _, g: (2 * g,))\n"
    )
    assert audit(folder, "mypkg/fine.py").returncode == 0
    assert audit(folder, "mypkg/fine.py", "--strict").returncode == 1


@pytest.mark.parametrize("target", ["nosuch.module", "nosuch.py", "mypkg.rules:nothing", "mypkg.broken"])
def test_a_target_that_is_not_there(folder, target):
    done = audit(folder, target)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


IGNORED = """
import jax

@jax.custom_vjp
def f(x):{}
    return 2 * x

f.defvjp(lambda x: (2 * x, None), lambda _, g: ({} * g,))
"""


@pytest.mark.parametrize(
    ("comment", "factor", "code", "said"),
    [
        ("  # certgrad: ignore[CG102] known, see the tracker", 3, 0, "CG102 is ignored: known, see the tracker"),
        ("  # certgrad: ignore[CG103] another one", 3, 1, "the comment that ignores CG103 is not needed"),
        ("  # certgrad: ignore[CG102] outdated", 2, 0, "the comment that ignores CG102 is not needed"),
        ("  # certgrad: ignore[CG102]", 3, 1, "without a reason"),
        ("  # certgrad: ignore[CG999] why", 3, 1, "'CG999', which is no code"),
    ],
)
def test_findings_that_are_ignored(folder, comment, factor, code, said):
    (folder / "mypkg" / "fine.py").write_text(IGNORED.format(comment, factor))
    done = audit(folder, "mypkg/fine.py")
    assert said in done.stderr
    assert done.returncode == code


def test_fail_on(folder):
    (folder / "mypkg" / "fine.py").write_text(IGNORED.format("", 3))
    assert audit(folder, "mypkg/fine.py").returncode == 1
    assert audit(folder, "mypkg/fine.py", "--fail-on", "unproved").returncode == 0
    assert audit(folder, "mypkg/fine.py", "--fail-on", "nothing").returncode == 2
